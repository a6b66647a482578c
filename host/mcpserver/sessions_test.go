package mcpserver

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
)

const legacyList = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestHTTPSessionBelongsToItsPrincipal(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	session := beginSession(t, addr)
	thief := header("Authorization", "Bearer client-thief")
	got := make(chan string, 1)
	go func() {
		got <- bodyOf(t, post(t, addr, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_wait"}}`, session))
	}()
	b.awaitStarted(t, 1)
	for _, tc := range []struct{ method, body string }{
		{http.MethodPost, legacyList},
		{http.MethodPost, cancelLine(1)},
		{http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{http.MethodGet, ""},
		{http.MethodDelete, ""},
	} {
		if r := do(t, tc.method, addr, tc.body, session, thief); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s with a stolen session: status %d", tc.method, r.StatusCode)
		}
	}
	select {
	case err := <-b.ended:
		t.Errorf("the thief cancelled a call: %v", err)
	default:
	}
	close(b.release)
	if s := receive(t, got); !strings.Contains(s, "waited") {
		t.Errorf("got %s", s)
	}
}

func TestHTTPSessionUnknown(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{}))
	id := func(v ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Mcp-Session-Id"] = v }
	}
	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"none", header("X", ""), 400},
		{"made up", id("mcp-session-0e6b1f52-3c1a-4a57-9d3c-0a1b2c3d4e5f"), 404},
		{"empty", id(""), 404},
		{"two", id("a", "b"), 400},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if r := do(t, method, addr, legacyList, tc.change); r.StatusCode != tc.status {
				t.Errorf("%s, %s: status %d, want %d", tc.name, method, r.StatusCode, tc.status)
			}
		}
	}
	session := beginSession(t, addr)
	if r := post(t, addr, legacyList, session, header("MCP-Protocol-Version", "1999-01-01")); r.StatusCode != http.StatusBadRequest {
		t.Errorf("unknown version: status %d", r.StatusCode)
	}
	if r := post(t, addr, legacyList, session, header("MCP-Protocol-Version", "")); r.StatusCode != http.StatusOK {
		t.Errorf("no version: status %d", r.StatusCode)
	}
	if r := post(t, addr, `{"jsonrpc":"2.0","id":9,"result":{}}`, session); r.StatusCode != http.StatusAccepted {
		t.Errorf("a response: status %d", r.StatusCode)
	}
}

func TestHTTPSessionEnd(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	session := beginSession(t, addr)
	stream := do(t, http.MethodGet, addr, "", session)
	status := make(chan int, 1)
	go func() {
		status <- post(t, addr, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_wait"}}`, session).StatusCode
	}()
	b.awaitStarted(t, 1)
	if r := do(t, http.MethodDelete, addr, "", session); r.StatusCode != http.StatusNoContent {
		t.Errorf("status %d", r.StatusCode)
	}
	wantCancelled(t, b)
	if got := receive(t, status); got != http.StatusAccepted {
		t.Errorf("the call in the ended session: status %d", got)
	}
	if body := bodyOf(t, stream); strings.Contains(body, "data") { // it ends
		t.Errorf("the stream held %q", body)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if r := do(t, method, addr, legacyList, session); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s afterwards: status %d", method, r.StatusCode)
		}
	}
}

func TestHTTPSessionCancel(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	session := beginSession(t, addr)
	status := make(chan string, 1)
	go func() {
		r := post(t, addr, `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"tracker_wait"}}`, session)
		status <- fmt.Sprint(r.StatusCode, bodyOf(t, r))
	}()
	b.awaitStarted(t, 1)
	post(t, addr, cancelLine(`"x"`), session)
	wantCancelled(t, b)
	if got := receive(t, status); got != "202" {
		t.Errorf("a cancelled call was answered: %s", got)
	}
}

// The stream of a session tells that the tools changed; a second stream takes over.
func TestHTTPSessionStream(t *testing.T) {
	s := New(newFakeBackend(), Options{})
	addr := serveHTTP(t, s)
	session := beginSession(t, addr)
	if r := do(t, http.MethodGet, addr, "", session, header("Accept", "application/json")); r.StatusCode != http.StatusNotAcceptable {
		t.Errorf("without text/event-stream: status %d", r.StatusCode)
	}
	first := do(t, http.MethodGet, addr, "", session)
	second := do(t, http.MethodGet, addr, "", session)
	if body := bodyOf(t, first); strings.Contains(body, "data") {
		t.Errorf("the first stream held %q", body)
	}
	s.ToolsChanged()
	lines := bufio.NewScanner(second.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if got := canonical(t, data); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}` {
				t.Errorf("told %s", got)
			}
			return
		}
	}
	t.Error("the stream ended without a word")
}

func TestHTTPCloseEndsStreams(t *testing.T) {
	s := New(newFakeBackend(), Options{})
	addr := serveHTTP(t, s)
	get := do(t, http.MethodGet, addr, "", beginSession(t, addr))
	listen := post(t, addr, `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`, modernHeaders("subscriptions/listen", ""))
	s.Close()
	bodyOf(t, get)
	frames := framesOf(t, listen)
	if len(frames) != 2 || !strings.Contains(frames[0], "acknowledged") || !strings.Contains(frames[1], `"id":"L"`) {
		t.Errorf("frames %q", frames)
	}
	if listen.Header.Get("X-Accel-Buffering") != "no" {
		t.Error("a proxy may buffer the stream")
	}
}

// newSessions makes n sessions of a principal, and returns their ids.
func newSessions(t *testing.T, all *sessions, p host.Principal, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		var ok bool
		if ids[i], ok = all.begin(all.srv.newPeer(p)); !ok {
			t.Fatalf("no session %d", i)
		}
		<-time.After(time.Millisecond) // in a bubble: it only orders them
	}
	return ids
}

func TestSessionsGoWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &sessions{srv: New(newFakeBackend(), Options{}), byID: map[string]*httpSession{}}
		ids := newSessions(t, all, alice, 3)
		used, ok := all.enter(ids[0], alice)
		if !ok {
			t.Fatal("no session")
		}
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		wait(sessionIdle + sessionIdle/2)
		if n := len(all.byID); n != 1 {
			t.Errorf("%d sessions are left, want the one in use", n)
		}
		used.leave()
		wait(sessionIdle - time.Second)
		if _, ok := all.enter(ids[0], alice); !ok {
			t.Error("gone before its time")
		} else {
			used.leave()
		}
		if _, ok := all.enter(ids[1], alice); ok {
			t.Error("an idle session was entered")
		}
		wait(2 * sessionIdle)
		if len(all.byID) != 0 || all.sweeping {
			t.Errorf("%d sessions are left, sweeping %v", len(all.byID), all.sweeping)
		}
	})
}

func TestSessionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &sessions{srv: New(newFakeBackend(), Options{}), byID: map[string]*httpSession{}}
		bob := newSessions(t, all, host.Principal{ID: "bob"}, 1)
		ids := newSessions(t, all, alice, maxOwnSessions)
		newSessions(t, all, alice, 1)
		if _, ok := all.enter(ids[0], alice); ok {
			t.Error("the longest idle session is still there")
		}
		if _, ok := all.enter(bob[0], host.Principal{ID: "bob"}); !ok {
			t.Error("another principal lost a session")
		}
		for id, s := range all.byID {
			if s.peer.who == alice {
				if _, ok := all.enter(id, alice); !ok {
					t.Fatal("no session")
				}
			}
		}
		if _, ok := all.begin(all.srv.newPeer(alice)); ok {
			t.Error("a session more than fit, with none idle")
		}
	})
}
