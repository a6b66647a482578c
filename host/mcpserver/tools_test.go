package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// names lists what p's tools/list shows, as a client reads it.
func names(t *testing.T, s *Server) []string {
	t.Helper()
	c := serveLines(t, s, alice)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`)
	var reply struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Type string }
			}
		}
		Error json.RawMessage
	}
	line := c.recv()
	if !utf8.ValidString(line) || json.Unmarshal([]byte(line), &reply) != nil || reply.Error != nil {
		t.Fatalf("tools/list: %.300q", line)
	}
	out := []string{}
	for _, tool := range reply.Result.Tools {
		if tool.InputSchema.Type != "object" {
			t.Errorf("%s: schema of type %q", tool.Name, tool.InputSchema.Type)
		}
		out = append(out, tool.Name)
	}
	return out
}

// Connectors are not trusted: one bad definition must not cost the others.
func TestHostileDefinitions(t *testing.T) {
	schema := func(s string) func(*host.ToolDef) { return func(d *host.ToolDef) { d.Input = json.RawMessage(s) } }
	output := func(s string) func(*host.ToolDef) { return func(d *host.ToolDef) { d.Output = json.RawMessage(s) } }
	name := func(s string) func(*host.ToolDef) { return func(d *host.ToolDef) { d.Name = s } }
	for what, change := range map[string]func(*host.ToolDef){
		"schema that is not JSON":    schema(`{not json`),
		"schema cut off":             schema(`{"type":"object"`),
		"schema with more after it":  schema(`{"type":"object"} {}`),
		"no schema":                  schema(``),
		"null schema":                schema(`null`),
		"true schema":                schema(`true`),
		"schema without type":        schema(`{"properties":{}}`),
		"schema of another type":     schema(`{"type":"array"}`),
		"schema of two types":        schema(`{"type":["object","null"]}`),
		"type twice":                 schema(`{"type":"object","type":"array"}`),
		"type in capitals":           schema(`{"Type":"object"}`),
		"schema not UTF-8":           schema("{\"type\":\"object\",\"title\":\"\xff\xfe\"}"),
		"schema with half surrogate": schema(`{"type":"object","title":"\ud800"}`),
		"schema too deep":            schema(`{"type":"object","x":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + `}`),
		"schema too large":           schema(`{"type":"object","x":"` + strings.Repeat("x", 70<<10) + `"}`),
		"header with line break":     schema(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"bad\r\nname"}}}`),
		"header for an object":       schema(`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}`),
		"output that is not JSON":    output(`nope`),
		"output of another type":     output(`{"type":"array"}`),
		"output not UTF-8":           output("{\"type\":\"object\",\"title\":\"\xff\"}"),
		"empty name":                 name(""),
		"name with space":            name("a b"),
		"name with line break":       name("a\nb"),
		"name with slash":            name("a/b"),
		"name beyond ASCII":          name("ünïcode"),
		"long name":                  name(strings.Repeat("x", 65)),
		"name of another tool":       name("tracker_good"),
		"long description":           func(d *host.ToolDef) { d.Description = strings.Repeat("x", 4096) },
		"long title":                 func(d *host.ToolDef) { d.Title = strings.Repeat("x", 300) },
	} {
		b := newFakeBackend()
		evil := tool("evil", "", true)
		change(&evil)
		b.setTools(tool("good", "", true), evil, tool("also", "", true))
		var log bytes.Buffer
		s := New(b, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 3 {
			if got := names(t, s); !slices.Equal(got, []string{"tracker_also", "tracker_good"}) {
				t.Errorf("%s: tools %q", what, got)
			}
		}
		if n := strings.Count(log.String(), "left out"); n != 1 {
			t.Errorf("%s: logged %d times: %s", what, n, log.String())
		}
	}
	// What is odd and harmless is listed.
	for what, change := range map[string]func(*host.ToolDef){
		"reference to a file":   schema(`{"type":"object","allOf":[{"$ref":"file:///etc/passwd"}]}`), // never followed here
		"lookahead":             schema(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x).*$"}}}`),
		"markup in description": func(d *host.ToolDef) { d.Description = "<IMPORTANT>\u2028 \x00 \xff" },
		"no output schema":      func(d *host.ToolDef) { d.Output = nil },
		"header":                schema(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`),
	} {
		b := newFakeBackend()
		odd := tool("odd", "", true)
		change(&odd)
		b.setTools(odd)
		if got := names(t, New(b, Options{})); !slices.Equal(got, []string{"tracker_odd"}) {
			t.Errorf("%s: tools %q", what, got)
		}
	}
}

func TestNameStyles(t *testing.T) {
	defs := []host.ToolDef{
		{Name: "b_list", Dotted: "b.list"},
		{Name: "a_list", Dotted: "a.list"},
		{Name: "a_get", Dotted: "a.get"},
		{Name: "get_it", Dotted: "get.it"},
		{Name: "it_x", Dotted: "it.get_it"},
	}
	for i := range defs {
		defs[i].Input = json.RawMessage(`{"type":"object"}`)
	}
	for style, want := range map[NameStyle]string{
		"":              "a_get a_list b_list get_it it_x",
		NamesUnderscore: "a_get a_list b_list get_it it_x",
		NamesDotted:     "a.get a.list b.list get.it it.get_it",
		NamesBare:       "a_list b_list get it it_x", // list is ambiguous, get_it another tool's name
	} {
		b := newFakeBackend()
		b.setTools(defs...)
		s := New(b, Options{ToolNames: style})
		list := names(t, s)
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%q: tools %s, want %s", style, got, want)
		}
		c := serveLines(t, s, alice)
		known := list
		for _, d := range defs {
			known = append(known, d.Name, d.Dotted)
		}
		for _, n := range known {
			c.send(callLine(1, n, "{}"))
			if got := c.recv(); strings.Contains(got, "unknown tool") {
				t.Errorf("%q: %s is unknown", style, n)
			}
		}
		for _, n := range []string{"list", "", "A_GET", "a__get", "a get", "call", "a.get "} {
			c.send(callLine(1, n, "{}"))
			if got := c.recv(); !strings.Contains(got, "unknown tool") {
				t.Errorf("%q: %q: %s", style, n, got)
			}
		}
		for i, r := range b.seen() {
			if !slices.ContainsFunc(defs, func(d host.ToolDef) bool { return d.Dotted == r.Tool }) {
				t.Errorf("%q: call %d asked for %q, which is no dotted id", style, i, r.Tool)
			}
		}
	}
}

// A tool that came since the client's last look is found, and one that went is not.
func TestCallsFollowTheBackend(t *testing.T) {
	b := newFakeBackend()
	c := serveLines(t, New(b, Options{}), alice)
	b.setTools(tool("list", "", true))
	for _, tc := range []struct{ name, want string }{{"tracker_list", "rows"}, {"tracker_echo", "unknown tool"}} {
		c.send(callLine(1, tc.name, "{}"))
		if got := c.recv(); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}

type panicking struct{ *fakeBackend }

func (panicking) Tools(context.Context, host.Principal) []host.ToolDef {
	panic("open /home/u/.ssh/id")
}

func TestPanicsStayInside(t *testing.T) {
	var log bytes.Buffer
	s := New(panicking{newFakeBackend()}, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := serveLines(t, s, alice)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`,
		callLine(2, "tracker_list", "{}"),
	} {
		c.send(line)
		if got := c.recv(); !strings.Contains(got, "-32603") || strings.Contains(got, "ssh") || !strings.Contains(got, "incident ") {
			t.Errorf("got %s", got)
		}
	}
	if n := strings.Count(log.String(), "ssh"); n != 2 {
		t.Errorf("%d panics logged: %s", n, log.String())
	}
}

