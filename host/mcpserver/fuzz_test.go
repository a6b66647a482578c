package mcpserver

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// FuzzParseMessage: what is accepted has one meaning. A lenient reader (encoding/json
// into a struct, as mcp-go reads) sees the same method, id and tool name.
func FuzzParseMessage(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.SplitSeq(string(a.Files[0].Data), "\n") {
			if msg, ok := strings.CutPrefix(line, "> "); ok {
				f.Add([]byte(strings.ReplaceAll(msg, `"META"`, modernMeta)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, refused := parseMessage(data)
		if refused != nil {
			if m != nil && m.id != nil && m.key == "" {
				t.Fatal("an id without its key")
			}
			errorFrame(nil, refused) // always marshals
			return
		}
		var lenient struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name string
				Meta map[string]json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal(data, &lenient); err != nil && m.params == nil {
			t.Fatalf("accepted, and encoding/json refuses: %v", err)
		}
		if lenient.Method != m.method || string(lenient.ID) != string(m.id) {
			t.Fatalf("method %q, id %s; a lenient reader sees %q, %s", m.method, m.id, lenient.Method, lenient.ID)
		}
		if name, ok := text(m.fields["name"]); ok && name != lenient.Params.Name {
			t.Fatalf("tool %q; a lenient reader sees %q", name, lenient.Params.Name)
		}
		if err := strictjson.Check(data, strictjson.MaxBytes(maxMessage), strictjson.MaxDepth(abi.MaxJSONDepth), strictjson.AnyText()); err != nil {
			t.Fatalf("accepted against strictjson: %v", err)
		}
		if m.id != nil {
			if back := errorFrame(m.id, rpcErrorf(1, "x")); !json.Valid(back) || strings.Contains(string(back), "\n") {
				t.Fatalf("frame %q", back)
			}
		}
	})
}
