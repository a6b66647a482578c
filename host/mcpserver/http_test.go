package mcpserver

import (
	"fmt"
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

// A case of the matrix: what a request looks like, and what it must get.
type door struct {
	name   string
	change func(*http.Request)
	status int
}

// doors are requests from clients, from web pages, and through DNS rebinding.
func doors(port string) []door {
	deny := func(name string, status int, change ...func(*http.Request)) door {
		return door{name, func(r *http.Request) {
			for _, c := range change {
				c(r)
			}
		}, status}
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	origin := func(o string) func(*http.Request) { return func(r *http.Request) { r.Header["Origin"] = []string{o} } }
	token := func(v string) func(*http.Request) { return header("Authorization", v) }
	const ok = 0
	return []door{
		deny("client", ok),
		deny("client by name", ok, host("localhost:"+port)),
		deny("client by name in capitals", ok, host("LOCALHOST:"+port)),
		deny("listed origin", ok, origin("https://allowed.example")),
		deny("sec-fetch-site none", ok, header("Sec-Fetch-Site", "none")),
		deny("listed origin's page", ok, origin("https://allowed.example"), header("Sec-Fetch-Site", "cross-site")),

		deny("rebinding", 421, host("evil.example:"+port)),
		deny("rebinding with its origin", 421, host("evil.example:"+port), origin("http://evil.example:"+port)),
		deny("rebinding to a subdomain", 421, host("127.0.0.1.evil.example:"+port)),
		deny("rebinding below localhost", 421, host("evil.localhost:"+port)),
		deny("without port", 421, host("127.0.0.1")),
		deny("other port", 421, host("127.0.0.1:1")),
		deny("trailing dot", 421, host("localhost.:"+port)),
		deny("other loopback address", 421, host("127.0.0.2:"+port)),
		deny("ipv6 loopback", 421, host("[::1]:"+port)),
		deny("all addresses", 421, host("0.0.0.0:"+port)),
		deny("decimal address", 421, host("2130706433:"+port)),

		deny("web page", 403, origin("https://evil.example")),
		deny("sandboxed page", 403, origin("null")),
		deny("empty origin", 403, origin("")),
		deny("our own origin", 403, origin("http://127.0.0.1:"+port)),
		deny("our own origin by name", 403, origin("http://localhost:"+port)),
		deny("page on another local port", 403, origin("http://127.0.0.1:1")),
		deny("origin with our name in front", 403, origin("http://127.0.0.1.evil.example")),
		deny("origin with us as user", 403, origin("http://localhost:"+port+"@evil.example")),
		deny("extension", 403, origin("chrome-extension://abcdefghijklmnopabcdefghijklmnop")),
		deny("file", 403, origin("file://")),
		deny("listed origin in capitals", 403, origin("https://ALLOWED.example")),
		deny("listed origin, slash", 403, origin("https://allowed.example/")),
		deny("listed origin, other scheme", 403, origin("http://allowed.example")),
		deny("listed origin and another", 403, func(r *http.Request) {
			r.Header["Origin"] = []string{"https://allowed.example", "https://evil.example"}
		}),
		deny("no-cors request without origin", 403, header("Sec-Fetch-Site", "cross-site")),
		deny("same-site request without origin", 403, header("Sec-Fetch-Site", "same-site")),
		deny("same-origin request without origin", 403, header("Sec-Fetch-Site", "same-origin")),
		deny("web page without token", 403, origin("https://evil.example"), token("")),

		deny("no token", 401, token("")),
		deny("unknown token", 401, token("Bearer other-token")),
		deny("token cut short", 401, token("Bearer alice-toke")),
		deny("token with more", 401, token("Bearer alice-token2")),
		deny("empty token", 401, token("Bearer ")),
		deny("other scheme", 401, token("Basic alice-token")),
		deny("token alone", 401, token("alice-token")),
		deny("token in the query", 401, token(""), func(r *http.Request) { r.URL.RawQuery = "token=alice-token&access_token=alice-token" }),
		deny("token in a cookie", 401, token(""), header("Cookie", "token=alice-token")),
		deny("two tokens", 401, func(r *http.Request) {
			r.Header["Authorization"] = []string{"Bearer alice-token", "Bearer alice-token"}
		}),
		deny("long token", 401, token("Bearer "+strings.Repeat("x", 4000))),
		deny("listed origin without token", 401, origin("https://allowed.example"), token("")),
	}
}

// TestHTTPDoors tries every door with every method of both eras. None but the
// first few opens, and behind the others nothing runs.
func TestHTTPDoors(t *testing.T) {
	b := newFakeBackend()
	s := New(b, Options{})
	addr := serveHTTP(t, s)
	_, port, _ := net.SplitHostPort(addr)
	session := beginSession(t, addr)
	legacy := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_delete"}}`
	modern := func(method string) func(*http.Request) {
		return func(r *http.Request) { modernHeaders(method, "tracker_delete")(r) }
	}
	requests := []struct {
		name, method, body string
		change             func(*http.Request)
		status             int // of an open door
	}{
		{"legacy call", http.MethodPost, legacy, session, 200},
		{"legacy initialize", http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, nil, 200},
		{"legacy stream", http.MethodGet, "", session, 200},
		{"legacy end", http.MethodDelete, "", nil, 400},
		{"modern call", http.MethodPost, callLine(1, "tracker_delete", "{}"), modern("tools/call"), 200},
		{"modern notification", http.MethodPost, cancelLine(1), modern("notifications/cancelled"), 202},
		{"modern stream", http.MethodGet, "", modern(""), 405},
		{"preflight", http.MethodOptions, "", header("Access-Control-Request-Method", "POST"), 405},
		{"head", http.MethodHead, "", nil, 405},
	}
	for _, q := range requests {
		for _, d := range doors(port) {
			before := len(b.seen())
			changes := []func(*http.Request){}
			if q.change != nil {
				changes = append(changes, q.change)
			}
			r := do(t, q.method, addr, q.body, append(changes, d.change)...)
			want := d.status
			if want == 0 {
				want = q.status
			}
			if r.StatusCode != want {
				t.Errorf("%s, %s: status %d, want %d", q.name, d.name, r.StatusCode, want)
			}
			if d.status != 0 && len(b.seen()) != before {
				t.Errorf("%s, %s: the tool ran", q.name, d.name)
			}
			if d.status == 0 && strings.HasSuffix(q.name, " call") && len(b.seen()) != before+1 {
				t.Errorf("%s, %s: the tool did not run: %s", q.name, d.name, bodyOf(t, r))
			}
			for name := range r.Header {
				if strings.HasPrefix(name, "Access-Control-") || d.status != 0 && name == "Mcp-Session-Id" {
					t.Errorf("%s, %s: response header %s", q.name, d.name, name)
				}
			}
			_ = r.Body.Close()
		}
	}
}

func TestHTTPOtherPaths(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{}))
	for _, path := range []string{"/", "/mcp/", "//mcp", "/mcp/../mcp", "/health", "/MCP", "/.well-known/oauth-protected-resource"} {
		at := func(r *http.Request) { r.URL.Path = path }
		if r := post(t, addr, "{}", at); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
		if r := post(t, addr, "{}", at, header("Authorization", "")); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without token: status %d", path, r.StatusCode)
		}
	}
}

