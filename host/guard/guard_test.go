package guard_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

const (
	rt     = "https://rt.example.org"
	idp    = "https://login.example.net"
	form   = "application/x-www-form-urlencoded"
	token  = "3f9c2b7a11d04e55a0b1"
	update = "id=12&UpdateType=private&UpdateContent=two%0D%0Alines+%E2%80%A6&CSRF=" + token + "&SubmitTicket=1"
)

func patterns(tb testing.TB, raw ...string) []origin.Pattern {
	tb.Helper()
	var list []origin.Pattern
	for _, r := range raw {
		p, err := origin.ParsePattern(r)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// tracker is a ticket system's definition: two pages to read, a comment and a
// link to write.
func tracker(tb testing.TB) guard.Spec {
	tb.Helper()
	return guard.Spec{
		Base:      rt,
		Origins:   patterns(tb, rt+"/*"),
		Resources: patterns(tb, rt+"/static/*", "https://cdn.example.com/*"),
		Login:     []origin.Origin{idp},
		LoginPage: &abi.Request{Method: "GET", Path: "/NoAuth/Login.html"},
		Callback:  &abi.Request{Method: "POST", Path: "/oidc/callback"},
		Args:      json.RawMessage(`{"id":12,"text":"two\nlines …","owner":" root ","queue":null,"list":[1]}`),
		Reads: []abi.Request{
			{Method: "GET", Path: "/Ticket/Display.html", Query: []abi.Param{{Name: "id", Any: abi.ValueInt}, {Name: "tab", Any: abi.ValueSlug, Optional: true}}},
			{Method: "GET", Path: "/ticket/{id}/history", Params: []abi.Param{{Name: "id", Arg: "id"}}},
			{Method: "POST", Path: "/graphql", Encoding: abi.EncodingJSON, Fields: []abi.Param{
				{Name: "operationName", Const: new("GetTicket")}, {Name: "variables.id", Any: abi.ValueInt}, {Name: "variables.deep", Any: abi.ValueText, Optional: true},
			}},
		},
		Writes: []abi.Request{
			{Method: "POST", Path: "/Ticket/Update.html", Encoding: abi.EncodingURLEncoded, Dialog: abi.DialogAccept, Fields: commentFields()},
			{Method: "POST", Path: "/Ticket/Update.html", Encoding: abi.EncodingMultipart, Fields: append(commentFields(), abi.Param{Name: "Attach", Empty: true, Optional: true})},
			{Method: "POST", Path: "/links", Encoding: abi.EncodingURLEncoded, Max: 2, Fields: []abi.Param{
				{Name: "{id}-RefersTo", Any: abi.ValueInt}, {Name: "Owner", Arg: "owner", Transform: abi.TransformTrimmed},
			}},
			{Method: "DELETE", Path: "/ticket/{id}", Params: []abi.Param{{Name: "id", Arg: "id"}}},
		},
	}
}

func commentFields() []abi.Param {
	return []abi.Param{
		{Name: "id", Arg: "id"},
		{Name: "UpdateType", Const: new("private")},
		{Name: "UpdateContent", Arg: "text"},
		{Name: "CSRF", Token: true},
		{Name: "SubmitTicket", Any: abi.ValueInt},
	}
}

func newGuard(tb testing.TB, spec guard.Spec) *guard.Guard {
	tb.Helper()
	g, err := guard.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func holds(v string) bool { return v == token }

// get is a plain GET of a kind.
func get(kind guard.Kind, url string) guard.Observed {
	return guard.Observed{Method: "GET", URL: url, Kind: kind, BodyComplete: true, Tokens: holds}
}

func post(url, contentType, body string) guard.Observed {
	return guard.Observed{Method: "POST", URL: url, ContentType: contentType, Body: []byte(body), Kind: guard.KindDocument, BodyComplete: true, Tokens: holds}
}

func with(o guard.Observed, change func(*guard.Observed)) guard.Observed {
	change(&o)
	return o
}

// A request and the list that has to allow it; none refuses it.
type decision struct {
	name string
	o    guard.Observed
	want guard.List
}

const none guard.List = ""

func check(t *testing.T, spec func(testing.TB) guard.Spec, cases []decision) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			v, err := newGuard(t, spec(t)).Judge(tc.o)
			if v.List != tc.want || (err == nil) != (tc.want != none) {
				t.Errorf("%s %s: allowed by %q, %v, want %q", tc.o.Method, tc.o.URL, v.List, err, tc.want)
			}
			if err != nil && !errors.Is(err, abi.ErrOriginDenied) {
				t.Errorf("the code of %v is not origin_denied", err)
			}
		})
	}
}

