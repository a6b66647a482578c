package mcpserver

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
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
