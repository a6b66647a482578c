package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// The fake backend's connectors and alice's sixty calls.
func (b *fakeBackend) Connectors(context.Context, host.Principal) ([]host.ConnectorInfo, []host.PluginProblem) {
	return []host.ConnectorInfo{{
			ID: "tracker", Title: "Tracker", Plugin: "acme/tracker@1.0.0", Address: "https://tracker.example", Tools: []string{"tracker_list"},
			Health: host.Health{Status: "auth_expired", At: time.Unix(1_800_000_000, 0).UTC(), Hint: "drawbridge login tracker"},
		}},
		[]host.PluginProblem{{Plugin: "acme/broken", Code: abi.ErrUntrusted, Reason: abi.ReasonTampered, Message: "its hash differs"}}
}

// aliceLog is what alice has called, the newest first.
func aliceLog() []host.AuditCall {
	var log []host.AuditCall
	for i := range 60 {
		id := fmt.Sprintf("AAAAAAAAAAAAAA%c%c", 'A'+i/26, 'A'+i%26)
		log = append(log, host.AuditCall{ID: id, Tool: "tracker.list", Ended: true, At: time.Unix(1_800_000_000-int64(i), 0).UTC()})
	}
	return log
}

func (b *fakeBackend) Audit(_ context.Context, p host.Principal, before string, limit int) ([]host.AuditCall, error) {
	var log []host.AuditCall
	if p == alice {
		log = aliceLog()
	}
	if before != "" {
		i := slices.IndexFunc(log, func(c host.AuditCall) bool { return c.ID == before })
		if i < 0 {
			return nil, abi.Errorf(abi.ErrNotFound, "audit", "no such call")
		}
		log = log[i+1:]
	}
	return log[:min(limit, len(log))], nil
}

// Screenshot is kept of alice's newest call alone.
func (b *fakeBackend) Screenshot(_ context.Context, p host.Principal, call string) (host.Image, error) {
	if p != alice || call != aliceLog()[0].ID {
		return host.Image{}, abi.Errorf(abi.ErrNotFound, "screenshot", "none is kept")
	}
	return host.Image{Handle: "image:A", MIME: "image/png", Data: []byte("\x89PNG picture")}, nil
}

func readText(t *testing.T, c *sdk.ClientSession, uri string) string {
	t.Helper()
	r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || len(r.Contents) != 1 || r.Contents[0].MIMEType != "application/json" || r.Contents[0].URI != uri {
		t.Fatalf("%s: %v %+v", uri, err, r)
	}
	return r.Contents[0].Text
}

func TestSDKReadsResources(t *testing.T) {
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			_, _, c := client.start(t)
			var uris []string
			for r, err := range c.Resources(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				uris = append(uris, r.URI)
			}
			if got := strings.Join(uris, " "); got != "drawbridge://audit drawbridge://connectors drawbridge://connectors/tracker" {
				t.Errorf("resources %s", got)
			}
			for _, uri := range uris {
				if !json.Valid([]byte(readText(t, c, uri))) {
					t.Errorf("%s is not JSON", uri)
				}
			}
			if got := readText(t, c, "drawbridge://connectors"); !strings.Contains(got, `"auth_expired"`) || !strings.Contains(got, `"tampered"`) {
				t.Errorf("connectors: %s", got)
			}
			// The log's pages, one after the other: every call once, newest first.
			var ids []string
			for uri := "drawbridge://audit"; uri != ""; {
				var page struct {
					Calls []struct{ ID string }
					Next  string
				}
				if err := json.Unmarshal([]byte(readText(t, c, uri)), &page); err != nil || len(page.Calls) > auditPage {
					t.Fatalf("%d calls, %v", len(page.Calls), err)
				}
				for _, call := range page.Calls {
					ids = append(ids, call.ID)
				}
				uri = page.Next
			}
			var want []string
			for _, call := range aliceLog() {
				want = append(want, call.ID)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("calls %q", ids)
			}
			shot, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "drawbridge://screenshots/" + ids[0]})
			if err != nil || len(shot.Contents) != 1 || shot.Contents[0].MIMEType != "image/png" || string(shot.Contents[0].Blob) != "\x89PNG picture" {
				t.Errorf("screenshot: %v %+v", err, shot)
			}
			for _, uri := range []string{"drawbridge://connectors/nosuch", "drawbridge://screenshots/" + ids[1], "drawbridge://screenshots/x", "drawbridge://audit?before=BBBBBBBBBBBBBBBB", "drawbridge://proxy", "file:///etc/passwd"} {
				if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), "not found") {
					t.Errorf("%s: %v", uri, err)
				}
			}
		})
	}
}

// Another client reads its own log, and can't walk into alice's by a call's id.
func TestAuditIsTheClientsOwn(t *testing.T) {
	addr := serveHTTP(t, New(newFakeBackend(), Options{}))
	read := func(token, uri string) string {
		t.Helper()
		return bodyOf(t, post(t, addr, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+uri+`",`+modernMeta+`}}`,
			modernHeaders("resources/read", uri), header("Authorization", "Bearer "+token)))
	}
	if got := read("alice-token", "drawbridge://audit"); !strings.Contains(got, aliceLog()[0].ID) || !strings.Contains(got, aliceLog()[auditPage-1].ID) || strings.Contains(got, aliceLog()[auditPage].ID) {
		t.Errorf("alice: %s", got)
	}
	if got := read("client-b", "drawbridge://audit"); strings.Contains(got, "AAAA") || !strings.Contains(got, "calls") {
		t.Errorf("another client: %s", got)
	}
	if got := read("client-b", "drawbridge://audit?before="+aliceLog()[0].ID); strings.Contains(got, "tracker.list") || !strings.Contains(got, "not found") {
		t.Errorf("another client, from alice's call on: %s", got)
	}
}

