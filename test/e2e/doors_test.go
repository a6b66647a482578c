package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// A daemon is the built command, serving in a home of its own.
type daemon struct {
	t    *testing.T
	exe  string
	home string
	host string // 127.0.0.1:PORT
}

func startDaemon(t *testing.T) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "db") //nolint:usetesting // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &daemon{t: t, exe: filepath.Join(dir, "drawbridge"), home: filepath.Join(dir, "h")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", d.exe, "./cmd/drawbridge")
	build.Dir = harness.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	serve := exec.CommandContext(context.WithoutCancel(t.Context()), d.exe, "serve", "--port", "0")
	serve.Env, serve.Stdout, serve.Stderr = d.env(), t.Output(), t.Output()
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if err := serve.Wait(); err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	})
	d.await()
	return d
}

func (d *daemon) env() []string { return append(os.Environ(), platform.HomeVar+"="+d.home) }

// await waits until the lock file says where the daemon listens.
func (d *daemon) await() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		info, held, err := platform.ReadLock(filepath.Join(d.home, "state", "daemon.lock"))
		if err == nil && held && info.HTTP != "" {
			d.host = info.HTTP
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.t.Fatalf("the daemon does not start: %v, %v", ctx.Err(), err)
		}
	}
}

// run runs the command with --json and decodes what it prints.
func (d *daemon) run(v any, args ...string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), d.exe, append(args, "--json")...)
	cmd.Env = d.env()
	out, err := cmd.Output()
	if err == nil && v != nil {
		err = json.Unmarshal(out, v)
	}
	if err != nil {
		d.t.Fatalf("drawbridge %q: %v\n%s", args, err, out)
	}
}

func (d *daemon) addClient(name string) (token string) {
	d.t.Helper()
	var c struct {
		Token string `json:"token"`
	}
	d.run(&c, "clients", "add", name)
	return c.Token
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	list  = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
)

// post sends one message; headers are what it says beyond the content type.
func (d *daemon) post(body string, headers map[string]string) (status int, text, session string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://"+d.host+"/mcp", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	res, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		d.t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header.Get("Mcp-Session-Id")
}

