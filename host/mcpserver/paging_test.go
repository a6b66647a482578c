package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/host"
)

var bob = host.Principal{ID: "p-bob", Name: "bob"}

const (
	issuesIn  = `{"type":"object","properties":{"status":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}`
	issuesOut = `{"type":"object","properties":{"total":{"type":"integer"},"issues":{"type":"array","items":{"type":"object"}}},"required":["total","issues"],"additionalProperties":false}`
)

// A listBackend has tools that return as many issues as they are asked for.
type listBackend struct {
	quiet
	defs  []host.ToolDef
	calls *[]host.CallRequest
}

func newListBackend(change ...func(*host.ToolDef)) listBackend {
	b := listBackend{calls: &[]host.CallRequest{}}
	for _, name := range []string{"list", "other"} {
		d := tool(name, "", true)
		d.Input, d.Output = json.RawMessage(issuesIn), json.RawMessage(issuesOut)
		for _, c := range change {
			c(&d)
		}
		b.defs = append(b.defs, d)
	}
	return b
}

func (b listBackend) Tools(context.Context, host.Principal) []host.ToolDef { return b.defs }

func (b listBackend) Call(_ context.Context, r host.CallRequest) host.CallResult {
	*b.calls = append(*b.calls, r)
	args := struct{ N int }{900}
	_ = json.Unmarshal(r.Args, &args)
	doc, _ := json.Marshal(map[string]any{"total": args.N, "issues": issues(args.N)})
	return host.CallResult{Structured: doc, AuditID: "AUDIT", Origin: "https://tracker.example"}
}

func issues(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"id": float64(i + 1), "title": "Issue <" + strings.Repeat("x", 60) + ">", "status": "open"}
	}
	return list
}

// A called is the result of a tools/call as a client reads it.
type called struct {
	Content []struct{ Type, Text string }
	Body    struct {
		Total  int
		Issues []any
		More   *struct {
			Cursor, Hint string
			Parts        []part
		}
	} `json:"structuredContent"`
	IsError bool
	Meta    map[string]any `json:"_meta"`
}

// callTool makes a call and reads its result.
func (c *lineClient) callTool(name, args string) (r called) {
	c.t.Helper()
	c.send(callLine(1, name, args))
	var reply struct {
		Result *called
		Error  json.RawMessage
	}
	line := c.recv()
	if err := json.Unmarshal([]byte(line), &reply); err != nil || reply.Result == nil {
		c.t.Fatalf("%s: %v: %.300s", name, err, line)
	}
	return *reply.Result
}

// withCursor adds a cursor to arguments.
func withCursor(args, cursor string) string {
	member := `"cursor":"` + cursor + `"}`
	if args == "{}" {
		return "{" + member
	}
	return strings.TrimSuffix(args, "}") + "," + member
}

// A list that doesn't fit comes in pages, with the same facts in text and
// structuredContent, and the tool runs once.
func TestAListComesInPages(t *testing.T) {
	b := newListBackend()
	c := serveLines(t, New(b, Options{}), alice)
	const args = `{"status":"open","n":900}`
	var got []any
	pages, next := 0, args
	for {
		r := c.callTool("tracker_list", next)
		m := r.Body.More
		if r.IsError || m == nil || r.Body.Total != 900 || len(r.Body.Issues) == 0 {
			t.Fatalf("page %d: %.500v", pages, r)
		}
		p := m.Parts[0]
		if p.At != "issues" || p.Unit != unitRows || p.First != len(got)+1 || p.Last != len(got)+len(r.Body.Issues) || p.Of != 900 || p.Left != 900-p.Last {
			t.Errorf("page %d has %d issues and says %+v", pages, len(r.Body.Issues), p)
		}
		if r.Meta[MetaAudit] != "AUDIT" || r.Meta[MetaOrigin] != "https://tracker.example" || r.Meta[MetaTruncated] != nil {
			t.Errorf("page %d: meta %v", pages, r.Meta)
		}
		sameFacts(t, r)
		got = append(got, r.Body.Issues...)
		pages++
		if m.Cursor == "" {
			break
		}
		if !strings.Contains(m.Hint, "same arguments and cursor set to more.cursor") {
			t.Errorf("hint %q", m.Hint)
		}
		next = `{"cursor":"` + m.Cursor + `", "n":900,"status":"open"}` // their order says nothing
	}
	if !reflect.DeepEqual(got, issues(900)) || pages < 3 {
		t.Errorf("%d pages of %d issues", pages, len(got))
	}
	if len(*b.calls) != 1 || string((*b.calls)[0].Args) != args {
		t.Errorf("the tool ran %d times", len(*b.calls))
	}
}

