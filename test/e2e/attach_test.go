package e2e

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// TestAttached does the main job in a browser that is the user's: sign in, read,
// write once what was approved, lose the browser, and find it again.
func TestAttached(t *testing.T) {
	u := harness.StartUsersBrowser(t)
	w := harness.New(t, harness.Options{Attach: u.Attach})
	w.Ready("connectors-src/tracker")
	w.WantCode(abi.ErrAuthExpired, "tracker_list", map[string]any{})
	w.Login("tracker", "alice")
	if got := harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 500}); len(got.Issues) != len(w.Site.Truth().Issues) {
		t.Errorf("%d issues, the tracker holds %d", len(got.Issues), len(w.Site.Truth().Issues))
	}
	before := comments(w, 12)
	if res := w.CallApproved("tracker_add_comment", map[string]any{"id": 12, "body": "from the user's browser"}); res.Err != nil {
		t.Fatal(res.Err)
	}
	if after := comments(w, 12); len(after) != len(before)+1 {
		t.Errorf("comments before %d, after %d", len(before), len(after))
	}
	in, err := w.Host.Login(t.Context(), "tracker", nil) // shows a tab, which says that somebody is signed in
	if err != nil || in.Account != "alice" {
		t.Errorf("signing in by hand: %+v, %v", in, err)
	}
	u.Kill()
	w.WantCode(abi.ErrBrowserGone, "tracker_list", map[string]any{})
	w.WantCode(abi.ErrBrowserGone, "tracker_list", map[string]any{})
	u.Start(t)
	w.WantCode(abi.ErrAuthExpired, "tracker_list", map[string]any{}) // its session died with it; the connection is there
	w.Login("tracker", "alice")
	harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 1})
}

// TestAttachedBrowserEndsAfterSending loses the user's browser in the middle of a
// call that changes data: nobody knows what became of it, and it is not repeated.
func TestAttachedBrowserEndsAfterSending(t *testing.T) {
	u := harness.StartUsersBrowser(t)
	w := harness.New(t, harness.Options{Attach: u.Attach})
	readyPuppet(w, puppetGrant{})
	w.Login("puppet", "alice")
	w.Site.Stall(true)
	call := sent(t.Context(), w, someone("ann"), comment("ends", write("12", "ends")))
	u.Kill()
	wantUnknown(t, w, call.result(), "ends")
}