func TestReads(t *testing.T) {
	doc := func(path string) guard.Observed { return get(guard.KindDocument, rt+path) }
	check(t, tracker, []decision{
		{"listed", doc("/Ticket/Display.html?id=12"), guard.ListReads},
		{"optional parameter", doc("/Ticket/Display.html?tab=a&id=76#x"), guard.ListReads},
		{"path argument", doc("/ticket/12/history"), guard.ListReads},
		{"spelled by a browser", get(guard.KindSubframe, `https:\\RT.example.org:443\x\..\Ticket\Display.html?id=1`), guard.ListReads},
		{"asked by the connector", with(get(guard.KindFetch, rt+"/ticket/12/history"), func(o *guard.Observed) { o.FromConnector = true }), guard.ListReads},
		{"another ticket in the path", doc("/ticket/76/history"), none},
		{"Steal behind a semicolon", doc("/Ticket/Display.html?Action=Steal;id=11"), none},
		{"Steal behind a semicolon, turned", doc("/Ticket/Display.html?id=11;Action=Steal"), none},
		{"Steal behind an ampersand", doc("/Ticket/Display.html?Action=Steal&id=11"), none},
		{"Take", doc("/Ticket/Display.html?id=11&Action=Take"), none},
		{"encoded name", doc("/Ticket/Display.html?id=11&%41ction=Take"), none},
		{"encoded ampersand in a number", doc("/Ticket/Display.html?id=11%26Action=Take"), none},
		{"encoded semicolon in a number", doc("/Ticket/Display.html?id=11%3BAction=Take"), none},
		{"parameter twice", doc("/Ticket/Display.html?id=11&id=12"), none},
		{"parameter twice, encoded", doc("/Ticket/Display.html?id=11&%69d=12"), none},
		{"other case", doc("/Ticket/Display.html?ID=11"), none},
		{"missing parameter", doc("/Ticket/Display.html"), none},
		{"empty parameter", doc("/Ticket/Display.html?id="), none},
		{"array parameter", doc("/Ticket/Display.html?id[]=11"), none},
		{"method override", doc("/Ticket/Display.html?id=11&_method=delete"), none},
		{"delete link", doc("/Ticket/Update.html?DefaultStatus=deleted&Status=deleted&SubmitTicket=1&id=76"), none},
		{"path parameters", doc("/Ticket/Display.html;Action=Steal?id=11"), none},
		{"encoded separator", doc("/ticket/12%2fhistory"), none},
		{"encoded backslash", doc("/ticket/12%5chistory"), none},
		{"doubly encoded", doc("/ticket/%2531%2532/history"), none},
		{"doubled slash", doc("//ticket/12/history"), none},
		{"dot segment to elsewhere", doc("/Ticket/Display.html/../Update.html?id=12"), none},
		{"NUL", doc("/ticket/12%00/history"), none},
		{"other host", get(guard.KindDocument, "https://rt.example.org.evil.test/Ticket/Display.html?id=12"), none},
		{"other port", get(guard.KindDocument, rt+":8443/Ticket/Display.html?id=12"), none},
		{"other scheme", get(guard.KindDocument, "http://rt.example.org/Ticket/Display.html?id=12"), none},
		{"userinfo", get(guard.KindDocument, "https://rt.example.org@evil.test/Ticket/Display.html?id=12"), none},
		{"HEAD", with(doc("/Ticket/Display.html?id=12"), func(o *guard.Observed) { o.Method = "HEAD" }), none},
		{"OPTIONS", with(doc("/Ticket/Display.html?id=12"), func(o *guard.Observed) { o.Method = "OPTIONS" }), none},
		{"lower-case method", with(doc("/Ticket/Display.html?id=12"), func(o *guard.Observed) { o.Method = "get" }), none},
		{"POST to a page that is read", post(rt+"/Ticket/Display.html?id=12", form, ""), none},
		{"body of a GET", with(doc("/Ticket/Display.html?id=12"), func(o *guard.Observed) { o.Body = []byte("x=1") }), none},
		{"body not seen", with(doc("/Ticket/Display.html?id=12"), func(o *guard.Observed) { o.BodyComplete = false }), none},
		{"override header", with(doc("/Ticket/Display.html?id=12"), func(o *guard.Observed) { o.Header = map[string]string{"x-HTTP-method-Override": "DELETE"} }), none},
		{"javascript", get(guard.KindDocument, "javascript:alert(1)"), none},
		{"file", get(guard.KindDocument, "file:///etc/passwd"), none},
		{"data", get(guard.KindDocument, "data:text/html,x"), none},
		{"blob", get(guard.KindDocument, "blob:https://rt.example.org/0"), none},
		{"WebSocket", get(guard.KindWebSocket, "wss://rt.example.org/ticket/12/history"), none},
		{"WebSocket that says https", get("WebSocket", rt+"/ticket/12/history"), none},
		{"nothing", guard.Observed{}, none},
	})
}

