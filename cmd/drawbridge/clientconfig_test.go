package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The client's file gets the entry after a yes and keeps all the rest; a no, and
// a file that changed meanwhile, leave it as it is.
func TestWriteClientConfig(t *testing.T) {
	h := newHome(t)
	user := filepath.Join(h.work, "user")
	real := filepath.Join(user, "dotfiles", "mcp.json")
	link := filepath.Join(user, ".cursor", "mcp.json")
	for _, dir := range []string{filepath.Dir(real), filepath.Dir(link)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", user)
	const old = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n"
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(real, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	put(old)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	holds := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write := []string{"mcp", "--print-config", "cursor", "--write"}

	if _, msg, code := h.try(write...); code != exitDenied || !strings.Contains(msg, "a person at a terminal") || holds(link) != old {
		t.Errorf("without a terminal: exit code %d, %s", code, msg)
	}
	h.want(exitDenied, []keystroke{{"refuses): ", "XXXXX"}}, write...)
	if holds(link) != old {
		t.Error("a no changed the file")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	q := h.ask(ctx, write...)
	put(old + "\n")
	if seen, code := q.agree(); code != exitDenied || !strings.Contains(seen, "changed while the question was open") || holds(link) != old+"\n" {
		t.Errorf("a file that changed: exit code %d, %s", code, seen)
	}

	put(old)
	seen := h.want(exitOK, agree(), write...)
	text := holds(link)
	if !strings.Contains(text, `"--client",`) || !strings.Contains(text, "// mine\n") || !strings.Contains(text, `"other": {"command": "x"}`) || !strings.Contains(text, h.dir) {
		t.Errorf("the file is now\n%s", text)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	copies, err := filepath.Glob(real + ".before-*")
	if err != nil || len(copies) != 1 || holds(copies[0]) != old || !strings.Contains(seen, copies[0]) {
		t.Errorf("copies %q, %v", copies, err)
	}
	if out := h.run(write...); !strings.Contains(out, "holds it already") {
		t.Errorf("a second time: %s", out)
	}

	// A client that has no file yet gets one of its own.
	h.want(exitOK, agree(), "mcp", "--print-config", "codex", "--write", "--client", "mine")
	if text := holds(filepath.Join(user, ".codex", "config.toml")); !strings.Contains(text, `args = ["mcp", "--client", "mine"]`) {
		t.Errorf("codex: %s", text)
	}
	h.want(exitOK, agree(), "mcp", "--print-config", "codex", "--write") // in its place
	codex := filepath.Join(user, ".codex", "config.toml")
	if text := holds(codex); strings.Count(text, "[mcp_servers.drawbridge]") != 1 || strings.Contains(text, "mine") {
		t.Errorf("codex: %s", text)
	}
	if err := os.WriteFile(codex, []byte("[mcp_servers.drawbridge]\nargs = [\n]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, msg, code := h.try("mcp", "--print-config", "codex", "--write"); code != exitError || !strings.Contains(msg, "hint: codex mcp add drawbridge") {
		t.Errorf("an entry that can't be replaced: exit code %d, %s", code, msg)
	}
}
