package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// patience is how long a test waits for what should come at once.
const patience = 20 * time.Second

// quiet is the part of a backend that a test doesn't look at.
type quiet struct{}

func (quiet) Connectors(context.Context, host.Principal) ([]host.ConnectorInfo, []host.PluginProblem) {
	return nil, nil
}

func (quiet) Audit(context.Context, host.Principal, string, int) ([]host.AuditCall, error) {
	return nil, nil
}

func (quiet) Screenshot(context.Context, host.Principal, string) (host.Image, error) {
	return host.Image{}, abi.Errorf(abi.ErrNotFound, "screenshot", "none is kept")
}

func (quiet) Prompts(context.Context, host.Principal) []host.PromptDef { return nil }

func (quiet) Prompt(context.Context, host.Principal, string, map[string]string) (host.PromptDef, string, error) {
	return host.PromptDef{}, "", errors.New("no prompts")
}

func (quiet) Complete(context.Context, host.CompleteRequest) (host.Completion, error) {
	return host.Completion{}, nil
}

// A fakeBackend has tools that do as their names say.
type fakeBackend struct {
	mu      sync.Mutex
	defs    []host.ToolDef
	private map[string][]host.ToolDef // by principal id, instead of defs
	calls   []host.CallRequest

	started chan host.CallRequest // each call of tracker.wait
	release chan struct{}         // closed: tracker.wait returns
	ended   chan error            // the ctx error of each cancelled tracker.wait
}

func newFakeBackend() *fakeBackend {
	return &fakeBackend{
		defs: []host.ToolDef{
			tool("list", "List tickets", true),
			tool("delete", "Delete a ticket", false),
			tool("echo", "", true),
			tool("fail", "", true),
			tool("trap", "", true),
			tool("panic", "", true),
			tool("progress", "", true),
			tool("wait", "", true),
			tool("big", "", true),
			tool("broken", "", true),
			tool("empty", "", true),
		},
		started: make(chan host.CallRequest, 2048),
		release: make(chan struct{}),
		ended:   make(chan error, 2048),
	}
}

