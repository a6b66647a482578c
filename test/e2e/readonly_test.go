package e2e

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// A lateWrite is a behaviour of the sample site that writes without being asked.
type lateWrite struct {
	name  string
	click string // what has to be clicked there, or ""
	// instead is a part of the URL that is refused in place of the write, because
	// the write's own request never comes to be.
	instead string
	silent  bool // it is stopped without a request that the host could refuse
	leaving bool // it writes when the page is left
	off     bool // our browser has no such thing
}

func lateWrites() []lateWrite {
	var list []lateWrite
	for _, b := range site.Behaviours() {
		if b.Kind != site.KindWrite {
			continue
		}
		v := lateWrite{name: b.Name}
		switch b.Name {
		case "worker-service":
			v.instead = "/lab/worker.js"
		case "popup":
			v.click, v.instead = "#popup-button", "/lab/xhr"
		case "websocket":
			v.silent = true
		case "worker-shared":
			v.off = true
		case "beacon", "keepalive":
			v.leaving = true
		}
		list = append(list, v)
		if b.Name == "popup" {
			v.click = "#popup-link"
			list = append(list, v)
		}
	}
	return list
}

// page is the behaviour's page; it writes to an issue that is there and open.
func (v lateWrite) page(id int) string { return fmt.Sprintf("/lab/%s?after=50&id=%d", v.name, id) }

// TestLateWritesWriteUnguarded shows that each behaviour does write.
func TestLateWritesWriteUnguarded(t *testing.T) {
	w := harness.New(t, harness.Options{})
	b := raw(t, w.Site)
	ids := openIssues(w)
	for i, v := range lateWrites() {
		t.Run(v.name+v.click, func(t *testing.T) {
			before := w.Site.Truth()
			var clicks []string
			if v.click != "" {
				clicks = []string{"document.querySelector('" + v.click + "').click()"}
			}
			leave := b.visit(w.Site.AppURL()+v.page(ids[i]), clicks...)
			if v.leaving {
				leave()
			} else {
				defer leave()
			}
			eventually(t, "a write", func() bool { return !reflect.DeepEqual(before, w.Site.Truth()) })
		})
	}
}

// openIssues are issues that a closing link changes.
func openIssues(w *harness.World) []int {
	var ids []int
	for _, is := range w.Site.Truth().Issues {
		if is.Status == "open" || is.Status == "new" || is.Status == "waiting" {
			ids = append(ids, is.ID)
		}
	}
	return ids
}

// TestLateWritesStayOut shows that none does through a tool that only reads.
func TestLateWritesStayOut(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	before := w.Site.Truth()
	ids := openIssues(w)
	for i, v := range lateWrites() {
		mark := w.Wire.Mark()
		calls := []hostCall{read(navigate(v.page(ids[i])))}
		if v.click != "" {
			calls = append(calls, act(click(v.click)))
		}
		o := look(calls...)
		o.Tolerate = true
		if res := w.Call("puppet_look", o); res.Err != nil {
			t.Fatal(res.Err)
		}
		match := func(d harness.Decision) bool {
			if v.instead != "" {
				return d.Refused && strings.Contains(d.URL, v.instead)
			}
			return d.Refused && (d.Method == "POST" || strings.Contains(d.URL, "/close"))
		}
		switch {
		case v.silent:
			eventually(t, "the page has tried its socket", func() bool { return text(w, "#answer") != "" })
		case !v.leaving && !v.off:
			w.AwaitDecision(mark, v.name+v.click, match)
		}
		harness.Result[answers](w, "puppet_look", look(read(navigate("/issues"))))
		if v.leaving {
			w.AwaitDecision(mark, v.name, match)
		}
		if !reflect.DeepEqual(before, w.Site.Truth()) {
			t.Fatalf("%s%s wrote through a tool that only reads", v.name, v.click)
		}
	}
	wantNoWrites(t, w)
}

// wantNoWrites looks at what the tracker has received since its start.
func wantNoWrites(t *testing.T, w *harness.World) {
	t.Helper()
	for _, r := range w.Site.Requests() {
		signsIn := r.Server == site.IdentityHost || strings.HasPrefix(r.Target, "/auth/")
		if (r.Method != "GET" && !signsIn) || strings.Contains(r.Target, "confirm=1") || r.IsUpgrade() {
			t.Errorf("the tracker received %s %s %q", r.Method, r.Target, r.Body)
		}
	}
}

