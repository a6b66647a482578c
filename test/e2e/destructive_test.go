package e2e

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// comment orders the one comment that a person is asked about, and then does
// what calls say.
func comment(body string, calls ...hostCall) orders {
	return orders{Issue: 12, Body: body, Calls: calls}
}

// write fills the page's own form.
func write(issue, body string) hostCall {
	return act(navigate("/issues/"+issue), fill("#comment-body", body), abi.Step{Op: abi.OpClick, Selector: "#comment-submit", Wait: "#flash"})
}

func TestApprovedCallKeepsToWhatWasApproved(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	before := w.Site.Truth()
	issue := read(navigate("/issues/12"))
	form := func(fields ...abi.Field) *abi.FetchBody {
		return &abi.FetchBody{Encoding: abi.EncodingURLEncoded, Fields: fields}
	}
	token := abi.Field{Name: "csrf", Token: "#comment-form [name=csrf]"}
	body := abi.Field{Name: "body", Value: "text"}
	const path = "/issues/12/comments"
	for name, calls := range map[string][]hostCall{
		"another issue":         {write("7", "text")},
		"another text":          {write("12", "text, and more")},
		"another form":          {act(navigate("/issues/12"), click("#update-form button"))},
		"another issue's path":  {issue, fetch("POST", "/issues/7/comments", form(token, body))},
		"an issue past dots":    {issue, fetch("POST", "/issues/12/../7/comments", form(token, body))},
		"an additional field":   {issue, fetch("POST", path, form(token, body, abi.Field{Name: "notify", Value: "1"}))},
		"a field twice":         {issue, fetch("POST", path, form(token, body, body))},
		"a field missing":       {issue, fetch("POST", path, form(token))},
		"_method":               {issue, fetch("POST", path, form(token, body, abi.Field{Name: "_method", Value: "delete"}))},
		"_method in the query":  {issue, fetch("POST", path+"?_method=delete", form(token, body))},
		"a made-up token":       {issue, fetch("POST", path, form(abi.Field{Name: "csrf", Value: "made-up-token"}, body))},
		"another encoding":      {issue, fetch("POST", path, &abi.FetchBody{Encoding: abi.EncodingJSON, JSON: []byte(`{"csrf":"x","body":"text"}`)})},
		"multipart":             {issue, fetch("POST", path, &abi.FetchBody{Encoding: abi.EncodingMultipart, Fields: []abi.Field{token, body}})},
		"the API":               {issue, fetch("POST", "/api/issues/12/comments", &abi.FetchBody{Encoding: abi.EncodingJSON, JSON: []byte(`{"body":"text"}`)})},
		"a link that writes":    {read(navigate("/issues/12/close?confirm=1"))},
		"a link by click":       {act(navigate("/issues/12"), click("#close"))},
		"by redirect elsewhere": {issue, fetch("POST", "/go?status=307&to=%2Fissues%2F12%2Fcomments", form(token, body))},
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			p := someone(strings.ReplaceAll(name, " ", "-"))
			res := begin(t.Context(), w, p, "puppet_touch", comment("text", calls...)).approve(p)
			wantCode(t, res, abi.ErrOriginDenied)
			if !reflect.DeepEqual(before, w.Site.Truth()) {
				t.Fatal("the tracker was changed")
			}
		})
	}
}

func TestApprovedCallWritesOnce(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	before := len(comments(w, 12))
	p := someone("twice")
	o := comment("once", write("12", "once"), write("12", "once"))
	o.Tolerate = true // what the page answers to the second time is the connector's to read
	res := begin(t.Context(), w, p, "puppet_touch", o).approve(p)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if !strings.Contains(string(res.Structured), "1 of 1 such requests went out already") {
		t.Errorf("the second comment was not refused for its number: %s", res.Structured)
	}
	if got := comments(w, 12); len(got) != before+1 || got[before].Body != "once" {
		t.Errorf("%d comments were written", len(got)-before)
	}
	if n := posted(w.Site, "POST", "/issues/"); n != 1 {
		t.Errorf("the tracker received %d comments", n)
	}
	// Without leave to tolerate it the call ends in doubt: something was sent.
	o.Tolerate, o.Body = false, "again"
	o.Calls = []hostCall{write("12", "again"), write("12", "again")}
	wantCode(t, begin(t.Context(), w, p, "puppet_touch", o).approve(p), abi.ErrOutcomeUnknown)
	if got := comments(w, 12); len(got) != before+2 {
		t.Errorf("%d comments were written", len(got)-before)
	}
}