func TestOriginsBoundTheLists(t *testing.T) {
	const elsewhere = "https://elsewhere.example"
	o := get(guard.KindDocument, elsewhere+"/page")
	spec := tracker(t)
	spec.Reads = append(spec.Reads, abi.Request{Method: "GET", Origin: elsewhere, Path: "/page"})
	if _, err := newGuard(t, spec).Judge(o); !errors.Is(err, abi.ErrOriginDenied) {
		t.Errorf("a list reached an origin that is not granted: %v", err)
	}
	spec.Origins = append(spec.Origins, patterns(t, elsewhere+"/*")...)
	if v, err := newGuard(t, spec).Judge(o); err != nil || v.List != guard.ListReads {
		t.Errorf("with the grant: %+v, %v", v, err)
	}
}

func TestResources(t *testing.T) {
	check(t, tracker, []decision{
		{"style", get(guard.KindStylesheet, rt+"/static/a.css?v=3"), guard.ListResources},
		{"in CDP's spelling", get("Stylesheet", rt+"/static/a.css"), guard.ListResources},
		{"script of a CDN", get(guard.KindScript, "https://cdn.example.com/x.js"), guard.ListResources},
		{"HEAD", with(get(guard.KindXHR, "https://cdn.example.com/x"), func(o *guard.Observed) { o.Method = "HEAD" }), guard.ListResources},
		{"document", get(guard.KindDocument, "https://cdn.example.com/x.html"), none},
		{"frame", get(guard.KindSubframe, "https://cdn.example.com/x.html"), none},
		{"ping", get(guard.KindPing, "https://cdn.example.com/x"), none},
		{"WebSocket", get(guard.KindWebSocket, "wss://cdn.example.com/x"), none},
		{"no kind", get("", "https://cdn.example.com/x"), none},
		{"unknown kind", get("prefetch", "https://cdn.example.com/x"), none},
		{"POST", with(get(guard.KindXHR, "https://cdn.example.com/x"), func(o *guard.Observed) { o.Method = "POST" }), none},
		{"body", with(get(guard.KindXHR, "https://cdn.example.com/x"), func(o *guard.Observed) { o.Body = []byte("x") }), none},
		{"for the connector", with(get(guard.KindFetch, "https://cdn.example.com/x"), func(o *guard.Observed) { o.FromConnector = true }), none},
		{"delete link as image", get(guard.KindImage, rt+"/Ticket/Display.html?Action=Steal&id=11"), none},
		{"out of the folder", get(guard.KindImage, rt+"/static/../Ticket/Display.html?Action=Steal&id=11"), none},
		{"out of the folder, encoded", get(guard.KindImage, rt+"/static/..%2fTicket/Display.html?Action=Steal"), none},
		{"out of the folder, encoded twice", get(guard.KindImage, rt+"/static/..%252fTicket/Display.html"), none},
		{"out of the folder, backslash", get(guard.KindImage, rt+"/static/..%5cTicket/Display.html"), none},
		{"out of the folder, semicolon", get(guard.KindImage, rt+"/static/..;/Ticket/Display.html"), none},
		{"other host", get(guard.KindImage, "https://cdn.example.com.evil.test/x"), none},
	})
}