// Who has no token, a wrong one or a revoked one, comes from a page or names
// another host, does not get in; whoever has one does.
func TestDoorsOverHTTP(t *testing.T) {
	d := startDaemon(t)
	first, second, gone := d.addClient("first"), d.addClient("second"), d.addClient("gone")
	d.run(nil, "clients", "revoke", "gone")
	port := d.host[strings.LastIndex(d.host, ":"):]
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
	with := func(more ...string) map[string]string {
		h := bearer(first)
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	for name, c := range map[string]struct {
		headers map[string]string
		status  int
	}{
		"no token":                   {nil, 401},
		"an empty token":             {bearer(""), 401},
		"a wrong token":              {bearer(first[:len(first)-1] + "x"), 401},
		"a token's beginning":        {bearer(first[:20]), 401},
		"a revoked token":            {bearer(gone), 401},
		"another scheme":             {map[string]string{"Authorization": "Basic " + first}, 401},
		"a page's origin":            {with("Origin", "http://evil.localhost:1"), 403},
		"the daemon's own origin":    {with("Origin", "http://"+d.host), 403},
		"an opaque origin":           {with("Origin", "null"), 403},
		"an extension":               {with("Origin", "chrome-extension://abcdefghijklmnop"), 403},
		"a page, without its origin": {with("Sec-Fetch-Site", "cross-site"), 403},
		"a name that was rebound":    {with("Host", "evil.localhost"+port), 421},
		"the same with an origin":    {with("Host", "evil.localhost"+port, "Origin", "http://evil.localhost"+port), 421},
		"another port":               {with("Host", "127.0.0.1:1"), 421},
		"no port":                    {with("Host", "127.0.0.1"), 421},
		"all addresses":              {with("Host", "0.0.0.0"+port), 421},
		"the token":                  {with(), 200},
		"the token, by name":         {with("Host", "localhost"+port), 200},
		"the other client's token":   {bearer(second), 200},
	} {
		t.Run(name, func(t *testing.T) {
			status, text, session := d.post(hello, c.headers)
			if status != c.status || (session != "") != (c.status == 200) {
				t.Errorf("status %d, want %d: %s", status, c.status, text)
			}
			if status != 200 && strings.Contains(text, "jsonrpc") {
				t.Errorf("it was looked at before it was refused: %s", text)
			}
		})
	}
}

// A session is its client's: another client's token finds none of that name.
func TestAnotherClientsSession(t *testing.T) {
	d := startDaemon(t)
	first, second := d.addClient("first"), d.addClient("second")
	_, _, session := d.post(hello, map[string]string{"Authorization": "Bearer " + first})
	for token, want := range map[string]int{first: 200, second: 404} {
		status, text, _ := d.post(list, map[string]string{"Authorization": "Bearer " + token, "Mcp-Session-Id": session})
		if status != want || strings.Contains(text, `"tools"`) != (want == 200) {
			t.Errorf("status %d, want %d: %s", status, want, text)
		}
	}
	d.run(nil, "clients", "revoke", "first")
	if status, _, _ := d.post(list, map[string]string{"Authorization": "Bearer " + first, "Mcp-Session-Id": session}); status != 401 {
		t.Errorf("the session of a revoked client: status %d, want 401", status)
	}
}

// attack is a page that tries to reach the daemon, with a token that it should
// not have, in every way that a page has; it tells what it could read.
const attack = `<!doctype html><title>attack</title><p id="read"></p><p id="done"></p>
<form id="form" method="post" enctype="text/plain" target="sink" action="http://%[1]s/mcp"><input name='%[2]s' value=''></form>
<iframe name="sink"></iframe>
<script>(async () => {
  const url = "http://%[1]s/mcp", body = %[3]q;
  const auth = {"Authorization": "Bearer %[4]s", "Content-Type": "application/json"};
  const ways = {
    json: () => fetch(url, {method: "POST", headers: auth, body}),
    simple: () => fetch(url, {method: "POST", headers: {"Content-Type": "text/plain"}, body}),
    opaque: () => fetch(url, {method: "POST", mode: "no-cors", body}),
    get: () => fetch(url, {headers: auth}),
  };
  for (const [name, way] of Object.entries(ways)) {
    try {
      const r = await way();
      document.getElementById("read").textContent += name + "=" + (r.type === "opaque" ? "opaque " : r.status + ":" + await r.text() + " ");
    } catch (e) { document.getElementById("read").textContent += name + "=refused "; }
  }
  navigator.sendBeacon(url, body);
  document.getElementById("form").submit();
  document.getElementById("done").textContent = "yes";
})()</script>`

// A page in a real Chromium, with a stolen token, gets no answer that it could
// read, nor begins a session; under a name that was rebound to the daemon's
// address it sees the refusal.
func TestDoorsAgainstARealPage(t *testing.T) {
	d := startDaemon(t)
	token := d.addClient("stolen")
	origins := make(chan string, 16)
	// The daemon, seen through a wire that notes what the browser really sent.
	wire := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case origins <- r.Method + " " + r.Header.Get("Origin"):
		default:
		}
		relay(t, d, w, r)
	}))
	t.Cleanup(wire.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, attack, strings.TrimPrefix(wire.URL, "http://"), list, hello, token)
	}))
	t.Cleanup(page.Close)

	b, err := browser.Launch(t.Context(), browser.Options{ProfileDir: filepath.Join(t.TempDir(), "profile"), Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	p, err := b.Open(t.Context(), browser.Policy{Check: func(browser.Request) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	evil := strings.Replace(page.URL, "127.0.0.1", "evil.localhost", 1)
	if _, err := p.Navigate(ctx, browser.Navigation{URL: evil}); err != nil && !errors.Is(err, context.Canceled) {
		t.Log(err) // the page is none of a connector's; what it did counts
	}
	if err := p.Wait(ctx, nil, "#done:not(:empty)", "", time.Minute); err != nil {
		t.Fatal(err)
	}
	read, _, err := p.Text(ctx, nil, "#read", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "json=refused simple=refused opaque=opaque get=refused"; strings.TrimSpace(read) != want {
		t.Errorf("the page got %q, want %q", read, want)
	}
	if got := <-origins; !strings.HasSuffix(got, " "+evil) {
		t.Errorf("the browser sent %q: the page did not reach the daemon at all", got)
	}

	rebound := "http://evil.localhost" + d.host[strings.LastIndex(d.host, ":"):] + "/mcp"
	if _, err := p.Navigate(ctx, browser.Navigation{URL: rebound}); err != nil {
		t.Log(err)
	}
	if text, _, err := p.Text(ctx, nil, "body", ""); err != nil || strings.TrimSpace(text) != "unknown host" {
		t.Errorf("the rebound name shows %q, %v", text, err)
	}
	var log struct {
		Entries []struct {
			Event string `json:"event"`
		} `json:"entries"`
	}
	d.run(&log, "audit")
	if len(log.Entries) != 1 || log.Entries[0].Event != "client added" {
		t.Errorf("the audit log holds more than the client: %+v", log)
	}
}

// relay passes a request on to the daemon as it came, under the daemon's name,
// and the answer back.
func relay(t *testing.T, d *daemon, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+d.host+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header = r.Header.Clone()
	res, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		return // the browser has left
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 400 {
		t.Errorf("the daemon answered %s %s from %q with %s", r.Method, r.URL.Path, r.Header.Get("Origin"), res.Status)
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}
