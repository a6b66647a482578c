package site_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/websocket"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

func recorder(t *testing.T) *site.Recorder {
	t.Helper()
	r, err := site.NewRecorder(t.Context(), "evil.localhost")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestRecorderSeesEverything(t *testing.T) {
	s, evil := start(t), recorder(t)
	if evil.Conns() != 0 || len(evil.Requests()) != 0 {
		t.Fatal("a new recorder has seen something")
	}
	if !strings.HasPrefix(evil.URL(), "http://evil.localhost:") {
		t.Errorf("URL %s", evil.URL())
	}
	b := newBrowser(t, s)
	b.get("/go?to=" + evil.URL() + "/v/redirected?a=1")
	b.send(http.MethodPost, evil.URL()+"/v/posted", "text/plain", "secret")
	b.send(http.MethodOptions, evil.URL()+"/v/preflight", "", "")
	ws, err := dialWS(t, evil.URL(), "/v/ws", s.AppURL())
	if err != nil {
		t.Fatal(err)
	}
	if err := websocket.Message.Send(ws, "a frame"); err != nil {
		t.Fatal(err)
	}
	if _, err := evil.Wait(soon(t), func(r site.Request) bool { return r.Method == "WS" }); err != nil {
		t.Fatal(err)
	}
	want := []struct{ method, target, body string }{
		{"GET", "/v/redirected?a=1", ""},
		{"POST", "/v/posted", "secret"},
		{"OPTIONS", "/v/preflight", ""},
		{"GET", "/v/ws", ""},
		{"WS", "/v/ws", "a frame"},
	}
	got := evil.Requests()
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].Method != w.method || got[i].Target != w.target || got[i].Body != w.body || got[i].Seq != i+1 {
			t.Errorf("request %d: %+v", i, got[i])
		}
	}
	if !got[3].IsUpgrade() || got[0].IsUpgrade() {
		t.Error("IsUpgrade is wrong")
	}
	if got[0].Path() != "/v/redirected" {
		t.Errorf("path %q", got[0].Path())
	}
	evil.Reset()
	if evil.Conns() != 0 || len(evil.Requests()) != 0 {
		t.Error("Reset left something")
	}
}

func TestRecorderCountsSilentConnections(t *testing.T) {
	evil := recorder(t)
	c, err := site.Transport().DialContext(t.Context(), "tcp", strings.TrimPrefix(evil.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("\x16\x03\x01 not HTTP\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil { // the server's complaint, so that it has seen us
		t.Fatal(err)
	}
	if evil.Conns() != 1 || len(evil.Requests()) != 0 {
		t.Errorf("%d connections, %d requests", evil.Conns(), len(evil.Requests()))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestWaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := recorder(t).Wait(ctx, func(site.Request) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestSiteLogsEveryOrigin(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	login(b, b.get("/issues?soft=0"), "alice", "Secret-alice-1")
	b.get(s.AssetsURL() + "/site.css")
	big := strings.Repeat("x", 100_000)
	b.send(http.MethodPost, "/api/issues/12/comments", "application/json", `{"body":"`+big+`"}`)
	seen := map[string]int{}
	for _, r := range s.Requests() {
		seen[r.Server]++
		if r.Path() == "/api/issues/12/comments" && len(r.Body) != 64<<10 {
			t.Errorf("%d bytes of the body are kept", len(r.Body))
		}
	}
	for _, host := range []string{site.AppHost, site.AssetsHost, site.IdentityHost} {
		if seen[host] == 0 {
			t.Errorf("nothing logged for %s", host)
		}
	}
}