func TestLogHoldsNoIDs(t *testing.T) {
	var log bytes.Buffer
	b := newFakeBackend()
	bad := tool("bad", "", true)
	bad.Input = nil
	b.defs = append(b.defs, bad)
	addr := serveHTTP(t, New(b, Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}))
	r := post(t, addr, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	id := r.Header.Get("Mcp-Session-Id")
	session := header("Mcp-Session-Id", id)
	post(t, addr, legacyList, session)
	post(t, addr, legacyList, session, header("Authorization", "Bearer wrong-token"))
	post(t, addr, legacyList, session, header("Authorization", "Bearer client-thief"))
	post(t, addr, `{"jsonrpc":"2.0","id":"request-id","method":"tools/call","params":{"name":"tracker_panic"}}`, session)
	do(t, "DELETE", addr, "", session)
	if log.Len() == 0 {
		t.Fatal("nothing was logged")
	}
	for _, secret := range []string{id, "token", "client-thief", "request-id", alice.ID} {
		if strings.Contains(strings.ReplaceAll(log.String(), "missing or unknown token", ""), secret) {
			t.Errorf("the log holds %q:\n%s", secret, log.String())
		}
	}
}

func TestResultText(t *testing.T) {
	s := New(newFakeBackend(), Options{})
	for _, tc := range []struct {
		of int // characters of the JSON text
	}{{100}, {defaultResult}, {defaultResult + 1}, {100_000}} {
		full := `{"t":"` + strings.Repeat("ä", tc.of-len(`{"t":""}`)) + `"}`
		r := s.result(t.Context(), host.CallResult{Structured: json.RawMessage(full)}, defaultResult)
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			Meta              map[string]map[string]int `json:"_meta"`
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if string(got.StructuredContent) != full {
			t.Errorf("%d characters: structuredContent differs", tc.of)
		}
		shown, marker, cut := strings.Cut(got.Content[0].Text, "\n")
		if n := utf8.RuneCountInString(shown); n != min(tc.of, defaultResult) || !strings.HasPrefix(full, shown) {
			t.Errorf("%d characters: %d shown", tc.of, n)
		}
		if cut != (tc.of > defaultResult) {
			t.Errorf("%d characters: marker %q", tc.of, marker)
		}
		if cut && (got.Meta[MetaTruncated]["of"] != tc.of || !strings.Contains(marker, fmt.Sprint(tc.of))) {
			t.Errorf("%d characters: marker %q, meta %v", tc.of, marker, got.Meta)
		}
	}
}

