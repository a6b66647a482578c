package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

func TestLostLogin(t *testing.T) {
	w := tracker(t)
	before := len(comments(w, 12))
	w.Site.Expire()
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		// First: it finds out by itself, and before anybody is asked. The connector is
		// paused then.
		{"tracker_add_comment", map[string]any{"id": 12, "body": "text"}},
		{"tracker_list", map[string]any{}},
		{"tracker_get", map[string]any{"id": 12}},
		{"tracker_picture", map[string]any{"id": 12}},
	} {
		if err := w.WantCode(abi.ErrAuthExpired, c.tool, c.args); err.Hint != "drawbridge login tracker" {
			t.Errorf("%s: the hint is %q", c.tool, err.Hint)
		}
	}
	if n := len(w.Gate.Pending()); n > 0 {
		t.Errorf("%d questions were asked for calls that can't run", n)
	}
	w.Login("tracker", "alice")
	if got := harness.Result[issueList](w, "tracker_list", map[string]any{}); len(got.Issues) == 0 {
		t.Error("after the login the list is empty")
	}
	if n := len(comments(w, 12)); n != before {
		t.Errorf("%d comments were written", n-before)
	}
}

// TestSoftSignedOutPage is a page with status 200 that says so in its text only.
func TestSoftSignedOutPage(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	harness.Result[answers](w, "puppet_look", look(read(navigate("/issues?soft=1"))))
	w.Site.Expire()
	for _, path := range []string{"/issues?soft=1", "/issues/12?soft=1", "/issues/12", "/issues"} {
		if err := w.WantCode(abi.ErrAuthExpired, "puppet_look", look(read(navigate(path)))); err.Hint != "drawbridge login puppet" {
			t.Errorf("%s: the hint is %q", path, err.Hint)
		}
	}
}

func TestUserWithoutRights(t *testing.T) {
	w := harness.New(t, harness.Options{})
	w.Ready("connectors-src/tracker")
	w.Login("tracker", "bob")
	hidden := map[int]bool{}
	for _, is := range w.Site.Truth().Issues {
		if is.Access != site.AccessAll {
			hidden[is.ID] = true
			w.WantCode(abi.ErrForbidden, "tracker_get", map[string]any{"id": is.ID})
			wantCode(t, w.CallApproved("tracker_add_comment", map[string]any{"id": is.ID, "body": "text"}), abi.ErrForbidden)
		}
	}
	got := harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 500})
	if len(got.Issues) != site.IssueCount-len(hidden) {
		t.Errorf("bob sees %d issues of %d", len(got.Issues), site.IssueCount)
	}
	for _, is := range got.Issues {
		if hidden[is.ID] {
			t.Errorf("bob sees issue %d", is.ID)
		}
	}
}

func TestMissingIssue(t *testing.T) {
	w := tracker(t)
	for _, id := range []int{site.IssueCount + 1, 8999, site.FirstSoftID, site.FirstSoftID + 76} {
		w.WantCode(abi.ErrNotFound, "tracker_get", map[string]any{"id": id})
	}
}

// TestSilentRenewal: the tracker has forgotten the session, and the identity
// provider has not. The way there and back is the login grant's.
func TestSilentRenewal(t *testing.T) {
	w := tracker(t)
	want := harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 500})
	signedIn := posted(w.Site, "POST", "/auth/callback")
	w.Site.ExpireApp()
	got := harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 500})
	if len(got.Issues) == 0 || len(got.Issues) != len(want.Issues) || got.Total != want.Total {
		t.Errorf("after the renewal the list has %d issues of %d", len(got.Issues), len(want.Issues))
	}
	if n := posted(w.Site, "POST", "/auth/callback"); n != signedIn+1 {
		t.Errorf("the identity provider came back %d times by its form", n-signedIn)
	}
}

// TestWithoutLoginGrant shows that the grant is what lets them through.
func TestWithoutLoginGrant(t *testing.T) {
	w := harness.New(t, harness.Options{})
	readyPuppet(w, puppetGrant{NoLogin: true})
	err := w.WantCode(abi.ErrOriginDenied, "puppet_look", look(read(navigate("/issues"))))
	if !strings.Contains(err.Error(), site.IdentityHost) {
		t.Errorf("the error does not name the origin: %v", err)
	}
	for _, r := range w.Site.Requests() {
		if r.Server == site.IdentityHost {
			t.Errorf("the identity provider received %s %s", r.Method, r.Target)
		}
	}
}

func TestResourcesGrant(t *testing.T) {
	ready := abi.Step{Op: abi.OpWait, Selector: "html[data-ready=true]"}
	t.Run("granted", func(t *testing.T) {
		w := puppet(t, harness.Options{}, puppetGrant{})
		harness.Result[answers](w, "puppet_look", look(read(navigate("/issues"), ready)))
	})
	t.Run("not granted", func(t *testing.T) {
		w := puppet(t, harness.Options{}, puppetGrant{NoResources: true})
		w.Site.Reset()
		w.Login("puppet", "alice")
		ready.TimeoutMS = 1000
		w.WantCode(abi.ErrTimeout, "puppet_look", look(read(navigate("/issues"), ready)))
		for _, r := range w.Site.Requests() {
			if r.Server == site.AssetsHost {
				t.Errorf("the assets' origin received %s %s", r.Method, r.Target)
			}
		}
	})
}

func TestTypedPasswordStaysOut(t *testing.T) {
	w := tracker(t)
	password := site.Users()[0].Password
	cookie, err := w.Site.SignIn("alice")
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"body": "my password is " + password + ", don't tell"})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.Site.AppURL()+"/api/issues/12/comments", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(cookie)
	client := &http.Client{Transport: site.Transport()}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("planting the password: %d, %v", resp.StatusCode, err)
	}
	res := w.Call("tracker_get", map[string]any{"id": 12})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if text := string(res.Structured); !strings.Contains(text, "my password is [redacted], don't tell") || strings.Contains(text, password) {
		t.Errorf("the result holds the password, or not what stood around it: …%s", text[max(0, len(text)-400):])
	}
}

// TestTwoClientsAtOnce lets two clients call at the same time, each on its own
// tab: a page that one has opened stays where it is whatever the other does.
func TestTwoClientsAtOnce(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	here := look(read(abi.Step{Op: abi.OpPage, As: "page"}))
	at := func(p host.Principal, o orders) string {
		res := w.CallAs(t.Context(), p, "puppet_look", o)
		if res.Err != nil {
			t.Errorf("%s: %v", p.Name, res.Err)
			return ""
		}
		var got answers
		if err := json.Unmarshal(res.Structured, &got); err != nil {
			t.Error(err)
			return ""
		}
		var info abi.PageInfo
		if err := json.Unmarshal(got.Answers[len(got.Answers)-1].Data["page"], &info); err != nil {
			t.Error(err)
		}
		return strings.TrimPrefix(info.URL, w.Site.AppURL())
	}
	var both sync.WaitGroup
	for i, p := range []host.Principal{someone("ann"), someone("ben")} {
		both.Go(func() {
			for n := range 8 {
				path := fmt.Sprintf("/issues/%d", 2*n+i+1)
				if got := at(p, look(read(navigate(path), abi.Step{Op: abi.OpPage, As: "page"}))); got != path {
					t.Errorf("%s went to %s and is at %s", p.Name, path, got)
				}
				if got := at(p, here); got != path {
					t.Errorf("%s left its tab at %s and finds it at %s", p.Name, path, got)
				}
			}
		})
	}
	both.Wait()
}
