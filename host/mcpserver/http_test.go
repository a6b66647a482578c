package mcpserver

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

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
