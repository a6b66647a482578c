package guard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

const boundary = "----WebKitFormBoundaryAbC123"

// multipart writes parts as a browser does; a name may carry more of its header
// after a quote.
func multipart(parts ...string) string {
	var b strings.Builder
	for i := 0; i < len(parts); i += 2 {
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", boundary, parts[i], parts[i+1])
	}
	return b.String() + "--" + boundary + "--\r\n"
}

func TestMultipart(t *testing.T) {
	comment := []string{"id", "12", "UpdateType", "private", "UpdateContent", "two\r\nlines …", "CSRF", token, "SubmitTicket", "1"}
	plus := func(parts ...string) string {
		return multipart(slices.Concat(comment, parts)...)
	}
	good := multipart(comment...)
	emptyFile := "Attach\"; filename=\"\"\r\nContent-Type: application/octet-stream"
	emptyFile = strings.Replace(plus("@", ""), `name="@"`, `name="`+emptyFile, 1)
	send := func(body string) guard.Observed {
		return post(rt+"/Ticket/Update.html", "multipart/form-data; boundary="+boundary, body)
	}
	typed := func(contentType string) guard.Observed { return post(rt+"/Ticket/Update.html", contentType, good) }
	check(t, tracker, []decision{
		{"comment", send(good), guard.ListWrites},
		{"without the last line end", send(strings.TrimSuffix(good, "\r\n")), guard.ListWrites},
		{"file field left empty", send(emptyFile), guard.ListWrites},
		{"file with a name", send(strings.Replace(emptyFile, `filename=""`, `filename="x"`, 1)), none},
		{"file with content", send(strings.Replace(emptyFile, "octet-stream\r\n\r\n", "octet-stream\r\n\r\nx", 1)), none},
		{"file for a text field", send(strings.Replace(good, `name="id"`, `name="id"; filename=""`+"\r\nContent-Type: text/plain", 1)), none},
		{"additional field", send(plus("Status", "deleted")), none},
		{"field twice", send(plus("id", "12")), none},
		{"wrong ticket", send(strings.Replace(good, "12", "76", 1)), none},
		{"other boundary", typed("multipart/form-data; boundary=x"), none},
		{"no boundary", typed("multipart/form-data"), none},
		{"empty boundary", typed(`multipart/form-data; boundary=""`), none},
		{"empty boundary that fits", post(rt+"/Ticket/Update.html", `multipart/form-data; boundary=""`, strings.ReplaceAll(good, boundary, "")), none},
		{"boundary twice", typed("multipart/form-data; boundary=" + boundary + "; boundary=x"), none},
		{"boundary with a blank", typed(`multipart/form-data; boundary="a b"`), none},
		{"another parameter", typed("multipart/form-data; boundary=" + boundary + "; charset=utf-7"), none},
		{"mixed", typed("multipart/mixed; boundary=" + boundary), none},
		{"preamble", send("x\r\n" + good), none},
		{"leading line end", send("\r\n" + good), none},
		{"epilogue", send(good + "x"), none},
		{"second form after the end", send(good + multipart("Status", "deleted")), none},
		{"not closed", send(strings.TrimSuffix(good, "--"+boundary+"--\r\n")), none},
		{"closed early", send(strings.Replace(good, "--"+boundary+"\r\n", "--"+boundary+"--\r\n", 2)), none},
		{"boundary with a tail", send(strings.Replace(good, "two", "two\r\n--"+boundary+"x", 1)), none},
		{"boundary with blanks", send(strings.Replace(good, boundary+"\r\n", boundary+"  \r\n", 1)), none},
		{"bare line feeds", send(strings.ReplaceAll(good, "\r\n", "\n")), none},
		{"a part inside a value", send(strings.Replace(good, "two", "two\r\n--"+boundary+"\r\nContent-Disposition: form-data; name=\"Status\"\r\n\r\ndeleted", 1)), none},
		{"another header", send(strings.Replace(good, "\r\n\r\n12", "\r\nContent-Transfer-Encoding: base64\r\n\r\n12", 1)), none},
		{"content type of a text field", send(strings.Replace(good, "\r\n\r\n12", "\r\nContent-Type: text/html\r\n\r\n12", 1)), none},
		{"header twice", send(strings.Replace(good, "\r\n\r\n12", "\r\nContent-Disposition: form-data; name=\"Status\"\r\n\r\n12", 1)), none},
		{"name twice", send(strings.Replace(good, `name="id"`, `name="id"; name="Status"`, 1)), none},
		{"extended name", send(strings.Replace(good, `name="id"`, `name="id"; name*=utf-8''Status`, 1)), none},
		{"unquoted name", send(strings.Replace(good, `name="id"`, `name=id`, 1)), none},
		{"escaped name", send(strings.Replace(good, `name="id"`, `name="i\d"`, 1)), none},
		{"encoded quote in the name", send(strings.Replace(good, `name="id"`, `name="id%22"`, 1)), none},
		{"attachment", send(strings.Replace(good, "form-data;", "attachment;", 1)), none},
		{"folded header", send(strings.Replace(good, "form-data; name", "form-data;\r\n name", 1)), none},
		{"NUL in a value", send(strings.Replace(good, "two", "two\x00", 1)), none},
		{"empty body", send(""), none},
		{"only the end", send("--" + boundary + "--\r\n"), none},
	})
}