// sameFacts has a result's text, and that alone, say what structuredContent says,
// both within the budget.
func sameFacts(t *testing.T, r called) {
	t.Helper()
	said, ok := uncolumned(decoded(t, []byte(r.Content[0].Text))).(map[string]any)
	if !ok || len(r.Content) != 1 || len(r.Content[0].Text) > defaultResult {
		t.Fatalf("%d parts, %d bytes", len(r.Content), len(r.Content[0].Text))
	}
	if !reflect.DeepEqual(said["issues"], any(r.Body.Issues)) || said["total"] != float64(r.Body.Total) {
		t.Errorf("the text says something else: %.300s", r.Content[0].Text)
	}
	if m, ok := said["more"].(map[string]any); r.Body.More != nil && (!ok || m["cursor"] != r.Body.More.Cursor && r.Body.More.Cursor != "" || m["hint"] != r.Body.More.Hint) {
		t.Errorf("the text says %v of more", said["more"])
	}
	if n := len(encoded(t, r.Body)); n > defaultResult {
		t.Errorf("structuredContent has %d bytes", n)
	}
	if len(r.Body.Issues) >= manyRows && !strings.Contains(r.Content[0].Text, `"issues":{"cols":["id","status","title"],"rows":[`) {
		t.Errorf("no columns: %.300s", r.Content[0].Text)
	}
}

func TestWhatFitsComesWhole(t *testing.T) {
	b := newListBackend()
	c := serveLines(t, New(b, Options{}), alice)
	for _, n := range []int{0, 1, manyRows, 300} {
		r := c.callTool("tracker_list", fmt.Sprintf(`{"n":%d}`, n))
		if r.Body.More != nil || len(r.Body.Issues) != n {
			t.Errorf("%d of %d issues, %+v", len(r.Body.Issues), n, r.Body.More)
		}
		sameFacts(t, r)
	}
}

// A cursor is its client's, for the call that it came from, for a while; it is asked
// for in vain otherwise, and no tool runs.
func TestCursorsAreForOneCall(t *testing.T) {
	b := newListBackend()
	s := New(b, Options{})
	c, other := serveLines(t, s, alice), serveLines(t, s, bob)
	cursor := c.callTool("tracker_list", `{"n":900}`).Body.More.Cursor
	unknown, foreign := "is not known", "belongs to a call of another tool or with other arguments"
	for what, tc := range map[string]struct {
		c                *lineClient
		tool, args, want string
	}{
		"another client":   {other, "tracker_list", withCursor(`{"n":900}`, cursor), unknown},
		"one letter":       {c, "tracker_list", withCursor(`{"n":900}`, cursor[:25]+"_"), unknown},
		"one letter less":  {c, "tracker_list", withCursor(`{"n":900}`, cursor[1:]), unknown},
		"lower case":       {c, "tracker_list", withCursor(`{"n":900}`, strings.ToLower(cursor)), unknown},
		"empty":            {c, "tracker_list", withCursor(`{"n":900}`, ""), unknown},
		"very long":        {c, "tracker_list", withCursor(`{"n":900}`, strings.Repeat("A", 100_000)), unknown},
		"other arguments":  {c, "tracker_list", withCursor(`{"n":901}`, cursor), foreign},
		"fewer arguments":  {c, "tracker_list", withCursor(`{}`, cursor), foreign},
		"more arguments":   {c, "tracker_list", withCursor(`{"n":900,"status":"open"}`, cursor), foreign},
		"another tool":     {c, "tracker_other", withCursor(`{"n":900}`, cursor), foreign},
		"a number":         {c, "tracker_list", `{"n":900,"cursor":7}`, "must be a string"},
		"null":             {c, "tracker_list", `{"n":900,"cursor":null}`, "must be a string"},
		"escaped, unknown": {c, "tracker_list", `{"n":900,"\u0063ursor":"x"}`, unknown},
	} {
		r := tc.c.callTool(tc.tool, tc.args)
		if !r.IsError || len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, "invalid_args: ") || !strings.Contains(r.Content[0].Text, tc.want) || !strings.Contains(r.Content[0].Text, "\nhint: ") {
			t.Errorf("%s: %.300v", what, r.Content)
		}
		if r.Meta[MetaCode] != "invalid_args" || len(r.Content[0].Text) > 1000 {
			t.Errorf("%s: %d bytes, meta %v", what, len(r.Content[0].Text), r.Meta)
		}
	}
	for range 2 { // the same page, as often as it is asked for
		if r := c.callTool("tracker.list", `{"n": 900, "\u0063ursor":"`+cursor+`"}`); r.IsError || r.Body.More.Parts[0].First == 1 {
			t.Errorf("the cursor itself: %.300v", r)
		}
	}
	if len(*b.calls) != 1 {
		t.Errorf("%d calls", len(*b.calls))
	}
}

