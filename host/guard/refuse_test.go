package guard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

func TestRefusalsExplain(t *testing.T) {
	for _, tc := range []struct {
		o         guard.Observed
		msg, hint string
	}{
		{
			get(guard.KindDocument, rt+"/Ticket/Display.html?id=11&Action=Steal"),
			`GET "https://rt.example.org/Ticket/Display.html?id=11&Action=Steal" is refused: reads[0]: the query parameter "Action" is not listed`,
			`if the tool needs it, add to reads: {"method":"GET","path":"/Ticket/Display.html","query":[{"name":"id","any":"int"},{"name":"Action","any":"slug"}]}`,
		},
		{
			get(guard.KindDocument, rt+"/ticket/76/history"),
			`reads[1]: the path's "id" differs from the argument "id"`,
			`{"method":"GET","path":"/ticket/{n1}/history","params":[{"name":"n1","any":"int"}]}`,
		},
		{
			post(rt+"/issues/7", form, "_method=delete&authenticity_token="+token),
			`POST "https://rt.example.org/issues/7" is refused: it is on none of the lists reads, writes`,
			`add to writes: {"method":"POST","path":"/issues/{n1}","params":[{"name":"n1","any":"int"}],"encoding":"urlencoded","fields":[{"name":"_method","any":"slug"},{"name":"authenticity_token","token":true}]}`,
		},
		{
			post(rt+"/Ticket/Update.html", form, strings.Replace(update, "id=12", "id=76", 1)),
			`writes[0]: the field "id" differs from the argument "id"`, "",
		},
		{
			get(guard.KindScript, "https://stats.example.net/lib/x.js"),
			`the origin "https://stats.example.net" is not granted`,
			`if the page needs it, add to resources: "https://stats.example.net/lib/*"`,
		},
		{
			get(guard.KindDocument, "https://evil.test/a?b=c"),
			`GET "https://evil.test/a?b=c" is refused: the origin "https://evil.test" is not granted`,
			`if the connector needs it, add to origins: "https://evil.test/*"`,
		},
		{get(guard.KindDocument, rt+"/Ticket/Display.html?Action=Steal;id=11"), `Display.html?…" is refused: reads[0]: a semicolon separates`, ""},
		{get(guard.KindDocument, rt+"/a%2fb"), `the path holds an encoded separator`, ""},
		{get(guard.KindWebSocket, "wss://rt.example.org/x?t=1"), `GET "wss:…" is refused: WebSockets are on no list`, ""},
		{get(guard.KindDocument, "javascript:alert(document.cookie)"), `GET "javascript:…" is refused: it is no http or https URL`, ""},
	} {
		err := newGuard(t, tracker(t)).Decide(tc.o)
		var e *abi.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", tc.o.URL, err)
			continue
		}
		if !strings.Contains(e.Msg, tc.msg) || !strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%s:\n msg %s\nhint %s\nwant %s\n and %s", tc.o.URL, e.Msg, e.Hint, tc.msg, tc.hint)
		}
		if tc.hint == "" && strings.Contains(tc.msg, "path holds") && e.Hint != "" {
			t.Errorf("%s: a hint for what no entry can allow: %s", tc.o.URL, e.Hint)
		}
	}
}

func TestSecondUseIsSaid(t *testing.T) {
	g := newGuard(t, tracker(t))
	del := guard.Observed{Method: "DELETE", URL: rt + "/ticket/12", BodyComplete: true}
	if err := g.Decide(del); err != nil {
		t.Fatal(err)
	}
	var e *abi.Error
	if err := g.Decide(del); !errors.As(err, &e) || !strings.Contains(e.Msg, "writes[3]: 1 of 1 such requests went out already") || e.Hint != "" {
		t.Errorf("second use: %v", err)
	}
}