func TestLogin(t *testing.T) {
	redirected := func(o *guard.Observed) { o.Redirect = true }
	atProvider := func(o *guard.Observed) { o.Page = idp + "/authorize" }
	atSite := func(o *guard.Observed) { o.Page = rt + "/Ticket/Display.html?id=12" }
	check(t, tracker, []decision{
		{"redirect to the provider", with(get(guard.KindDocument, idp+"/authorize?client_id=1;x"), redirected), guard.ListLogin},
		{"link to the provider", with(get(guard.KindDocument, idp+"/authorize"), atSite), none},
		{"link at the provider", with(get(guard.KindDocument, idp+"/next"), atProvider), guard.ListLogin},
		{"its style", with(get(guard.KindStylesheet, idp+"/a.css"), atProvider), guard.ListLogin},
		{"picture from the provider", with(get(guard.KindImage, idp+"/steal?data=1"), atSite), none},
		{"login page with where to go next", with(get(guard.KindDocument, rt+"/NoAuth/Login.html?next=abc&next=d"), redirected), guard.ListLogin},
		{"link to the login page", with(get(guard.KindDocument, rt+"/NoAuth/Login.html?confirm=1"), atSite), none},
		{"callback", with(post(rt+"/oidc/callback", form, "code=1;&state=2&state=3"), atProvider), guard.ListLogin},
		{"callback from the site's own page", with(post(rt+"/oidc/callback", form, "body=chosen"), atSite), none},
		{"callback from nowhere", post(rt+"/oidc/callback", form, "body=chosen"), none},
		{"POST at the provider", post(idp+"/authorize", form, "a=b"), none},
		{"connector goes to the provider", with(get(guard.KindDocument, idp+"/"), func(o *guard.Observed) { o.FromConnector = true }), none},
		{"connector goes to the login page", with(get(guard.KindDocument, rt+"/NoAuth/Login.html"), func(o *guard.Observed) { o.FromConnector = true }), none},
		{"connector posts to the callback", with(post(rt+"/oidc/callback", form, "code=1"), func(o *guard.Observed) { o.FromConnector = true }), none},
		{"callback by a script", with(post(rt+"/oidc/callback", form, "code=1"), func(o *guard.Observed) { o.Kind = guard.KindFetch }), none},
		{"callback by another method", get(guard.KindDocument, rt+"/oidc/callback?code=1"), none},
		{"below the callback", post(rt+"/oidc/callback/x", form, "code=1"), none},
		{"callback elsewhere", post("https://evil.test/oidc/callback", form, "code=1"), none},
		{"form of the login page", post(rt+"/NoAuth/Login.html", form, "user=root&pass=x"), none},
		{"under the provider's name", get(guard.KindDocument, "https://x.login.example.net/"), none},
		{"ping to the provider", get(guard.KindPing, idp+"/x"), none},
	})
	g := newGuard(t, tracker(t))
	for raw, want := range map[string]bool{idp + "/x": true, rt + "/": false, "http://login.example.net/": false} {
		u, err := origin.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		if g.IsLogin(u) != want {
			t.Errorf("IsLogin(%s) is not %v", raw, want)
		}
	}
	if g.IsLogin(origin.URL{}) {
		t.Error("the zero URL is a provider")
	}
}