// What is published is what comes: each page fits the tool's own output schema as
// clients see it, and the signed one too.
func TestPublishedSchemasAllowPages(t *testing.T) {
	b := newListBackend()
	s := New(b, Options{})
	shown := s.shown(b.defs[0])
	in, err := release.CompileSchema(shown.Input)
	if err != nil {
		t.Fatal(err)
	}
	out, err := release.CompileSchema(shown.Output)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := release.CompileSchema(b.defs[0].Output)
	if err != nil {
		t.Fatal(err)
	}
	a := asked{def: b.defs[0], call: host.CallRequest{Principal: alice, Tool: "tracker.list", Args: json.RawMessage(`{"n":900}`)}}
	r := s.answer(t.Context(), a, b.Call(t.Context(), a.call))
	if err := out.Validate(r.RawStructuredContent); err != nil {
		t.Errorf("a page: %v", err)
	}
	if err := signed.Validate(r.RawStructuredContent); err == nil {
		t.Error("the signed schema allows any member, and this test shows nothing")
	}
	if err := in.Validate(json.RawMessage(`{"n":900,"cursor":"x"}`)); err != nil {
		t.Errorf("the argument: %v", err)
	}
	if string(b.defs[0].Input) != issuesIn || string(b.defs[0].Output) != issuesOut {
		t.Error("the backend's definition was changed")
	}
}

// A tool whose own argument or member has the name keeps it.
func TestOwnNamesStand(t *testing.T) {
	b := newListBackend(func(d *host.ToolDef) {
		d.Input = json.RawMessage(`{"type":"object","properties":{"cursor":{"type":"integer"},"n":{"type":"integer"}},"additionalProperties":false}`)
		d.Output = json.RawMessage(`{"type":"object","properties":{"total":{"type":"integer"},"more":{"type":"boolean"},"issues":{"type":"array"}},"additionalProperties":false}`)
	})
	c := serveLines(t, New(b, Options{}), alice)
	first := c.callTool("tracker_list", `{"cursor":7,"n":900}`)
	if got := string((*b.calls)[0].Args); got != `{"cursor":7,"n":900}` {
		t.Errorf("the tool got %s", got)
	}
	var text struct {
		More struct{ Cursor, Hint string } `json:"result_more"`
	}
	if err := json.Unmarshal([]byte(first.Content[0].Text), &text); err != nil || text.More.Cursor == "" || !strings.Contains(text.More.Hint, "result_cursor set to result_more.cursor") {
		t.Fatalf("%v: %.300s", err, first.Content[0].Text)
	}
	r := c.callTool("tracker_list", `{"cursor":7,"n":900,"result_cursor":"`+text.More.Cursor+`"}`)
	if r.IsError || len(r.Body.Issues) == 0 || len(*b.calls) != 1 {
		t.Errorf("%d calls: %.300v", len(*b.calls), r)
	}
}

