package mcpserver

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// A step is one client line with the server lines that follow it.
type step struct {
	client string
	server []string
}

// TestTranscripts plays testdata/*.txtar: in its section "transcript", a line with
// > goes to the server, a line with < must come from it next, and nothing else may.
// A file named stdio-* is for byte streams, http-* for HTTP, others for both.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		play := func(transport string, run func(*testing.T, []step) []step) {
			if before, _, ok := strings.Cut(name, "-"); ok && before != transport && (before == "stdio" || before == "http") {
				return
			}
			t.Run(name+"/"+transport, func(t *testing.T) {
				a, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				want := readSteps(t, a)
				compare(t, file, a, want, run(t, want))
			})
		}
		play("stdio", playLines)
		play("http", playHTTP)
	}
}

func readSteps(t *testing.T, a *txtar.Archive) []step {
	t.Helper()
	if len(a.Files) != 1 || a.Files[0].Name != "transcript" {
		t.Fatal("one section named transcript is needed")
	}
	var steps []step
	for line := range strings.SplitSeq(string(a.Files[0].Data), "\n") {
		if msg, ok := strings.CutPrefix(line, "> "); ok {
			steps = append(steps, step{client: strings.ReplaceAll(msg, `"META"`, modernMeta)})
		} else if msg, ok := strings.CutPrefix(line, "< "); ok {
			last := &steps[len(steps)-1]
			last.server = append(last.server, canonical(t, msg))
		} else if line != "" {
			t.Fatalf("line begins with neither > nor <: %q", line)
		}
	}
	return steps
}

func compare(t *testing.T, file string, a *txtar.Archive, want, got []step) {
	t.Helper()
	var b strings.Builder
	differ := false
	for i, w := range want {
		b.WriteString("> " + strings.ReplaceAll(w.client, modernMeta, `"META"`) + "\n")
		for _, line := range got[i].server {
			b.WriteString("< " + line + "\n")
		}
		if g := strings.Join(got[i].server, "\n"); g != strings.Join(w.server, "\n") {
			differ = true
			if !golden.Update() {
				t.Errorf("after > %s\n got %s\nwant %s", w.client, g, strings.Join(w.server, "\n     "))
			}
		}
	}
	if differ && golden.Update() {
		a.Files[0].Data = []byte(b.String())
		if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// playLines sends each client line, and a ping after it whose answer ends the
// server's lines of that step.
func playLines(t *testing.T, steps []step) []step {
	t.Helper()
	c := serveLines(t, New(newFakeBackend(), Options{Version: "1.2.3", Instructions: "Be careful."}), alice)
	var got []step
	for _, s := range steps {
		c.send(s.client)
		g := step{client: s.client}
		for range s.server {
			g.server = append(g.server, canonical(t, c.recv()))
		}
		if golden.Update() && len(s.server) == 0 && strings.Contains(s.client, `"id"`) {
			g.server = append(g.server, canonical(t, c.recv()))
		}
		got = append(got, g)
	}
	if rest := c.close(); len(rest) > 0 {
		t.Errorf("the server also sent %q", rest)
	}
	return got
}

// playHTTP posts each client line.
func playHTTP(t *testing.T, steps []step) []step {
	t.Helper()
	addr := serveHTTP(t, New(newFakeBackend(), Options{Version: "1.2.3", Instructions: "Be careful."}))
	session := func(*http.Request) {}
	var got []step
	for _, s := range steps {
		r := post(t, addr, s.client, session, headersOf(s.client))
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			session = func(r *http.Request) { r.Header.Set("Mcp-Session-Id", id) }
		}
		g := step{client: s.client}
		for _, f := range framesOf(t, r) {
			if f != "" {
				g.server = append(g.server, canonical(t, f))
			}
		}
		got = append(got, g)
	}
	return got
}

// headersOf makes the headers that a client of the new era sends with a message.
func headersOf(msg string) func(*http.Request) {
	return func(r *http.Request) {
		m, err := parseMessage([]byte(msg))
		if err != nil || m.version == "" {
			return
		}
		r.Header.Set("MCP-Protocol-Version", m.version)
		r.Header.Set("Mcp-Method", m.method)
		for _, field := range []string{"name", "uri"} {
			if name, ok := text(m.fields[field]); ok {
				r.Header.Set("Mcp-Name", name)
			}
		}
	}
}

func TestDefinitionsSnapshot(t *testing.T) {
	for _, style := range []NameStyle{NamesUnderscore, NamesDotted, NamesBare} {
		s := New(newFakeBackend(), Options{ToolNames: style})
		defs, err := s.Definitions(t.Context(), host.Principal{ID: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range defs {
			if !strings.HasSuffix(d.Name, "delete") {
				continue
			}
			file := filepath.Join("testdata", "definition-"+string(style)+".json")
			golden.Check(t, file, d.JSON)
		}
	}
}