// TestNothingIsSentAfterTheCall shows that a page that was approved for one
// comment is of no use when its call is over.
func TestNothingIsSentAfterTheCall(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	before := w.Site.Truth()
	p := someone("late")
	// The page of the behaviour sends its beacon when it is left, which is when
	// the call ends.
	mark := w.Wire.Mark()
	res := begin(t.Context(), w, p, "puppet_touch", comment("text", read(navigate("/lab/beacon")))).approve(p)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	w.AwaitDecision(mark, "the beacon", refused("/api/issues/12/comments"))
	if !reflect.DeepEqual(before, w.Site.Truth()) {
		t.Error("the page wrote after its call")
	}
}

// TestApprovalIsForOneCall holds approvals to the call that they were given for.
func TestApprovalIsForOneCall(t *testing.T) {
	w := puppet(t, harness.Options{Wait: 3 * time.Second}, puppetGrant{})
	before := len(comments(w, 12))
	ann, ben := someone("ann"), someone("ben")
	o := comment("deferred", write("12", "deferred"))
	again := func(why string, p gate.Principal, o orders) {
		t.Helper()
		res := w.CallAs(t.Context(), p, "puppet_touch", o)
		if err := errorOf(t, res, abi.ErrConfirmationRequired); err.Hint != "drawbridge approvals" {
			t.Errorf("%s: the hint is %q", why, err.Hint)
		}
		if n := len(comments(w, 12)); n != before {
			t.Fatalf("%s: it ran", why)
		}
	}
	again("nobody answered", ann, o)
	var pending gate.Pending
	for _, q := range w.Gate.Pending() {
		if q.Subject.Principal.ID == ann.ID {
			pending = q
		}
	}
	if err := w.Decide(pending.ID, true); err != nil {
		t.Fatal(err)
	}
	again("another client", ben, o)
	other := o
	other.Body = "deferred!"
	again("another text", ann, other)
	other = o
	other.Tolerate = true
	again("another argument", ann, other)

	if res := w.CallAs(t.Context(), ann, "puppet_touch", o); res.Err != nil {
		t.Fatalf("the identical call was refused: %v", res.Err)
	}
	if n := len(comments(w, 12)); n != before+1 {
		t.Fatalf("%d comments were written", n-before)
	}
	before++
	again("it was consumed", ann, o)
	if err := w.Decide(pending.ID, true); err == nil {
		t.Error("a consumed approval was given again")
	}
}

// TestAnotherAccountAsksAgain changes who is signed in between approval and call.
func TestAnotherAccountAsksAgain(t *testing.T) {
	w := puppet(t, harness.Options{Wait: 20 * time.Second}, puppetGrant{})
	before := len(comments(w, 12))
	p := someone("ann")
	o := comment("as alice", write("12", "as alice"))

	call := begin(t.Context(), w, p, "puppet_touch", o)
	q := call.asked(p)
	if q.Subject.Account != "alice" {
		t.Errorf("the question names the account %q", q.Subject.Account)
	}
	w.Site.Expire()
	w.Login("puppet", "bob")
	if err := w.Decide(q.ID, true); err != nil {
		t.Fatal(err)
	}
	err := errorOf(t, call.result(), abi.ErrConfirmationRequired)
	if !strings.Contains(err.Error(), "bob") || !strings.Contains(err.Error(), "alice") {
		t.Errorf("the error does not name the accounts: %v", err)
	}

	call = begin(t.Context(), w, p, "puppet_touch", o)
	q = call.asked(p)
	if q.Subject.Account != "bob" {
		t.Errorf("the question names the account %q", q.Subject.Account)
	}
	if err := w.Decide(q.ID, false); err != nil {
		t.Fatal(err)
	}
	wantCode(t, call.result(), abi.ErrConfirmationDenied)
	if n := len(comments(w, 12)); n != before {
		t.Errorf("%d comments were written", n-before)
	}
}

func TestCallerThatLeftGetsNothingDone(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	before := w.Site.Truth()
	p := someone("ann")
	ctx, leave := context.WithCancel(t.Context())
	call := begin(ctx, w, p, "puppet_touch", comment("left", write("12", "left")))
	q := call.asked(p)
	leave()
	wantCode(t, call.result(), abi.ErrTimeout)
	if err := w.Decide(q.ID, true); err == nil {
		t.Error("a question whose caller has left was answered")
	}
	if left := w.Gate.Pending(); len(left) != 0 {
		t.Errorf("%d questions are left", len(left))
	}
	if !reflect.DeepEqual(before, w.Site.Truth()) {
		t.Error("it ran without its caller")
	}
}