func TestWrites(t *testing.T) {
	comment := func(body string) guard.Observed { return post(rt+"/Ticket/Update.html", form, body) }
	swap := func(from, to string) guard.Observed { return comment(strings.Replace(update, from, to, 1)) }
	check(t, tracker, []decision{
		{"comment", comment(update), guard.ListWrites},
		{"comment with charset", post(rt+"/Ticket/Update.html", form+"; charset=UTF-8", update), guard.ListWrites},
		{"comment by fetch, LF", swap("%0D%0A", "%0A"), guard.ListWrites},
		{"argument in the path", guard.Observed{Method: "DELETE", URL: rt + "/ticket/12", BodyComplete: true}, guard.ListWrites},
		{"argument in a name", post(rt+"/links", form, "12-RefersTo=5&Owner=root"), guard.ListWrites},
		{"wrong ticket", swap("id=12", "id=76"), none},
		{"ticket with a blank", swap("id=12", "id=12+"), none},
		{"ticket as decimal", swap("id=12", "id=12.0"), none},
		{"wrong text", swap("lines", "words"), none},
		{"text and more", swap("lines", "lines+and+more"), none},
		{"reply instead of comment", swap("private", "response"), none},
		{"no token", swap(token, ""), none},
		{"token of another page", swap(token, "0"+token), none},
		{"additional field", comment(update + "&Status=deleted"), none},
		{"method override", comment(update + "&_method=delete"), none},
		{"field twice", comment(update + "&id=12"), none},
		{"field twice behind a semicolon", comment(update + ";id=76"), none},
		{"missing field", swap("id=12&", ""), none},
		{"no field", comment(""), none},
		{"query on top", post(rt+"/Ticket/Update.html?Status=deleted", form, update), none},
		{"id in the query too", post(rt+"/Ticket/Update.html?id=76", form, update), none},
		{"no content type", post(rt+"/Ticket/Update.html", "", update), none},
		{"text/plain", post(rt+"/Ticket/Update.html", "text/plain", update), none},
		{"two content types", post(rt+"/Ticket/Update.html", form+", text/plain", update), none},
		{"other charset", post(rt+"/Ticket/Update.html", form+"; charset=utf-7", update), none},
		{"called JSON", post(rt+"/Ticket/Update.html", "application/json", update), none},
		{"body seen in part", with(comment(update), func(o *guard.Observed) { o.BodyComplete = false }), none},
		{"body too large", comment(update + strings.Repeat(" ", abi.MaxBody)), none},
		{"as a GET", get(guard.KindDocument, rt+"/Ticket/Update.html?"+update), none},
		{"PUT", with(comment(update), func(o *guard.Observed) { o.Method = "PUT" }), none},
		{"other form", post(rt+"/Ticket/Modify.html", form, update), none},
		{"other origin", post("https://cdn.example.com/Ticket/Update.html", form, update), none},
		{"no tokens known", with(comment(update), func(o *guard.Observed) { o.Tokens = nil }), none},
		{"delete of another ticket", guard.Observed{Method: "DELETE", URL: rt + "/ticket/76", BodyComplete: true}, none},
		{"link from another ticket", post(rt+"/links", form, "76-RefersTo=5&Owner=root"), none},
		{"name not expanded", post(rt+"/links", form, "{id}-RefersTo=5&Owner=root"), none},
		{"untrimmed", post(rt+"/links", form, "12-RefersTo=5&Owner=+root+"), none},
	})
}

func TestReadOnlyGuardRefusesWrites(t *testing.T) {
	spec := tracker(t)
	spec.Writes = nil
	if err := newGuard(t, spec).Decide(post(rt+"/Ticket/Update.html", form, update)); !errors.Is(err, abi.ErrOriginDenied) {
		t.Errorf("a write without writes: %v", err)
	}
}

func TestWritesAreCounted(t *testing.T) {
	spec := tracker(t)
	// A read entry that is too wide must not lift the limit.
	spec.Reads = append(spec.Reads, spec.Writes[2])
	g := newGuard(t, spec)
	link := post(rt+"/links", form, "12-RefersTo=5&Owner=root")
	for i, want := range []error{nil, nil, abi.ErrOriginDenied, abi.ErrOriginDenied} {
		if err := g.Decide(link); !errors.Is(err, want) {
			t.Errorf("use %d: %v, want %v", i+1, err, want)
		}
	}
	if g.Sent() != 2 {
		t.Errorf("%d were sent, want 2", g.Sent())
	}
	if err := g.Decide(post(rt+"/links", form, "12-RefersTo=x&Owner=root")); err == nil {
		t.Error("a malformed one is allowed")
	}
	if err := g.Decide(get(guard.KindDocument, rt+"/Ticket/Display.html?id=12")); err != nil {
		t.Errorf("a read after the writes: %v", err)
	}
	if g.Sent() != 2 {
		t.Errorf("refused and read requests count: %d", g.Sent())
	}
}

