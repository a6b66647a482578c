package site_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/websocket"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

// dialWS uses another implementation than the site's own.
func dialWS(t *testing.T, base, path, origin string, cookies ...*http.Cookie) (*websocket.Conn, error) {
	t.Helper()
	cfg, err := websocket.NewConfig("ws"+strings.TrimPrefix(base, "http")+path, origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cookies {
		cfg.Header.Add("Cookie", c.Name+"="+c.Value)
	}
	conn, err := site.Transport().DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return websocket.NewClient(cfg, conn)
}

func TestWebSocketWrites(t *testing.T) {
	s := start(t)
	c, err := s.SignIn("bob")
	if err != nil {
		t.Fatal(err)
	}
	ws, err := dialWS(t, s.AppURL(), "/ws", s.AppURL(), c)
	if err != nil {
		t.Fatal(err)
	}
	before := len(issueOf(t, s, 12).Comments)
	long := strings.Repeat("long ", 3000)
	for _, m := range []struct{ send, want string }{
		{`{"issue":12,"body":"by a frame"}`, `{"ok":true}`},
		{`{"issue":12,"body":"` + long + `"}`, `{"ok":true}`},
		{`{"issue":13,"body":"forbidden"}`, `{"ok":false}`},
		{`{"issue":61,"body":"missing"}`, `{"ok":false}`},
		{`{"issue":12,"body":""}`, `{"ok":false}`},
		{`not JSON`, `{"ok":false}`},
	} {
		if err := websocket.Message.Send(ws, m.send); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := websocket.Message.Receive(ws, &got); err != nil {
			t.Fatal(err)
		}
		if got != m.want {
			t.Errorf("%.40s: %s", m.send, got)
		}
	}
	comments := issueOf(t, s, 12).Comments
	if len(comments) != before+2 || comments[before].Body != "by a frame" || comments[before].Author != "bob" {
		t.Errorf("%d comments, had %d", len(comments), before)
	}
	var frames []string
	for _, r := range s.Requests() {
		if r.Method == "WS" {
			frames = append(frames, r.Body)
		}
	}
	if len(frames) != 6 || frames[0] != `{"issue":12,"body":"by a frame"}` {
		t.Errorf("%d messages in the log", len(frames))
	}
}

func TestWebSocketRefused(t *testing.T) {
	s := start(t)
	c, err := s.SignIn("alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dialWS(t, s.AppURL(), "/ws", "http://evil.localhost", c); err == nil {
		t.Error("a foreign origin got a WebSocket")
	}
	if _, err := dialWS(t, s.AppURL(), "/ws", s.AppURL()); err == nil {
		t.Error("nobody got a WebSocket")
	}
	b := signedIn(t, s, "alice")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.AppURL()+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", s.AppURL())
	if r := b.do(req); r.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a plain GET: status %d", r.StatusCode)
	}
}
