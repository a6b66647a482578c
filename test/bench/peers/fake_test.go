package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/bench/page"
)

// fakeVar makes the test binary play an MCP server: "good", "partial" (fields are
// missing from its answers), "refuses" (its tools fail), "ends" (at once, with a word).
const fakeVar = "BENCH_PEERS_FAKE"

func TestMain(m *testing.M) {
	if kind := os.Getenv(fakeVar); kind != "" {
		os.Exit(playServer(kind, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func playServer(kind string, in io.Reader, out, msg io.Writer) int {
	if kind == "ends" {
		fmt.Fprintln(msg, "no browser | here")
		return 1
	}
	for s := bufio.NewScanner(in); s.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(s.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/message"}`)
		result := `{}`
		if m.Method == "tools/call" {
			result = fakeResult(kind)
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
	return 0
}

func fakeResult(kind string) string {
	text, failed := pageText(), kind == "refuses"
	switch kind {
	case "partial":
		text = strings.ReplaceAll(text, page.Cell(3, 4), "")
	case "refuses":
		text = "no such tool"
	}
	data, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": failed})
	if err != nil {
		return "null"
	}
	return string(data)
}

// pageText is every field of the page.
func pageText() string {
	var b strings.Builder
	for r := range page.Rows {
		for c := range page.Cols {
			b.WriteString(page.Cell(r, c) + "\n")
		}
	}
	return b.String()
}

func fake(t *testing.T, key string) *server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &server{
		key: key, name: key, version: "1.0.0", argv: []string{exe}, env: []string{fakeVar + "=" + key, "GORACE=atexit_sleep_ms=0"}, dir: t.TempDir(),
		ways: []way{
			{tool: "script", args: map[string]any{}, open: &call{"go", map[string]any{}}},
			{tool: "snapshot", args: map[string]any{}, open: &call{"go", map[string]any{}}},
		},
	}
}