func TestTwoEntriesForTheSameRequest(t *testing.T) {
	spec := tracker(t)
	spec.Writes = append(spec.Writes, spec.Writes[3])
	g := newGuard(t, spec)
	del := guard.Observed{Method: "DELETE", URL: rt + "/ticket/12", BodyComplete: true}
	for i, want := range []error{nil, nil, abi.ErrOriginDenied} {
		if err := g.Decide(del); !errors.Is(err, want) {
			t.Errorf("use %d: %v, want %v", i+1, err, want)
		}
	}
}

func TestConcurrentWritesGoOutOnce(t *testing.T) {
	g := newGuard(t, tracker(t))
	var allowed atomic.Int32
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if g.Decide(post(rt+"/Ticket/Update.html", form, update)) == nil {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	if allowed.Load() != 1 || g.Sent() != 1 {
		t.Errorf("%d went out, %d counted, want 1", allowed.Load(), g.Sent())
	}
}

func TestSeal(t *testing.T) {
	g := newGuard(t, tracker(t))
	g.Seal()
	for _, o := range []guard.Observed{
		post(rt+"/Ticket/Update.html", form, update), get(guard.KindDocument, rt+"/Ticket/Display.html?id=12"),
		get(guard.KindImage, rt+"/static/x.png"), get(guard.KindDocument, idp+"/"),
	} {
		if err := g.Decide(o); !errors.Is(err, abi.ErrOriginDenied) {
			t.Errorf("%s after Seal: %v", o.URL, err)
		}
	}
	if g.Sent() != 0 {
		t.Errorf("%d sent", g.Sent())
	}
}

func TestCheckNavigation(t *testing.T) {
	spec := tracker(t)
	spec.Writes = append(spec.Writes, abi.Request{Method: "GET", Path: "/rollback", Query: []abi.Param{{Name: "token", Token: true}}})
	g := newGuard(t, spec)
	for raw, want := range map[string]error{
		rt + "/Ticket/Display.html?id=12":              nil,
		rt + "/rollback?token=x":                       nil,
		rt + "/Ticket/Display.html?id=12&Action=Steal": abi.ErrOriginDenied,
		rt + "/static/x.css":                           abi.ErrOriginDenied,
		rt + "/NoAuth/Login.html":                      abi.ErrOriginDenied,
		idp + "/":                                      abi.ErrOriginDenied,
		"https://evil.test/":                           abi.ErrOriginDenied,
	} {
		u, err := origin.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // asking uses nothing up
			if err := g.CheckNavigation(u); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", raw, err, want)
			}
		}
	}
	if err := g.Decide(get(guard.KindDocument, rt+"/rollback?token=x")); err == nil {
		t.Error("the request itself may have any token")
	}
	if err := g.Decide(get(guard.KindDocument, rt+"/rollback?token="+token)); err != nil {
		t.Errorf("the request itself: %v", err)
	}
	if err := g.CheckNavigation(origin.URL{}); err == nil {
		t.Error("the zero URL is allowed")
	}
}

func TestThePageIsAskedOnce(t *testing.T) {
	spec := tracker(t)
	other := spec.Writes[0]
	other.Fields = append(commentFields(), abi.Param{Name: "Cc", Empty: true})
	spec.Writes = []abi.Request{other, spec.Writes[0]}
	g, asked := newGuard(t, spec), 0
	o := post(rt+"/Ticket/Update.html", form, update)
	o.Tokens = func(v string) bool {
		asked++
		return g.Sent() == 0 && holds(v) // a guard that is asked meanwhile answers
	}
	if err := g.Decide(o); err != nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

func TestVerdictCarriesTheDialog(t *testing.T) {
	v, err := newGuard(t, tracker(t)).Judge(post(rt+"/Ticket/Update.html", form, update))
	if err != nil || v != (guard.Verdict{List: guard.ListWrites, Index: 0, Dialog: abi.DialogAccept}) {
		t.Errorf("%+v, %v", v, err)
	}
}
