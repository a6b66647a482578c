package tck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// Grease is a member that no version of the contract has: a guest passes it over.
const grease = `"grease_5e1f":[{"a":null}],`

// Run checks the module of a guest; the test binary has to play the sandbox's worker.
func Run(t *testing.T, wasm []byte) {
	t.Helper()
	k := &kit{t: t}
	box, err := sandbox.Open(t.Context(), sandbox.Config{Dir: t.TempDir(), Log: slog.New(slog.NewJSONHandler(&k.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	compiled, err := box.Compile(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	k.described(compiled)
	if k.module, err = box.Module(wasm, compiled.Info.Capabilities); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.module.Close)
	t.Run("text", k.text)
	t.Run("context", k.context)
	t.Run("steps", k.steps)
	t.Run("answers", k.answers)
	t.Run("errors", k.errors)
	t.Run("log", k.logged)
}

type kit struct {
	t      *testing.T
	module *sandbox.Module
	log    buffer
}

// described wants exactly the tools of README.md, and each host call as an import.
func (k *kit) described(c sandbox.CompiledInfo) {
	const want = `{"v":1,"tools":["tck.act","tck.context","tck.echo","tck.expired","tck.fetch","tck.progress","tck.read","tck.shot"]}`
	if string(c.Describe) != want {
		k.t.Errorf("describe says %s, want %s", c.Describe, want)
	}
	if !slices.Equal(c.Info.Capabilities, abi.Capabilities()) {
		k.t.Errorf("imports %q, want %q", c.Info.Capabilities, abi.Capabilities())
	}
}

// call runs one tool; the input and every answer carry a member that nobody knows.
func (k *kit) call(t *testing.T, tool string, args string, calls *canned) abi.CallOutput {
	t.Helper()
	input := fmt.Sprintf(`{%s"v":1,"tool":%q,"args":%s,"now":1767323045000,"seed":4294967295,"settings":{"base_url":"https://x.example"},"locale":"en-GB"}`, grease, tool, args)
	var out abi.CallOutput
	raw, err := k.module.Run(t.Context(), sandbox.Call{Export: sandbox.ExportCall, Input: []byte(input), Calls: calls})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if err := strictjson.Decode(raw, &out, strictjson.AnyText()); err != nil {
		t.Fatalf("%s: %v in %.200s", tool, err, raw)
	}
	return out
}

// A canned host gives one answer, and keeps what it was asked.
type canned struct {
	answer string
	name   string
	asked  []byte
}

func (c *canned) take(name string, request []byte) ([]byte, error) {
	c.name, c.asked = name, bytes.Clone(request)
	return []byte(strings.Replace(c.answer, "{", "{"+grease, 1)), nil
}

func (c *canned) Read(_ context.Context, b []byte) ([]byte, error) { return c.take("read", b) }
func (c *canned) Act(_ context.Context, b []byte) ([]byte, error)  { return c.take("act", b) }
func (c *canned) Screenshot(_ context.Context, b []byte) ([]byte, error) {
	return c.take("screenshot", b)
}
func (c *canned) Fetch(_ context.Context, b []byte) ([]byte, error)    { return c.take("fetch", b) }
func (c *canned) Progress(_ context.Context, b []byte) ([]byte, error) { return c.take("progress", b) }

// A buffer takes log lines from any goroutine.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// same compares JSON by what it means.
func same(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Errorf("%s: %v in %.200s", what, err, got)
		return
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("BUG: %v in %s", err, want)
	}
	a, _ := json.Marshal(g)
	b, _ := json.Marshal(w)
	if !bytes.Equal(a, b) {
		t.Errorf("%s:\n got %.400s\nwant %.400s", what, a, b)
	}
}
