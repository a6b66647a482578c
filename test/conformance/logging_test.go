package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/mcpfixture"
)

// The suite has no logging scenario for the new era, where a request asks for its
// own log. Fifty times, all of it comes, in order and before the result; and none
// comes unasked.
func TestLoggingModern(t *testing.T) {
	_, server, err := mcpfixture.New()
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := mcpfixture.ServeHTTP(t.Context(), server, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	results := make(chan string, 50)
	for range cap(results) {
		go func() { results <- events(t, url, `"io.modelcontextprotocol/logLevel":"debug",`) }()
	}
	for range cap(results) {
		if got := <-results; got != "started data completed result" {
			t.Errorf("got %s", got)
		}
	}
	if got := events(t, url, ""); got != "result" {
		t.Errorf("unasked: %s", got)
	}
}

// events calls the tool that logs and names what comes, in order.
func events(t *testing.T, url, meta string) string {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tool_with_logging","arguments":{},"_meta":{` + meta +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	for name, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "test_tool_with_logging",
	} {
		r.Header.Set(name, v)
	}
	resp, err := (&http.Client{Timeout: patience}).Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	var seen []string
	for line := range bytes.SplitSeq(all, []byte("\n")) {
		var m struct {
			Params struct{ Data string }
			Result json.RawMessage
		}
		if json.Unmarshal(bytes.TrimPrefix(line, []byte("data: ")), &m) != nil {
			continue // what frames the events
		}
		if words := strings.Fields(m.Params.Data); len(words) > 0 {
			seen = append(seen, words[len(words)-1])
		}
		if m.Result != nil {
			seen = append(seen, "result")
		}
	}
	return strings.Join(seen, " ")
}