// Tools that are never parted: what comes of them is whole, their text is cut, and
// their arguments are their own.
func TestWhatIsNeverParted(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*host.ToolDef)
		claim  any // of the size, in the definition
	}{
		"a tool that writes": {func(d *host.ToolDef) { d.ReadOnly, d.Destructive = false, true }, nil},
		"both names are taken": {func(d *host.ToolDef) {
			d.Output = json.RawMessage(`{"type":"object","properties":{"more":{},"result_more":{},"issues":{"type":"array"}}}`)
		}, float64(maxClaude)},
		"an output that says more": {func(d *host.ToolDef) {
			d.Output = json.RawMessage(`{"type":"object","properties":{"issues":{"type":"array"}},"unevaluatedProperties":false}`)
		}, float64(maxClaude)},
		"an input that says more": {func(d *host.ToolDef) {
			d.Input = json.RawMessage(`{"type":"object","maxProperties":2}`)
		}, float64(maxClaude)},
		"no output schema": {func(d *host.ToolDef) { d.Output = nil }, float64(maxClaude)},
		"a list that is never short": {func(d *host.ToolDef) {
			d.Output = json.RawMessage(`{"type":"object","properties":{"issues":{"type":"array","minItems":890}}}`)
		}, nil},
	} {
		b := newListBackend(tc.change)
		s := New(b, Options{})
		c := serveLines(t, s, alice)
		r := c.callTool("tracker_list", `{"n":900}`)
		if r.IsError || len(r.Body.Issues) != 900 || r.Body.More != nil || r.Meta[MetaTruncated] == nil || !strings.Contains(r.Content[0].Text, "[truncated: ") {
			t.Errorf("%s: %d issues, meta %v, %.300v", what, len(r.Body.Issues), r.Meta, r.Content)
		}
		if what != "a list that is never short" {
			c.callTool("tracker_list", `{"n":900,"cursor":"x"}`)
			if got := *b.calls; len(got) != 2 || string(got[1].Args) != `{"n":900,"cursor":"x"}` {
				t.Errorf("%s: %d calls: its arguments were changed", what, len(got))
			}
		}
		defs, err := s.Definitions(t.Context(), alice)
		if err != nil || len(defs) != 2 {
			t.Fatalf("%s: %d tools: %v", what, len(defs), err)
		}
		var def struct {
			Meta map[string]any `json:"_meta"`
		}
		if err := json.Unmarshal(defs[0].JSON, &def); err != nil || def.Meta[MetaMaxResult] != tc.claim {
			t.Errorf("%s: %v: meta %v", what, err, def.Meta)
		}
	}
}

// A tool that says so gets more at once, and tells Claude Code.
func TestALargerBudget(t *testing.T) {
	for size, want := range map[int]any{0: nil, 10_000: nil, 200_000: 200_000.0, 8 << 20: float64(maxClaude)} {
		b := newListBackend(func(d *host.ToolDef) { d.MaxResult = size })
		s := New(b, Options{})
		c := serveLines(t, s, alice)
		r := c.callTool("tracker_list", `{"n":900}`)
		if whole := len(r.Body.Issues) == 900 && r.Body.More == nil && r.Meta[MetaTruncated] == nil; whole != (size > 100_000) {
			t.Errorf("%d: %d issues of 900", size, len(r.Body.Issues))
		}
		defs, err := s.Definitions(t.Context(), alice)
		var def struct {
			Meta map[string]any `json:"_meta"`
		}
		if err != nil || json.Unmarshal(defs[0].JSON, &def) != nil || def.Meta[MetaMaxResult] != want {
			t.Errorf("%d: %v: meta %v", size, err, def.Meta)
		}
	}
}