// TestStepsOfAReadingToolStayOut are the ways in which a connector itself tries.
func TestStepsOfAReadingToolStayOut(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	before := w.Site.Truth()
	issue := navigate("/issues/12")
	form := func(fields ...abi.Field) *abi.FetchBody {
		return &abi.FetchBody{Encoding: abi.EncodingURLEncoded, Fields: append([]abi.Field{{Name: "csrf", Token: "#comment-form [name=csrf]"}}, fields...)}
	}
	json := &abi.FetchBody{Encoding: abi.EncodingJSON, JSON: []byte(`{"body":"written"}`)}
	for name, calls := range map[string][]hostCall{
		"closing link by navigate":     {read(navigate("/issues/12/close?confirm=1"))},
		"closing link with a referrer": {read(issue), read(navigate("/issues/12/close?confirm=1"))},
		"closing link by redirect":     {read(navigate("/go?to=%2Fissues%2F12%2Fclose%3Fconfirm%3D1"))},
		"closing link by fetch":        {read(issue), fetch("GET", "/issues/12/close?confirm=1", nil)},
		"closing link twice encoded":   {read(navigate("/issues/12%2Fclose?confirm=1"))},
		"closing link past dots":       {read(navigate("/issues/12/x/../close?confirm=1"))},
		"closing link by click":        {act(issue, click("#close"))},
		"query that is not listed":     {read(navigate("/issues/12?lab=timeout"))},
		"comment form":                 {act(issue, fill("#comment-body", "written"), click("#comment-submit"))},
		"comment form by key":          {act(issue, fill("#comment-body", "written"), abi.Step{Op: abi.OpPress, Selector: "#comment-submit", Key: "Enter"})},
		"comment by fetch":             {read(issue), fetch("POST", "/issues/12/comments", form(abi.Field{Name: "body", Value: "written"}))},
		"update form":                  {act(issue, abi.Step{Op: abi.OpSelect, Selector: "#update-form [name=status]", Value: "closed"}, click("#update-form button"))},
		"delete by _method":            {read(issue), fetch("POST", "/issues/12", form(abi.Field{Name: "_method", Value: "delete"}))},
		"patch by _method":             {read(issue), fetch("POST", "/issues/12", form(abi.Field{Name: "_method", Value: "patch"}, abi.Field{Name: "status", Value: "closed"}))},
		"delete by _method in query":   {read(issue), fetch("POST", "/issues/12?_method=delete", nil)},
		"API":                          {read(issue), fetch("POST", "/api/issues/12/comments", json)},
		"API on a path that is read":   {read(issue), fetch("POST", "/api/issues/12", json)},
		"another method":               {read(issue), fetch("DELETE", "/issues/12", nil)},
		"sign out":                     {read(navigate("/auth/logout"))},
		"sign out by click":            {act(issue, click("#logout"))},
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			w.WantCode(abi.ErrOriginDenied, "puppet_look", look(calls...))
			if !reflect.DeepEqual(before, w.Site.Truth()) {
				t.Fatal("a tool that only reads has written")
			}
		})
	}
	w.T = t
	wantNoWrites(t, w)
	if posted(w.Site, "GET", "/auth/logout") > 0 {
		t.Error("a tool that only reads has signed the user out")
	}
}

// TestRefusalsAreOfTheirStep shows that an error is not taken for what the guard
// refused before.
func TestRefusalsAreOfTheirStep(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	w.WantCode(abi.ErrOriginDenied, "puppet_look", look(read(navigate("/go?to=%2Fissues%2F12%2Fclose%3Fconfirm%3D1"))))
	w.WantCode(abi.ErrSelectorDrift, "puppet_look", look(act(navigate("/issues/12"), click("#no-such-thing"))))
	mark := w.Wire.Mark()
	harness.Result[answers](w, "puppet_look", look(read(navigate("/lab/iframe"))))
	w.AwaitDecision(mark, "a frame", refused("/close"))
	w.WantCode(abi.ErrSelectorDrift, "puppet_look", look(act(click("#no-such-thing"))))
}