func TestJSONBodies(t *testing.T) {
	send := func(body string) guard.Observed {
		return with(post(rt+"/graphql", "application/json", body), func(o *guard.Observed) { o.Kind = guard.KindFetch })
	}
	check(t, tracker, []decision{
		{"listed", send(`{"operationName":"GetTicket","variables":{"id":12}}`), guard.ListReads},
		{"number as text", send(`{"operationName":"GetTicket","variables":{"id":"12"}}`), guard.ListReads},
		{"with charset", with(send(`{"operationName":"GetTicket","variables":{"id":12}}`), func(o *guard.Observed) { o.ContentType += ";charset=utf-8" }), guard.ListReads},
		{"odd text", send(`{"operationName":"GetTicket","variables":{"id":12,"deep":"\u202e\u2028"}}`), guard.ListReads},
		{"other operation", send(`{"operationName":"DeleteTicket","variables":{"id":12}}`), none},
		{"duplicate key", send(`{"operationName":"GetTicket","operationName":"DeleteTicket","variables":{"id":12}}`), none},
		{"duplicate key, other case", send(`{"operationName":"GetTicket","OperationName":"DeleteTicket","variables":{"id":12}}`), none},
		{"duplicate key, escaped", send(`{"operationName":"DeleteTicket","\u006fperationName":"GetTicket","variables":{"id":12}}`), none},
		{"nested duplicate", send(`{"operationName":"GetTicket","variables":{"id":12,"id":76}}`), none},
		{"dotted name", send(`{"operationName":"GetTicket","variables.id":12}`), none},
		{"additional member", send(`{"operationName":"GetTicket","variables":{"id":12},"query":"mutation{x}"}`), none},
		{"additional empty object", send(`{"operationName":"GetTicket","variables":{"id":12},"extensions":{}}`), none},
		{"missing member", send(`{"operationName":"GetTicket"}`), none},
		{"array", send(`{"operationName":"GetTicket","variables":{"id":[12]}}`), none},
		{"null", send(`{"operationName":"GetTicket","variables":{"id":null}}`), none},
		{"batch", send(`[{"operationName":"GetTicket","variables":{"id":12}}]`), none},
		{"exponent", send(`{"operationName":"GetTicket","variables":{"id":1e1}}`), none},
		{"trailing data", send(`{"operationName":"GetTicket","variables":{"id":12}} {}`), none},
		{"lone surrogate", send(`{"operationName":"GetTicket","variables":{"id":12,"deep":"\ud800"}}`), none},
		{"deep", send(strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)), none},
		{"nothing", send(""), none},
		{"null document", send("null"), none},
		{"as text/plain", with(send(`{"operationName":"GetTicket","variables":{"id":12}}`), func(o *guard.Observed) { o.ContentType = "text/plain" }), none},
		{"as a form", with(send(`{"operationName":"GetTicket","variables":{"id":12}}`), func(o *guard.Observed) { o.ContentType = form }), none},
	})
}