// TestResultImages has a picture's bytes stand in the result once, as content.
func TestResultImages(t *testing.T) {
	s := New(newFakeBackend(), Options{})
	data := bytes.Repeat([]byte{0xff, 0xd8}, 500_000)
	b, err := json.Marshal(s.result(t.Context(), host.CallResult{
		Structured: json.RawMessage(`{"shot":"image:A"}`),
		Images:     []host.Image{{Handle: "image:A", MIME: "image/jpeg", Data: data}},
	}, defaultResult))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Content []struct {
			Type, Text, MIMEType string
			Data                 []byte
			Meta                 map[string]string `json:"_meta"`
		}
		StructuredContent map[string]string
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 2 || got.Content[0].Text != `{"shot":"image:A"}` || got.StructuredContent["shot"] != "image:A" {
		t.Fatalf("a result of %d parts: %q, %v", len(got.Content), got.Content[0].Text, got.StructuredContent)
	}
	if img := got.Content[1]; img.Type != "image" || img.MIMEType != "image/jpeg" || !bytes.Equal(img.Data, data) || img.Meta[MetaImage] != "image:A" {
		t.Errorf("the image is a %s of %d bytes called %v", img.MIMEType, len(img.Data), img.Meta)
	}
	if len(b) > len(data)*4/3+1000 {
		t.Errorf("%d bytes for a picture of %d", len(b), len(data))
	}
}