// The pages of a result that is read as a resource are resources.
func TestAResourceComesInPages(t *testing.T) {
	b := newListBackend()
	s := New(b, Options{})
	c := serveLines(t, s, alice)
	uri, seen := "drawbridge://tools/tracker_list?n=900&status=a%20b", 0
	for pages := 0; uri != ""; pages++ {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `",` + modernMeta + `}}`)
		var reply struct {
			Result struct {
				Contents []struct{ Text, MimeType string }
			}
		}
		line := c.recv()
		if err := json.Unmarshal([]byte(line), &reply); err != nil || len(reply.Result.Contents) != 1 || reply.Result.Contents[0].MimeType != mimeJSON {
			t.Fatalf("%s: %v: %.300s", uri, err, line)
		}
		body := uncolumned(decoded(t, []byte(reply.Result.Contents[0].Text))).(map[string]any)
		seen += len(body["issues"].([]any))
		uri = ""
		if m := body["more"].(map[string]any); m["cursor"] != nil {
			_, rest, _ := strings.Cut(m["hint"].(string), "read ")
			uri, _, _ = strings.Cut(rest, ", ")
			if uri != "drawbridge://tools/tracker_list?cursor="+m["cursor"].(string)+"&n=900&status=a%20b" {
				t.Errorf("the hint is %v", m["hint"])
			}
		}
		if pages > 50 {
			t.Fatal("no end")
		}
	}
	if seen != 900 || len(*b.calls) != 1 {
		t.Errorf("%d issues in %d calls", seen, len(*b.calls))
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"drawbridge://tools/tracker_list?cursor=AAAA&n=900",` + modernMeta + `}}`)
	if line := c.recv(); !strings.Contains(line, `invalid_args: cursor \"AAAA\" is not known`) {
		t.Errorf("an unknown cursor: %s", line)
	}
}

// pagedFor is a result of two pages, the second of so many bytes.
func pagedFor(p host.Principal, name string, size int) *paged {
	return &paged{call: callKey{principal: p.ID}, pages: []sheet{{}, {body: make([]byte, size)}}, cursors: []string{name}}
}

func TestPagesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		has := func(p host.Principal, name string) bool { _, _, ok := s.get(p.ID, name); return ok }
		s.put(pagedFor(alice, "a", 1))
		time.Sleep(keepPages - time.Second) //nolint:forbidigo // the bubble's clock
		if !has(alice, "a") || has(bob, "a") {
			t.Error("a page is its client's for a while")
		}
		time.Sleep(keepPages - time.Second) //nolint:forbidigo // the bubble's clock
		if !has(alice, "a") {
			t.Error("a page that is read is kept for longer")
		}
		time.Sleep(keepPages + time.Second) //nolint:forbidigo // the bubble's clock
		if has(alice, "a") || len(s.results) != 0 {
			t.Error("a page nobody reads is kept")
		}
		s.put(pagedFor(alice, "a", 1))
		time.Sleep(keepPages + time.Second) //nolint:forbidigo // the bubble's clock
		if has(alice, "a") || len(s.results) != 0 {
			t.Error("a page that nobody ever read is kept")
		}
		s.put(pagedFor(alice, "a", 1))
		s.clear()
		if has(alice, "a") {
			t.Error("a page was kept after the end")
		}
	})
}

// A client's results take the place of its own older ones, and all of them together
// have an end.
func TestPagesHaveABound(t *testing.T) {
	var s shelf
	defer s.clear()
	has := func(p host.Principal, name string) bool { _, _, ok := s.get(p.ID, name); return ok }
	s.put(pagedFor(bob, "bob", 1<<20))
	for i := range 40 {
		s.put(pagedFor(alice, fmt.Sprint(i), 1<<20))
		if i > 2 && !has(alice, "0") && i < 16 {
			t.Errorf("after %d results the one that is used is gone", i)
		}
	}
	kept := 0
	for _, p := range s.results {
		kept += p.size
	}
	if kept != maxKeptOfOne+1<<20 || !has(bob, "bob") || !has(alice, "39") || has(alice, "1") {
		t.Errorf("%d bytes are kept", kept)
	}
	for i := range 8 {
		p := host.Principal{ID: fmt.Sprint("p", i)}
		s.put(pagedFor(p, "x", maxKeptOfOne))
		if !has(p, "x") {
			t.Errorf("the newest result is gone")
		}
	}
	kept = 0
	for _, p := range s.results {
		kept += p.size
	}
	if kept > maxKept {
		t.Errorf("%d bytes are kept of all clients'", kept)
	}
}