func TestTransforms(t *testing.T) {
	for _, tc := range []struct {
		transform abi.Transform
		arg       string // JSON
		value     string // urlencoded
		want      bool
	}{
		{"", `"a b"`, "a+b", true},
		{"", `"a\nb"`, "a%0D%0Ab", true},
		{"", `"a\r\nb"`, "a%0Ab", true},
		{"", `"a\rb"`, "a%0D%0Ab", true},
		{"", `"a\nb"`, "a%0A%0Ab", false},
		{"", `"a"`, "a+", false},
		{"", `" a "`, "a", false},
		{"", `"é"`, "e%CC%81", false}, // another normal form is another text
		{"", `"👩‍👩‍👧"`, "%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7", true},
		{"", `true`, "true", true},
		{"", `true`, "1", false},
		{"", `12`, "12", true},
		{"", `12`, "012", false},
		{"", `1.50`, "1.50", true},
		{"", `"x"`, "X", false},
		{"", `null`, "", true},
		{"", `null`, "null", false},
		{"", `[1]`, "[1]", false},
		{"", `{}`, "", false},
		{abi.TransformExact, `"a"`, "a", true},
		{abi.TransformTrimmed, `"\n a \t"`, "a", true},
		{abi.TransformTrimmed, `"a"`, "+a", false},
		{abi.TransformHTML, `"<a href=\"x\">'&"`, "%26lt%3Ba+href%3D%26%2334%3Bx%26%2334%3B%26gt%3B%26%2339%3B%26amp%3B", true},
		{abi.TransformHTML, `"\"'"`, "%26quot%3B%26apos%3B", true},
		{abi.TransformHTML, `"<b>"`, "<b>", false},
		{abi.TransformHTML, `"&lt;"`, "%26lt%3B", false},
		{abi.TransformEditor, `"a\n\n  b"`, url.QueryEscape("<p>a<br />\n<br />\n&nbsp; b</p>\n"), true},
		{abi.TransformEditor, `"<b>&é\n"`, url.QueryEscape("&lt;b&gt;&amp;&eacute;<br />&nbsp;"), true},
		{abi.TransformEditor, `"&lt;"`, url.QueryEscape("<p>&amp;lt;</p>"), true},
		{abi.TransformEditor, `"a"`, url.QueryEscape("<p>a</p>\n\n<p>&nbsp;</p>\n"), true},
		{abi.TransformEditor, `""`, url.QueryEscape("<p>&nbsp;</p>"), true},
		{abi.TransformEditor, `"<b>"`, url.QueryEscape("<p><b></p>"), false},
		{abi.TransformEditor, `"a"`, url.QueryEscape(`<p>a<img src=x onerror=y></p>`), false},
		{abi.TransformEditor, `"a"`, url.QueryEscape(`<p class="x">a</p>`), false},
		{abi.TransformEditor, `"a b"`, url.QueryEscape("<p>a</p><p>b</p>"), false},
		{abi.TransformEditor, `"a\nb"`, url.QueryEscape("<p>a\nb</p>"), false},
		{abi.TransformEditor, `"a"`, url.QueryEscape("<p>a<!-- b --></p>"), false},
		{abi.TransformEditor, `"a"`, url.QueryEscape("<p>a b</p>"), false},
		{abi.TransformEditor, `"a"`, url.QueryEscape("<p>a"), false},
		{abi.TransformEditor, `"a\nb"`, url.QueryEscape("ab"), false},
		{abi.TransformEditor, `"a\nb"`, url.QueryEscape("a&#10;b"), false},
	} {
		spec := guard.Spec{
			Base: rt, Origins: patterns(t, rt+"/*"), Args: json.RawMessage(`{"x":` + tc.arg + `}`),
			Writes: []abi.Request{{Method: "POST", Path: "/x", Encoding: abi.EncodingURLEncoded, Fields: []abi.Param{{Name: "f", Arg: "x", Transform: tc.transform}}}},
		}
		err := newGuard(t, spec).Decide(post(rt+"/x", form, "f="+tc.value))
		if (err == nil) != tc.want {
			t.Errorf("%s %s, %s: %v, want %v", tc.transform, tc.arg, tc.value, err, tc.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	field := func(p ...abi.Param) abi.Request {
		return abi.Request{Method: "POST", Path: "/x", Encoding: abi.EncodingURLEncoded, Fields: p}
	}
	for name, tc := range map[string]struct {
		req  abi.Request
		args string
		want abi.Code
	}{
		"no method":            {abi.Request{Path: "/x"}, "", abi.ErrUntrusted},
		"lower-case method":    {abi.Request{Method: "post", Path: "/x"}, "", abi.ErrUntrusted},
		"any method":           {abi.Request{Method: "*", Path: "/x"}, "", abi.ErrUntrusted},
		"no path":              {abi.Request{Method: "GET"}, "", abi.ErrUntrusted},
		"path with a query":    {abi.Request{Method: "GET", Path: "/x?a=1"}, "", abi.ErrUntrusted},
		"unlisted parameter":   {abi.Request{Method: "GET", Path: "/{id}"}, "", abi.ErrUntrusted},
		"origin not put in":    {abi.Request{Method: "GET", Path: "/x", Origin: "{base}"}, "", abi.ErrUntrusted},
		"unknown encoding":     {abi.Request{Method: "GET", Path: "/x", Encoding: "xml"}, "", abi.ErrUntrusted},
		"fields, no encoding":  {abi.Request{Method: "POST", Path: "/x", Fields: []abi.Param{{Name: "a", Empty: true}}}, "", abi.ErrUntrusted},
		"no constraint":        {field(abi.Param{Name: "a"}), "", abi.ErrUntrusted},
		"two constraints":      {field(abi.Param{Name: "a", Empty: true, Any: abi.ValueInt}), "", abi.ErrUntrusted},
		"no name":              {field(abi.Param{Empty: true}), "", abi.ErrUntrusted},
		"unknown transform":    {field(abi.Param{Name: "a", Arg: "x", Transform: "rot13"}), "", abi.ErrUntrusted},
		"open brace":           {field(abi.Param{Name: "{a", Empty: true}), "", abi.ErrUntrusted},
		"name twice":           {field(abi.Param{Name: "a", Empty: true}, abi.Param{Name: "a", Any: abi.ValueInt}), "", abi.ErrInvalidArgs},
		"names become one":     {field(abi.Param{Name: "{x}", Empty: true}, abi.Param{Name: "Status", Any: abi.ValueInt}), `{"x":"Status"}`, abi.ErrInvalidArgs},
		"number, required":     {field(abi.Param{Name: "a{#}", Empty: true}), "", abi.ErrUntrusted},
		"number, any value":    {field(abi.Param{Name: "a{#}", Any: abi.ValueInt, Optional: true}), "", abi.ErrUntrusted},
		"number twice":         {field(abi.Param{Name: "a{#}", Empty: true, Optional: true}, abi.Param{Name: "a{#}", Const: new(""), Optional: true}), "", abi.ErrInvalidArgs},
		"optional in a path":   {abi.Request{Method: "GET", Path: "/{id}", Params: []abi.Param{{Name: "id", Any: abi.ValueInt, Optional: true}}}, "", abi.ErrUntrusted},
		"arguments no object":  {field(), `[]`, abi.ErrInvalidArgs},
		"arguments twice":      {field(), `{"id":1,"id":2}`, abi.ErrInvalidArgs},
		"arguments by folding": {field(), `{"id":1,"ID":2}`, abi.ErrInvalidArgs},
	} {
		spec := guard.Spec{Base: rt, Origins: patterns(t, rt+"/*"), Writes: []abi.Request{tc.req}, Args: json.RawMessage(tc.args)}
		if _, err := guard.New(spec); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

func TestFieldsNamedByAnyNumber(t *testing.T) {
	spec := guard.Spec{
		Base: rt, Origins: patterns(t, rt+"/*"), Args: json.RawMessage(`{"id":12}`),
		Writes: []abi.Request{{Method: "POST", Path: "/x", Encoding: abi.EncodingURLEncoded, Max: 99, Fields: []abi.Param{
			{Name: "{id}-F-{#}-V", Empty: true, Optional: true}, {Name: "{id}-F-{#}-Magic", Const: new("1"), Optional: true}, {Name: "{id}-F-7-Magic", Const: new("2"), Optional: true},
		}}},
	}
	g := newGuard(t, spec)
	for body, want := range map[string]bool{
		"":                            true,
		"12-F-3-V=":                   true,
		"12-F-3-V=&12-F-40-V=":        true,
		"12-F-0-V=&12-F-3-Magic=1":    true,
		"12-F-3-V=x":                  false,
		"12-F-3-Magic=2":              false,
		"12-F-3-Magic=":               false,
		"12-F--V=":                    false,
		"12-F-03-V=":                  false,
		"12-F--3-V=":                  false,
		"12-F-3a-V=":                  false,
		"12-F-3-V-V=":                 false,
		"12-F-{#}-V=":                 false,
		"13-F-3-V=":                   false,
		"-F-3-V=":                     false,
		"x12-F-3-V=":                  false,
		"12-F-3-Vx=":                  false,
		"12-F-3-V=&12-F-3-V=":         false,
		"12-F-٣-V=":                   false,
		"12-F-1234567890123456789-V=": false,
	} {
		if err := g.Decide(post(rt+"/x", form, body)); (err == nil) != want {
			t.Errorf("%q: %v, want %v", body, err, want)
		}
	}
}

func TestNamesMadeOfHostileArguments(t *testing.T) {
	for _, arg := range []string{`"a&Status"`, `"a=1&b"`, `""`, `null`, `["a"]`, `" "`, `"é"`, `"../x"`} {
		spec := guard.Spec{
			Base: rt, Origins: patterns(t, rt+"/*"), Args: json.RawMessage(`{"x":` + arg + `}`),
			Writes: []abi.Request{{Method: "POST", Path: "/x", Encoding: abi.EncodingURLEncoded, Fields: []abi.Param{{Name: "{x}-RefersTo", Any: abi.ValueInt}}}},
		}
		g := newGuard(t, spec)
		for _, body := range []string{"-RefersTo=1", "a%26Status-RefersTo=1", "a&Status-RefersTo=1", "+-RefersTo=1", "%C3%A9-RefersTo=1", "../x-RefersTo=1"} {
			if err := g.Decide(post(rt+"/x", form, body)); err == nil {
				t.Errorf("argument %s: %q is allowed", arg, body)
			}
		}
	}
}