func TestHTTPNoHostsNobodyServed(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewHTTPServer(New(newFakeBackend(), Options{}).Handler(tokens, HTTPOptions{}))
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	if r := post(t, l.Addr().String(), "{}"); r.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("status %d", r.StatusCode)
	}
}

func TestLocalHosts(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1:80": "[127.0.0.1:80 localhost:80]", "[::1]:7": "[[::1]:7 localhost:7]", "0.0.0.0:80": "[]", "192.0.2.1:80": "[]"} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(LocalHosts(fakeListener{addr: a})); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

type fakeListener struct {
	net.Listener
	addr net.Addr
}

func (l fakeListener) Addr() net.Addr { return l.addr }

func TestHTTPContentType(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	for kind, want := range map[string]int{
		"application/json":                   200,
		"application/json; charset=utf-8":    200,
		"Application/JSON;charset=UTF-8":     200,
		"":                                   415,
		"text/plain":                         415,
		"text/plain; application/json":       415,
		"application/x-www-form-urlencoded":  415,
		"multipart/form-data; boundary=x":    415,
		"application/json-patch+json":        415,
		"application/json, text/plain":       415,
		"application/json; charset=utf-16le": 415,
	} {
		r := post(t, addr, callLine(1, "tracker_list", "{}"), modernHeaders("tools/call", "tracker_list"), header("Content-Type", kind))
		if r.StatusCode != want {
			t.Errorf("%q: status %d, want %d", kind, r.StatusCode, want)
		}
	}
	if n := len(b.seen()); n != 3 {
		t.Errorf("%d calls ran, want 3", n)
	}
}

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

func TestHTTPModernHeaders(t *testing.T) {
	b := newFakeBackend()
	withHeader := tool("region", "", true)
	withHeader.Input = []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)
	b.defs = append(b.defs, withHeader)
	addr := serveHTTP(t, New(b, Options{}))
	call := callLine(1, "tracker_list", "{}")
	region := callLine(1, "tracker_region", `{"region":"north"}`)
	for _, tc := range []struct {
		name, body string
		change     func(*http.Request)
		status     int
		want       string
	}{
		{"all", call, header("X", ""), 200, "rows"},
		{"no version", call, header("MCP-Protocol-Version", ""), 400, "-32020"},
		{"older version", call, header("MCP-Protocol-Version", "2025-11-25"), 400, "-32020"},
		{"version twice", call, func(r *http.Request) { r.Header.Add("MCP-Protocol-Version", "2025-11-25") }, 400, "-32020"},
		{"no method", call, header("Mcp-Method", ""), 400, "-32020"},
		{"other method", call, header("Mcp-Method", "tools/list"), 400, "-32020"},
		{"method in capitals", call, header("Mcp-Method", "TOOLS/CALL"), 400, "-32020"},
		{"no name", call, header("Mcp-Name", ""), 400, "-32020"},
		{"other name", call, header("Mcp-Name", "tracker_delete"), 400, "-32020"},
		{"name twice", call, func(r *http.Request) { r.Header.Add("Mcp-Name", "tracker_delete") }, 400, "-32020"},
		{"name in base64", call, header("Mcp-Name", "=?base64?dHJhY2tlcl9saXN0?="), 200, "rows"},
		{"name in bad base64", call, header("Mcp-Name", "=?base64?%%?="), 400, "-32020"},
		{"no version in the message", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header("X", ""), 400, "-32602"},
		{"unknown version", strings.ReplaceAll(call, "2026-07-28", "2031-01-01"), header("MCP-Protocol-Version", "2031-01-01"), 400, "-32022"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"x/y","params":{` + modernMeta + `}}`, modernHeaders("x/y", ""), 404, "-32601"},
		{"unknown tool", callLine(1, "nope", "{}"), header("Mcp-Name", "nope"), 400, "-32602"},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, header("X", ""), 400, "-32600"},
		{"not JSON", `{`, header("X", ""), 400, "-32700"},
		{"argument header", region, func(r *http.Request) {
			r.Header.Set("Mcp-Name", "tracker_region")
			r.Header.Set("Mcp-Param-Region", "north")
		}, 200, "not_found"},
		{"argument header missing", region, header("Mcp-Name", "tracker_region"), 400, "-32020"},
		{"argument header differs", region, func(r *http.Request) {
			r.Header.Set("Mcp-Name", "tracker_region")
			r.Header.Set("Mcp-Param-Region", "south")
		}, 400, "-32020"},
	} {
		r := post(t, addr, tc.body, modernHeaders("tools/call", "tracker_list"), tc.change)
		if body := bodyOf(t, r); r.StatusCode != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: status %d, %s", tc.name, r.StatusCode, body)
		}
	}
}

// In the new era every request could name every other one by its id. None is
// cancelled by a notification, whoever sends it.
func TestHTTPModernCancelReachesNobody(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	got := make(chan string, 1)
	go func() {
		got <- bodyOf(t, post(t, addr, callLine(2, "tracker_wait", "{}"), modernHeaders("tools/call", "tracker_wait")))
	}()
	b.awaitStarted(t, 1)
	session := beginSession(t, addr)
	for _, change := range []func(*http.Request){
		modernHeaders("notifications/cancelled", ""),
		session,
		func(r *http.Request) { r.Header.Set("Authorization", "Bearer client-b"); modernHeaders("", "")(r) },
	} {
		if r := post(t, addr, cancelLine(2), change); r.StatusCode != http.StatusAccepted {
			t.Errorf("status %d", r.StatusCode)
		}
	}
	select {
	case err := <-b.ended:
		t.Fatalf("cancelled: %v", err)
	default:
	}
	close(b.release)
	if s := receive(t, got); !strings.Contains(s, `"waited":true`) {
		t.Errorf("got %s", s)
	}
}

func TestHTTPManyWaitingCallsDontStopOthers(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			r := post(t, addr, callLine(i, "tracker_wait", "{}"), modernHeaders("tools/call", "tracker_wait"))
			if s := bodyOf(t, r); !strings.Contains(s, `"waited":true`) {
				t.Errorf("call %d: %s", i, s)
			}
		})
	}
	b.awaitStarted(t, 200)
	r := post(t, addr, callLine(0, "tracker_list", "{}"), modernHeaders("tools/call", "tracker_list"))
	if s := bodyOf(t, r); !strings.Contains(s, "rows") {
		t.Errorf("with 200 calls waiting: %s", s)
	}
	close(b.release)
	wg.Wait()
}

// Equal ids and tokens over HTTP, in both eras, sixteen principals at once.
func TestHTTPEqualIDsInManyClients(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{}))
	for n := range 16 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			me := header("Authorization", fmt.Sprintf("Bearer client-%d", n))
			session := beginSession(t, addr, me)
			for i := range max(*each/10, 40) { // an exchange over HTTP takes long
				change := session
				args := fmt.Sprintf(`{"n":3,"who":%d}`, n)
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tracker_progress","arguments":%s,"_meta":{"progressToken":1}}}`, i, args)
				echo := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tracker_echo"}}`, i)
				if n%2 == 0 {
					change = modernHeaders("tools/call", "tracker_progress")
					body = strings.Replace(callLine(i, "tracker_progress", args), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
					echo = callLine(i, "tracker_echo", "{}")
				}
				if frames := framesOf(t, post(t, addr, body, me, change)); len(frames) != 4 || !strings.Contains(frames[3], fmt.Sprintf(`"id":%d`, i)) {
					t.Fatalf("frames %q", frames)
				}
				cancel := session
				if n%2 == 0 {
					change = modernHeaders("tools/call", "tracker_echo")
					cancel = modernHeaders("notifications/cancelled", "")
				}
				// Of no call here, and of calls in flight elsewhere.
				if r := post(t, addr, cancelLine(i+1), me, cancel); r.StatusCode != http.StatusAccepted {
					t.Fatalf("cancel: status %d", r.StatusCode)
				}
				if s := bodyOf(t, post(t, addr, echo, me, change)); !strings.Contains(s, fmt.Sprintf(`"principal":"p-client-%d"`, n)) {
					t.Fatalf("foreign frame %s", s)
				}
			}
		})
	}
}

func TestHTTPDisconnectCancels(t *testing.T) {
	b := newFakeBackend()
	addr := serveHTTP(t, New(b, Options{}))
	body := callLine(1, "tracker_wait", "{}")
	c, err := dial(t, addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer alice-token\r\n"+
		"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: tracker_wait\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)
	b.awaitStarted(t, 1)
	_ = c.Close()
	wantCancelled(t, b)
}

func dial(t *testing.T, addr string) (net.Conn, error) {
	t.Helper()
	return (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
}

// A client that takes no stream gets the reply, without progress.
func TestHTTPWithoutStream(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{}))
	body := strings.Replace(callLine(1, "tracker_progress", `{"n":3}`), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	r := post(t, addr, body, modernHeaders("tools/call", "tracker_progress"), header("Accept", "application/json"))
	if s := bodyOf(t, r); r.Header.Get("Content-Type") != "application/json" || !strings.Contains(s, `"done":true`) {
		t.Errorf("%s: %s", r.Header.Get("Content-Type"), s)
	}
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
	if r := post(t, addr, listen, modernHeaders("subscriptions/listen", ""), header("Accept", "application/json")); r.StatusCode != http.StatusNotAcceptable {
		t.Errorf("subscription: status %d", r.StatusCode)
	}
}
