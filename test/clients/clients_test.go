package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/test/mcpfixture"
	"github.com/drawbridge-mcp/drawbridge/test/nodejs"
)

// serveEnv makes the test's own program the server of a client that starts one.
const serveEnv = "DRAWBRIDGE_FIXTURE_TOKEN"

func TestMain(m *testing.M) {
	if token := os.Getenv(serveEnv); token != "" {
		if mcpfixture.ServeStdio(context.Background(), os.Stdin, os.Stdout, token) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// patience is for one client and all that it does.
const patience = 3 * time.Minute

// A target is where a client finds the server.
type target struct {
	URL     string            `json:"url,omitempty"`
	Token   string            `json:"token,omitempty"`
	Command string            `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Mode    string            `json:"mode,omitempty"` // of SDK 2
}

// newTarget is a server of one client's own.
func newTarget(t *testing.T, transport string) target {
	t.Helper()
	if transport == "stdio" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return target{Command: self, Env: map[string]string{serveEnv: mcpfixture.TokenAlice}}
	}
	_, s, err := mcpfixture.New()
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := mcpfixture.ServeHTTP(t.Context(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return target{URL: url, Token: mcpfixture.TokenAlice}
}

// A crowd runs subtests four at a time: most of the time they wait for an answer that
// doesn't come, and not for a processor.
type crowd struct {
	sync.WaitGroup
	once  sync.Once
	turns chan struct{}
}

func (c *crowd) run(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	c.once.Do(func() { c.turns = make(chan struct{}, 4) })
	c.turns <- struct{}{}
	c.Go(func() {
		defer func() { <-c.turns }()
		t.Run(name, f)
	})
}

// workspace is a folder with the drivers beside the packages that they import.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(nodejs.Packages(t, "clients"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"checks.mjs", "sdk1.mjs", "sdk2.mjs"} {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// everyCheck is what each driver reports.
func everyCheck() []string {
	return []string{
		"big", "call", "cancel", "close", "elicit_accept", "elicit_cancel", "elicit_decline", "elicit_false", "elicit_never", "elicit_none",
		"elicit_once", "error", "image", "list", "list_changed", "pages", "parallel", "progress", "structured", "timeout", "unknown",
	}
}

func TestTypeScriptSDKs(t *testing.T) {
	dir, node := workspace(t), nodejs.Node(t)
	var several crowd
	defer several.Wait()
	for _, c := range []struct{ script, mode string }{
		{"sdk1.mjs", ""}, {"sdk2.mjs", "legacy"}, {"sdk2.mjs", "auto"}, {"sdk2.mjs", "pin"},
	} {
		for _, transport := range []string{"stdio", "http"} {
			several.run(t, strings.TrimSpace(c.script+" "+c.mode)+" "+transport, func(t *testing.T) {
				t.Helper()
				at := newTarget(t, transport)
				at.Mode = c.mode
				drive(t, dir, node, c.script, at)
			})
		}
	}
}

// drive runs a driver, and holds it to every check.
func drive(t *testing.T, dir, node, script string, at target) {
	t.Helper()
	where, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, script)
	cmd.WaitDelay = time.Second // for a server that it started
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FIXTURE_TARGET="+string(where))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%.4000s", err, stderr.String())
	}
	var seen []string
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var r struct {
			Check, Why string
			OK         bool
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Errorf("not a check: %.200q", lines.Text())
			continue
		}
		seen = append(seen, r.Check)
		if !r.OK {
			t.Errorf("%s: %s", r.Check, r.Why)
		}
	}
	if slices.Sort(seen); !slices.Equal(seen, everyCheck()) {
		t.Errorf("checks that ran: %q", seen)
	}
}