// A URI has one spelling.
func TestParseResource(t *testing.T) {
	for uri, want := range map[string]string{
		"drawbridge://connectors": "connectors ", "drawbridge://connectors/tracker": "connector tracker",
		"drawbridge://audit": "audit ", "drawbridge://audit?before=ABCDEFGHIJKLM234": "audit ABCDEFGHIJKLM234",
	} {
		if kind, arg, ok := parseResource(uri); !ok || string(kind)+" "+arg != want {
			t.Errorf("%s is %q %q, %v", uri, kind, arg, ok)
		}
	}
	for _, uri := range []string{
		"", "drawbridge:", "drawbridge://", "DRAWBRIDGE://connectors", "drawbridge://Connectors", "drawbridge://connectors/", "drawbridge://connectors//tracker",
		"drawbridge://connectors/../audit", "drawbridge://connectors/%74racker", "drawbridge://connectors/tracker/", "drawbridge://connectors/tracker?x=1",
		"drawbridge://connectors/tracker#x", "drawbridge://connectors?", "drawbridge://x@connectors", "drawbridge://connectors:80", "drawbridge://connectors/Tracker",
		"drawbridge://connectors/tracker\n", "drawbridge://connectors/tr\u0430cker", "drawbridge://audit/", "drawbridge://audit?", "drawbridge://audit?before=",
		"drawbridge://audit?before=abcdefghijklm234", "drawbridge://audit?before=ABCDEFGHIJKLM234&x=1", "drawbridge://audit?x=1&before=ABCDEFGHIJKLM234",
		"drawbridge://audit?before=ABCDEFGHIJKLM23", "drawbridge://audit?before=ABCDEFGHIJKLM2344", "drawbridge://proxy", "file:///etc/passwd", " drawbridge://audit",
	} {
		if kind, arg, ok := parseResource(uri); ok {
			t.Errorf("%q is %q %q", uri, kind, arg)
		}
	}
}

func FuzzParseResource(f *testing.F) {
	for _, uri := range []string{"drawbridge://connectors/tracker", "drawbridge://audit?before=ABCDEFGHIJKLM234", "drawbridge://audit"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		kind, arg, ok := parseResource(uri)
		if !ok {
			return
		}
		again := map[resourceKind]string{
			kindConnectors: uriConnectors, kindConnector: uriConnectors + "/" + arg, kindAudit: strings.TrimSuffix(uriAudit+beforeQuery+arg, beforeQuery),
		}[kind]
		if again != uri {
			t.Errorf("%q reads as %q %q, which is %q", uri, kind, arg, again)
		}
	})
}

// Pages hold every item once, also when some come and go in between; a cursor is
// good for the list that it came from alone.
func TestPages(t *testing.T) {
	var items []string
	for i := range 2*pageSize + 7 {
		items = append(items, fmt.Sprintf("k%04d", i))
	}
	slices.Reverse(items)
	self := func(s string) string { return s }
	ask := func(method, cursor string) *request {
		r := &request{message: &message{method: method, fields: map[string]json.RawMessage{}}}
		if cursor != "" {
			r.fields["cursor"] = json.RawMessage(marshal(cursor))
		}
		return r
	}
	var got []string
	cursors := 0
	for next := ""; cursors == 0 || next != ""; cursors++ {
		part, after, err := page(ask("resources/list", next), items, self)
		if err != nil {
			t.Fatal(err)
		}
		got, next = append(got, part...), after
		items = slices.DeleteFunc(items, func(s string) bool { return s == part[len(part)-1] }) // the cursor's own item goes
		items = append(items, "a")                                                              // and one comes before it
	}
	slices.Reverse(items)
	if len(got) != 2*pageSize+7 || !slices.IsSorted(got) || cursors != 3 {
		t.Errorf("%d items in %d pages", len(got), cursors)
	}
	_, next, err := page(ask("resources/list", ""), items, self)
	if err != nil || next == "" {
		t.Fatal(err)
	}
	for _, bad := range []string{next + "=", next + "\n", next[:len(next)-1], "AAAA", "!", strings.Repeat("A", 3000)} {
		if _, _, err := page(ask("resources/list", bad), items, self); err == nil {
			t.Errorf("cursor %.40q is taken", bad)
		}
	}
	if _, _, err := page(ask("prompts/list", next), items, self); err == nil {
		t.Error("another list's cursor is taken")
	}
	r := ask("resources/list", "")
	r.fields["cursor"] = json.RawMessage("1")
	if _, _, err := page(r, items, self); err == nil {
		t.Error("a number is taken for a cursor")
	}
	if part, next, err := page(ask("resources/list", ""), nil, self); err != nil || part == nil || len(part) != 0 || next != "" {
		t.Errorf("of nothing: %v, %q, %v", part, next, err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor("resources/list", "drawbridge://audit"))
	f.Add("")
	f.Fuzz(func(t *testing.T, c string) {
		if key, ok := openCursor("resources/list", c); ok && cursor("resources/list", key) != c {
			t.Errorf("%q reads as %q", c, key)
		}
	})
}