func tool(name, title string, readOnly bool) host.ToolDef {
	return host.ToolDef{
		Name:        "tracker_" + name,
		Dotted:      "tracker." + name,
		Title:       title,
		Description: "Tool " + name + ".",
		Input:       json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`),
		Output:      json.RawMessage(`{"type":"object"}`),
		ReadOnly:    readOnly,
		Destructive: !readOnly,
		Idempotent:  readOnly,
		OpenWorld:   true,
	}
}

func (b *fakeBackend) Tools(_ context.Context, p host.Principal) []host.ToolDef {
	b.mu.Lock()
	defer b.mu.Unlock()
	if defs, ok := b.private[p.ID]; ok {
		return defs
	}
	return b.defs
}

func (b *fakeBackend) setTools(defs ...host.ToolDef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.defs = defs
}

func (b *fakeBackend) seen() []host.CallRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]host.CallRequest(nil), b.calls...)
}

func (b *fakeBackend) Call(ctx context.Context, r host.CallRequest) host.CallResult {
	b.mu.Lock()
	b.calls = append(b.calls, r)
	b.mu.Unlock()
	switch r.Tool {
	case "tracker.list":
		return host.CallResult{Structured: json.RawMessage(`{"rows": [{"id": 7, "title": "a <b> & \u00fc"}]}`), AuditID: "a1"}
	case "tracker.echo":
		args := r.Args
		if args == nil {
			args = json.RawMessage(`{}`)
		}
		out, _ := json.Marshal(map[string]any{"args": args, "client": r.Client, "principal": r.Principal.ID})
		return host.CallResult{Structured: out}
	case "tracker.fail":
		err := abi.Errorf(abi.ErrAuthExpired, "navigate", "nobody is signed in at %q", "tracker.localhost").WithHint("drawbridge login tracker")
		err.Err = io.ErrUnexpectedEOF
		return host.CallResult{Err: err, AuditID: "a2"}
	case "tracker.trap":
		return host.CallResult{Err: abi.Errorf(abi.ErrInternal, "", "open /home/u/.ssh/id: permission denied").WithHint("secret hint"), AuditID: "a3"}
	case "tracker.panic":
		panic("open /home/u/.ssh/id")
	case "tracker.progress":
		return b.progress(r)
	case "tracker.wait":
		return b.wait(ctx, r)
	case "tracker.big":
		return host.CallResult{Structured: json.RawMessage(`{"text":"` + strings.Repeat("ä", 60_000) + `"}`)}
	case "tracker.broken":
		return host.CallResult{Structured: json.RawMessage("{\"text\":\"\xff\"}"), AuditID: "a4"}
	case "tracker.empty":
		return host.CallResult{AuditID: "a5"}
	}
	return host.CallResult{Err: abi.Errorf(abi.ErrNotFound, "", "no tool %q", r.Tool)}
}

// progress reports as often as args.n says.
func (b *fakeBackend) progress(r host.CallRequest) host.CallResult {
	var args struct{ N int }
	_ = json.Unmarshal(r.Args, &args)
	for i := range args.N {
		r.Progress(float64(i+1), float64(args.N), "step")
	}
	return host.CallResult{Structured: json.RawMessage(`{"done":true}`)}
}

func (b *fakeBackend) wait(ctx context.Context, r host.CallRequest) host.CallResult {
	b.started <- r
	select {
	case <-b.release:
		return host.CallResult{Structured: json.RawMessage(`{"waited":true}`)}
	case <-ctx.Done():
		b.ended <- ctx.Err()
		return host.CallResult{Err: abi.Errorf(abi.ErrTimeout, "", "cancelled")}
	}
}

// awaitStarted waits until n calls of tracker.wait run.
func (b *fakeBackend) awaitStarted(t *testing.T, n int) {
	t.Helper()
	for range n {
		receive(t, b.started)
	}
}

// receive waits for an element.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-c:
		if !ok {
			t.Fatal("channel was closed")
		}
		return v
	case <-time.After(patience):
		t.Fatal("waited too long")
	}
	panic("unreachable")
}

// await polls until ok.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited too long for %s", what)
		}
	}
}

var alice = host.Principal{ID: "p-alice", Name: "alice"}

// A lineClient is a raw client on a byte stream.
type lineClient struct {
	t    *testing.T
	in   io.WriteCloser
	out  chan string // lines that came
	done chan error  // what ServeStdio returned
}

// serveLines starts a server of one raw client.
func serveLines(t *testing.T, s *Server, p host.Principal) *lineClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &lineClient{t: t, in: inW, out: make(chan string, 4096), done: make(chan error, 1)}
	go func() {
		c.done <- s.ServeStdio(t.Context(), inR, outW, p)
		_ = outW.Close()
	}()
	go func() {
		defer close(c.out)
		sc := bufio.NewScanner(outR)
		sc.Buffer(nil, 64<<20)
		for sc.Scan() {
			c.out <- sc.Text()
		}
	}()
	t.Cleanup(func() { _ = inW.Close() })
	return c
}

func (c *lineClient) send(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l+"\n"); err != nil {
			c.t.Fatalf("writing %.80q: %v", l, err)
		}
	}
}

func (c *lineClient) recv() string {
	c.t.Helper()
	return receive(c.t, c.out)
}

// close ends the input and returns what still came.
func (c *lineClient) close() []string {
	c.t.Helper()
	_ = c.in.Close()
	if err := receive(c.t, c.done); err != nil {
		c.t.Fatalf("ServeStdio: %v", err)
	}
	var rest []string
	for l := range c.out {
		rest = append(rest, l)
	}
	return rest
}

// initialize does the handshake of the old era.
func (c *lineClient) initialize() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.recv()
}

// canonical rewrites JSON so that equal documents are equal text.
func canonical(t *testing.T, doc string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v: %.200q", err, doc)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// tokens are the clients that the test's Auth knows.
func tokens(token string) (host.Principal, bool) {
	switch {
	case token == "alice-token":
		return alice, true
	case strings.HasPrefix(token, "client-"):
		return host.Principal{ID: "p-" + token, Name: token}, true
	}
	return host.Principal{}, false
}

// serveHTTP serves s on 127.0.0.1 and returns its address.
func serveHTTP(t *testing.T, s *Server) (addr string) {
	t.Helper()
	ts := httptest.NewUnstartedServer(nil)
	ts.Config = NewHTTPServer(s.Handler(tokens, HTTPOptions{Hosts: LocalHosts(ts.Listener), Origins: []string{"https://allowed.example"}}))
	ts.Listener = LimitConnections(ts.Listener)
	ts.Start()
	t.Cleanup(func() {
		s.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts.Listener.Addr().String()
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// post makes a POST as a well-behaved client with alice's token would.
func post(t *testing.T, addr, body string, change ...func(*http.Request)) *http.Response {
	t.Helper()
	return do(t, http.MethodPost, addr, body, change...)
}

func do(t *testing.T, method, addr, body string, change ...func(*http.Request)) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer alice-token")
	for _, c := range change {
		c(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// header sets a request's header; an empty value removes it.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
}

// modernHeaders are those of the new era for a method and a tool.
func modernHeaders(method, name string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("MCP-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		if name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
}

// wantCancelled waits until a waiting call was cancelled.
func wantCancelled(t *testing.T, b *fakeBackend) {
	t.Helper()
	if err := receive(t, b.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended with %v", err)
	}
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	return string(b)
}

// frames returns the JSON-RPC messages of a response, in order.
func framesOf(t *testing.T, r *http.Response) []string {
	t.Helper()
	body := bodyOf(t, r)
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		return []string{body}
	}
	var frames []string
	for line := range strings.SplitSeq(body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			frames = append(frames, data)
		}
	}
	return frames
}

// beginSession does the handshake over HTTP and returns a request change that
// names the session.
func beginSession(t *testing.T, addr string, change ...func(*http.Request)) func(*http.Request) {
	t.Helper()
	r := post(t, addr, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, change...)
	id := r.Header.Get("Mcp-Session-Id")
	if r.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("initialize: status %d, session %q: %s", r.StatusCode, id, bodyOf(t, r))
	}
	return func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", id)
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
}