func TestFailures(t *testing.T) {
	for _, code := range abi.Codes() {
		e := abi.Errorf(code, "op", "message %s", strings.Repeat("x", 10_000)).WithHint("hint %s", strings.Repeat("y", 10_000))
		if code == abi.ErrUntrusted {
			e.Reason = abi.ReasonTampered
		}
		r := failure(e, "a7")
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if !r.IsError || bytes.Contains(b, []byte("structuredContent")) || !bytes.Contains(b, []byte(`"text":"`+string(code)+`: `)) || len(b) > 9000 {
			t.Errorf("%s: %.200s", code, b)
		}
		if got := bytes.Contains(b, []byte("xxx")); got != (code != abi.ErrInternal) {
			t.Errorf("%s: message shown: %v", code, got)
		}
		if got := r.Meta.AdditionalFields[MetaReason]; (got == "tampered") != (code == abi.ErrUntrusted) {
			t.Errorf("%s: reason %v", code, got)
		}
	}
}

// Every error says what to do next: its own hint, or the usual one of its code.
func TestEveryErrorHasAHint(t *testing.T) {
	for _, code := range abi.Codes() {
		for given, want := range map[string]string{"": usualHint(code), "drawbridge fix": "drawbridge fix"} {
			e := &abi.Error{Code: code, Msg: "what is wrong", Hint: given}
			msg := e.Msg
			if code == abi.ErrInternal { // it says nothing of its own
				msg, want = "internal error (audit a7)", usualHint(code)
			}
			text, err := json.Marshal(failure(e, "a7").Content[0])
			if err != nil || want == usualHint("no code") {
				t.Fatalf("%s: %v, hint %q", code, err, want)
			}
			if got, _ := decoded(t, text).(map[string]any)["text"].(string); got != string(code)+": "+msg+"\nhint: "+want {
				t.Errorf("%s: %q", code, got)
			}
		}
	}
	for _, e := range []*rpcError{wrongCall(abi.ErrNotFound, "unknown tool"), wrongCall(abi.ErrInvalidArgs, "name must be a string")} {
		if !strings.Contains(e.msg, ": ") || !strings.Contains(e.msg, "\nhint: ") {
			t.Errorf("%q", e.msg)
		}
	}
}

func TestProgress(t *testing.T) {
	var out recorder
	box := &outbox{out: &out}
	p := newProgress(&request{message: &message{token: json.RawMessage(`"t"`)}}, box)
	nan := func() float64 { z := 0.0; return z / z }()
	for _, done := range []float64{1, 1, 0.5, nan, 2} {
		p.report(done, nan, strings.Repeat("ä", 1000))
	}
	box.close()
	box.close()
	p.report(3, 3, "too late")
	if len(out) != 2 || strings.Contains(out[0], "total") || utf8.RuneCountInString(out[0]) > maxProgressText+150 {
		t.Errorf("%d frames: %q", len(out), out)
	}
	var none recorder
	box = &outbox{out: &none}
	q := newProgress(&request{message: &message{}}, box)
	q.report(1, 1, "nobody asked")
	box.close()
	if len(none) != 0 {
		t.Errorf("without a token: %q", none)
	}
}

type recorder []string

func (*recorder) carries() bool { return true }

func (r *recorder) send(f frame) error {
	*r = append(*r, string(f))
	return nil
}

// A change is told of within 300 ms, whether or not it is the first.
func TestHubTellsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hub
		changed, stop := h.listen()
		defer stop()
		for range 3 {
			begin := time.Now()
			h.changed()
			if <-changed; time.Since(begin) > 300*time.Millisecond {
				t.Errorf("told after %v", time.Since(begin))
			}
		}
	})
}

func TestHubCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hub
		changed, stop := h.listen()
		told := 0
		begin := time.Now()
		over := make(chan struct{})
		defer close(over)
		go func() {
			for {
				select {
				case <-changed:
					told++
				case <-over:
					return
				}
			}
		}()
		for range 300 { // one each 10 ms, for 3 s
			h.changed()
			<-time.After(10 * time.Millisecond)
		}
		<-time.After(coalesce)
		synctest.Wait()
		if spent := time.Since(begin); told > int(spent/coalesce) || told < 25 {
			t.Errorf("300 changes in %v became %d notifications", spent, told)
		}
		stop()
		before := told
		h.changed()
		<-time.After(time.Second)
		if told != before {
			t.Error("told after stop")
		}
	})
}
