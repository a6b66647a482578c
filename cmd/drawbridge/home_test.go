package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// A home is one user's drawbridge in a temporary directory: the real command,
// its daemon, and terminals to type in.
type home struct {
	t    *testing.T
	dir  string // DRAWBRIDGE_HOME
	work string
}

func newHome(t *testing.T) *home {
	t.Helper()
	if err := buildWorker(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "db") //nolint:usetesting // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: filepath.Join(dir, "h"), work: dir}
	t.Cleanup(func() {
		stopHome(t, h.dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *home) env() []string {
	return append(os.Environ(), platform.HomeVar+"="+h.dir, httpPortVar+"=0")
}

func (h *home) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	h.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir = h.env(), h.work
	return cmd
}

// try runs the command without a terminal, with a passphrase on its input.
func (h *home) try(args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	cmd := h.command(h.t.Context(), "drawbridge", args...)
	var out, msg bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("test passphrase\n"), &out, &msg
	err := cmd.Run()
	if cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return out.String(), msg.String(), cmd.ProcessState.ExitCode()
}

// run runs a command that has to succeed.
func (h *home) run(args ...string) string {
	h.t.Helper()
	out, msg, code := h.try(args...)
	if code != 0 {
		h.t.Fatalf("drawbridge %q: exit code %d\n%s%s", args, code, out, msg)
	}
	return out
}

// lock reads what the daemon says of itself.
func (h *home) lock() platform.LockInfo {
	h.t.Helper()
	info, held, err := platform.ReadLock(h.dirs().LockFile())
	if err != nil || !held {
		h.t.Fatalf("no daemon is running: %v", err)
	}
	return info
}

func (h *home) dirs() platform.Dirs {
	h.t.Helper()
	dirs, err := platform.NewDirs(func(name string) string {
		return map[string]string{platform.HomeVar: h.dir}[name]
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return dirs
}

// typed runs the command in a terminal of its own and types into it. It returns
// what the terminal showed and the exit code.
func (h *home) typed(keys []keystroke, args ...string) (string, int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := h.command(ctx, "drawbridge", args...)
	tty, err := pty.Start(cmd)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = tty.Close() }()
	seen, err := play(ctx, tty, keys)
	_ = cmd.Wait() // the exit code says it
	if err != nil && len(keys) > 0 {
		seen += "\n" + err.Error()
	}
	return seen, cmd.ProcessState.ExitCode()
}

// ready makes a registry with the sample connector in it, pins it, and installs
// the connector for a site.
func (h *home) ready(base string) {
	h.t.Helper()
	h.publish()
	h.want(0, agree(), "registry", "add", "reg.git", h.fingerprint("key"))
	h.want(0, agree(), "install", "acme/sample", "--set", "base_url="+base)
}

func (h *home) want(code int, keys []keystroke, args ...string) string {
	h.t.Helper()
	seen, got := h.typed(keys, args...)
	if got != code {
		h.t.Fatalf("drawbridge %q: exit code %d, want %d\n%s", args, got, code, seen)
	}
	return seen
}

func (h *home) publish() {
	h.t.Helper()
	if err := writeSample(h.work); err != nil {
		h.t.Fatal(err)
	}
	secret := []string{"--key", "key", "--passphrase-fd", "0"}
	h.run("key", "new", "key", "--user-id", "Test <test@example.org>", "--passphrase-fd", "0")
	fpr := h.fingerprint("key")
	h.run(append([]string{"registry", "init", "reg.git", "--id", "team"}, secret...)...)
	h.run(append([]string{"registry", "add-publisher", "reg.git", "acme", "key.asc", fpr}, secret...)...)
	h.run("connector", "build", "src", "--registry", "team", "--namespace", "acme", "--wasm", "sample.wasm")
	h.run(append([]string{"connector", "sign", "dist"}, secret...)...)
	h.run(append([]string{"connector", "publish", "dist", "--registry", "reg.git"}, secret...)...)
}

// fingerprint returns a key file's fingerprint and writes its public part beside it.
func (h *home) fingerprint(file string) string {
	h.t.Helper()
	var key struct {
		Fingerprint string `json:"fingerprint"`
		PublicKey   string `json:"public_key"`
	}
	if err := json.Unmarshal([]byte(h.run("key", "show", file, "--json")), &key); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.work, file+".asc"), []byte(key.PublicKey), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return key.Fingerprint
}

// A gatedSite answers /page only when so many requests for it are open at once.
type gatedSite struct {
	mu      sync.Mutex
	waiting int
	once    sync.Once
	open    chan struct{} // closed when they were
}

func newSite(t *testing.T, together int) string {
	t.Helper()
	url, _ := newGatedSite(t, together)
	return url
}

func newGatedSite(t *testing.T, together int) (string, *gatedSite) {
	t.Helper()
	g := &gatedSite{open: make(chan struct{})}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		g.mu.Lock()
		if g.waiting++; g.waiting == together {
			g.once.Do(func() { close(g.open) })
		}
		g.mu.Unlock()
		select {
		case <-g.open:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><title>page</title><p id="user">ada</p>`)
		case <-r.Context().Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			g.waiting--
		}
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL, g
}

// An mcpClient speaks MCP over a process's streams, one JSON text a line.
type mcpClient struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	next int
	done atomic.Bool // the test is over

	heard []string // the methods of notifications and of the server's requests

	confirm string       // the result with which it answers elicitations; empty if it declares none
	asked   atomic.Value // the last elicitation's message
}

// dialStdio starts a stdio server by a program, "drawbridge" (so that the test is
// the client) or "agent" (so that the agent is), and says hello.
func (h *home) dialStdio(program string, args ...string) *mcpClient {
	h.t.Helper()
	return h.dial(&mcpClient{t: h.t, cmd: h.command(h.t.Context(), program, args...)}, map[string]any{})
}

// dialAsking starts a client that shows its token and answers elicitations.
func (h *home) dialAsking(token, confirm, name string) *mcpClient {
	h.t.Helper()
	c := &mcpClient{t: h.t, cmd: h.command(h.t.Context(), "agent", "--client", name), confirm: confirm}
	c.cmd.Env = append(c.cmd.Env, control.TokenVar+"="+token)
	return h.dial(c, map[string]any{"elicitation": map[string]any{}})
}

// dial starts c's server and says hello.
func (h *home) dial(c *mcpClient, capabilities map[string]any) *mcpClient {
	h.t.Helper()
	cmd := c.cmd
	cmd.Stderr = h.t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	c.in, c.out = in, json.NewDecoder(out)
	h.t.Cleanup(func() {
		c.done.Store(true)
		_ = in.Close() // it may be closed already
		_ = cmd.Wait()
	})
	c.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return c
}

func (c *mcpClient) send(v any) {
	if err := json.NewEncoder(c.in).Encode(v); err != nil {
		c.t.Errorf("writing to the server: %v", err)
	}
}

// request sends a request and returns its result.
func (c *mcpClient) request(method string, params any) json.RawMessage {
	c.next++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	for {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Message string `json:"message"`
			} `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := c.out.Decode(&m); err != nil {
			if !c.done.Load() {
				c.t.Errorf("%s: reading from the server: %v", method, err)
			}
			return nil
		}
		if m.Method == "elicitation/create" {
			c.asked.Store(m.Params.Message)
			c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": json.RawMessage(c.confirm)})
		}
		if string(m.ID) != fmt.Sprint(c.next) {
			c.heard = append(c.heard, m.Method)
			continue // a notification
		}
		if m.Error != nil {
			c.t.Errorf("%s: %s", method, m.Error)
		}
		return m.Result
	}
}

func (c *mcpClient) tools() []string {
	var res struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(c.request("tools/list", map[string]any{}), &res) // what it lacks is seen
	var names []string
	for _, t := range res.Tools {
		names = append(names, t.Name)
	}
	return names
}

// A callAnswer is the result of tools/call.
type callAnswer struct {
	IsError           bool            `json:"isError"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	Content           []struct {
		Text string `json:"text"`
	} `json:"content"`
}

func (c *mcpClient) call(tool string, args any) (a callAnswer) {
	_ = json.Unmarshal(c.request("tools/call", map[string]any{"name": tool, "arguments": args}), &a) // likewise
	return a
}

// isEmpty reports whether text is an object with one list, which is empty.
func isEmpty(text string) bool {
	return regexp.MustCompile(`^\{\s*"[a-z_]+": \[\]\s*\}\s*$`).MatchString(text)
}
