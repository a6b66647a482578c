package mcpserver

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// rss returns the process's memory in bytes, or 0 where the system doesn't say.
func rss() int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(b))[1])
	return pages * os.Getpagesize()
}

func TestHTTPLargeBody(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	before := rss()
	large := func(n int64) io.Reader {
		return io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_list","arguments":{"x":"`),
			io.LimitReader(endless{}, n))
	}
	for _, declared := range []int64{100 << 20, -1} { // with a length, and chunked
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/mcp", io.NopCloser(large(100<<20)))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = declared
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer alice-token")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			continue // refused while it was still sending
		}
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("length %d: status %d", declared, resp.StatusCode)
		}
		_ = resp.Body.Close()
	}
	if grown := rss() - before; grown > 80<<20 { // of 200 MiB; 10 without the race detector
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	// The limit itself is allowed.
	msg := callLine(1, "tracker_list", `{"pad":""}`)
	fits := strings.Replace(msg, `"pad":"`, `"pad":"`+strings.Repeat("x", maxMessage-len(msg)), 1)
	if r := post(t, addr, fits, modernHeaders("tools/call", "tracker_list")); r.StatusCode != http.StatusOK {
		t.Errorf("%d bytes: status %d: %s", len(fits), r.StatusCode, bodyOf(t, r))
	}
	if r := post(t, addr, fits+" ", modernHeaders("tools/call", "tracker_list")); r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d bytes: status %d", len(fits)+1, r.StatusCode)
	}
	if n := len(b.seen()); n != 1 {
		t.Errorf("%d calls ran, want 1", n)
	}
}

// endless reads as x without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestHTTPLargeHeader(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{}))
	for size, want := range map[int]int{8 << 10: 200, 17 << 10: 431} {
		r := post(t, addr, callLine(1, "tracker_list", "{}"), modernHeaders("tools/call", "tracker_list"), header("X-Pad", strings.Repeat("x", size)))
		if r.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", size, r.StatusCode, want)
		}
	}
}

// Strangers who fill the port with connections keep no client out.
func TestHTTPConnectionLimit(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{}))
	var open []net.Conn
	t.Cleanup(func() {
		for _, c := range open {
			_ = c.Close()
		}
	})
	for range maxConnections {
		c, err := dial(t, addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	fresh := &http.Transport{}
	t.Cleanup(fresh.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/mcp", strings.NewReader(callLine(1, "tracker_list", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer alice-token")
	modernHeaders("tools/call", "tracker_list")(r)
	resp, err := fresh.RoundTrip(r)
	if err != nil {
		t.Fatalf("a client is kept out: %v", err)
	}
	if s := bodyOf(t, resp); !strings.Contains(s, "rows") {
		t.Errorf("the client got %s", s)
	}
	_ = open[0].SetReadDeadline(time.Now().Add(readTimeout / 2)) // a connection that is served would live longer
	if _, err := open[0].Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the longest connection is still there: %v", err)
	}
}

// A client whose requests wait keeps out no other, and not itself for longer than
// they do.
func TestHTTPOwnRequestsAreLimited(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{MaxCalls: 1000}))
	var wg sync.WaitGroup
	for i := range maxOwnRequests {
		wg.Go(func() {
			r := post(t, addr, callLine(i, "tracker_wait", "{}"), modernHeaders("tools/call", "tracker_wait"))
			if s := bodyOf(t, r); !strings.Contains(s, `"waited":true`) {
				t.Errorf("call %d: %s", i, s)
			}
		})
	}
	b.awaitStarted(t, maxOwnRequests)
	list := func(change ...func(*http.Request)) *http.Response {
		return post(t, addr, callLine(0, "tracker_list", "{}"), append(change, modernHeaders("tools/call", "tracker_list"))...)
	}
	if r := list(); r.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more of its own: status %d", r.StatusCode)
	}
	if s := bodyOf(t, list(header("Authorization", "Bearer client-other"))); !strings.Contains(s, "rows") {
		t.Errorf("another client got %s", s)
	}
	close(b.release)
	wg.Wait()
	if s := bodyOf(t, list()); !strings.Contains(s, "rows") {
		t.Errorf("afterwards it got %s", s)
	}
}

// Nor do its long messages take the memory: what is being read and what waits counts.
func TestHTTPOwnBytesAreLimited(t *testing.T) {
	b := newFakeBackend()
	s := New(b, Options{})
	s.maxPending = 1 << 20
	addr := serveHTTP(t, s)
	pad := `{"pad":"` + strings.Repeat("x", 64<<10) + `"}`
	const fit = 15 // a little more than 64 KiB each
	var wg sync.WaitGroup
	for i := range fit {
		wg.Go(func() {
			r := post(t, addr, callLine(i, "tracker_wait", pad), modernHeaders("tools/call", "tracker_wait"))
			if s := bodyOf(t, r); !strings.Contains(s, `"waited":true`) {
				t.Errorf("call %d: %s", i, s)
			}
		})
	}
	b.awaitStarted(t, fit)
	unsized := func(r *http.Request) { r.ContentLength = -1 }
	for name, change := range map[string]func(*http.Request){"one more": header("X", ""), "of unknown length": unsized} {
		if r := post(t, addr, callLine(0, "tracker_list", pad), modernHeaders("tools/call", "tracker_list"), change); r.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s: status %d", name, r.StatusCode)
		}
	}
	if s := bodyOf(t, post(t, addr, callLine(0, "tracker_list", pad), modernHeaders("tools/call", "tracker_list"), header("Authorization", "Bearer client-other"))); !strings.Contains(s, "rows") {
		t.Errorf("another client got %.200s", s)
	}
	close(b.release)
	wg.Wait()
	await(t, "room", func() bool { // a request ends a moment after its answer was read
		return strings.Contains(bodyOf(t, post(t, addr, callLine(0, "tracker_list", pad), modernHeaders("tools/call", "tracker_list"))), "rows")
	})
}

func dial(t *testing.T, addr string) (net.Conn, error) {
	t.Helper()
	return (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
}