func TestRefusalsHideSecrets(t *testing.T) {
	const canary = "hunter2hunter2"
	long := strings.Repeat("c0ffee", 6)
	g := newGuard(t, tracker(t))
	for _, o := range []guard.Observed{
		get(guard.KindDocument, rt+"/x?csrf_token="+canary), get(guard.KindDocument, rt+"/x?sectok="+canary), get(guard.KindDocument, rt+"/x?code="+canary),
		get(guard.KindDocument, rt+"/x?PASSWORD="+canary), get(guard.KindDocument, rt+"/x?a=1;session="+canary),
		get(guard.KindDocument, "https://user:"+canary+"@rt.example.org/"), get(guard.KindDocument, rt+"/x#"+canary),
		get(guard.KindDocument, "data:text/html,"+canary), post(rt+"/x", form, "pass="+canary), get(guard.KindDocument, rt+"/x?q="+long),
	} {
		var e *abi.Error
		if err := g.Decide(o); !errors.As(err, &e) || strings.Contains(e.Msg+e.Hint, canary) || strings.Contains(e.Msg+e.Hint, long) {
			t.Errorf("%s: %v, hint %q", o.URL, err, e.Hint)
		}
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	huge := strings.Repeat("a", 60_000)
	g := newGuard(t, tracker(t))
	for _, o := range []guard.Observed{
		get(guard.KindDocument, rt+"/"+huge), get(guard.KindDocument, rt+"/Ticket/Display.html?"+huge+"=1"), get(guard.KindDocument, huge),
		{Method: huge, URL: rt + "/x", BodyComplete: true},
		post(rt+"/Ticket/Update.html", huge, update), post(rt+"/Ticket/Update.html", form, huge+"=1"),
		{Method: "GET", URL: rt + "/x", Header: map[string]string{"X-Method-Override": huge}},
	} {
		var e *abi.Error
		if err := g.Decide(o); !errors.As(err, &e) || len(e.Msg) > 2000 || len(e.Hint) > 5000 {
			t.Errorf("%.60s: message of %d bytes, hint of %d", o.URL, len(e.Msg), len(e.Hint))
		}
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("POST", rt+"/Ticket/Update.html", form, []byte(update), "document")
	f.Add("POST", rt+"/Ticket/Update.html", "multipart/form-data; boundary="+boundary, []byte(multipart("id", "12")), "document")
	f.Add("POST", rt+"/graphql", "application/json", []byte(`{"operationName":"GetTicket","variables":{"id":12}}`), "fetch")
	f.Add("GET", rt+"/Ticket/Display.html?Action=Steal;id=11", "", []byte(nil), "document")
	f.Add("GET", "https://cdn.example.com/x", "", []byte(nil), "image")
	f.Add("DELETE", rt+"/ticket/12", "", []byte(nil), "xhr")
	f.Fuzz(func(t *testing.T, method, url, contentType string, body []byte, kind string) {
		g := newGuard(t, tracker(t))
		o := guard.Observed{Method: method, URL: url, ContentType: contentType, Body: body, BodyComplete: true, Kind: guard.Kind(kind), Tokens: holds}
		v, err := g.Judge(o)
		if (err == nil) != (v.List != none) {
			t.Fatalf("verdict %+v with %v", v, err)
		}
		if err != nil && !errors.Is(err, abi.ErrOriginDenied) {
			t.Fatalf("code of %v", err)
		}
		if wrote := v.List == guard.ListWrites; wrote != (g.Sent() == 1) {
			t.Fatalf("allowed by %q, %d counted", v.List, g.Sent())
		}
		switch v.List {
		case guard.ListResources:
			if method != "GET" && method != "HEAD" || len(body) > 0 {
				t.Errorf("resource by %s", method)
			}
		case guard.ListWrites:
			if method == "GET" || method == "POST" && !strings.Contains(string(body), "12") {
				t.Errorf("%s %s wrote %q", method, url, body)
			}
		case guard.ListReads, guard.ListLogin, none:
		}
	})
}
