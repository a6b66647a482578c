package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

func TestWrongPasswordIsSaid(t *testing.T) {
	w := harness.New(t, harness.Options{})
	w.Ready("connectors-src/tracker")
	in, err := w.Host.Login(t.Context(), "tracker", &host.FormLogin{Username: "alice", Password: "not-the-password"})
	if !errors.Is(err, abi.ErrAuthExpired) || !strings.Contains(err.Error(), "password wrong") {
		t.Fatalf("login = %+v, %v", in, err)
	}
	w.Login("tracker", "alice") // and the next try works
}

// A logout forgets the site's cookies and stored data, and those of its identity
// provider only if that was asked for; a no forgets nothing.
func TestLogout(t *testing.T) {
	w := tracker(t) // as alice
	no := func(q host.Question) error {
		go func() { _ = w.Host.Questions.Answer(q.ID, "") }()
		return nil
	}
	if _, err := w.Host.Logout(t.Context(), "tracker", true, no); !errors.Is(err, abi.ErrConfirmationDenied) {
		t.Errorf("a no: %v", err)
	}
	harness.Result[issueList](w, "tracker_list", map[string]any{})
	out, err := w.Host.Logout(t.Context(), "tracker", false, w.Agree)
	if err != nil || out.Cookies == 0 || !slices.Contains(out.Origins, w.Site.AppURL()) || slices.Contains(out.Origins, w.Site.IdentityURL()) {
		t.Errorf("without its identity provider: %+v, %v", out, err)
	}
	if list := w.Host.Health(t.Context()); list[0].State != "unknown" {
		t.Errorf("after a logout the tracker is %+v", list[0])
	}
	harness.Result[issueList](w, "tracker_list", map[string]any{}) // the provider still knows alice
	out, err = w.Host.Logout(t.Context(), "tracker", true, w.Agree)
	if err != nil || !slices.Contains(out.Origins, w.Site.IdentityURL()) {
		t.Errorf("with it: %+v, %v", out, err)
	}
	w.WantCode(abi.ErrAuthExpired, "tracker_list", map[string]any{})
	if _, err := w.Host.Logout(t.Context(), "nosuch", false, w.Agree); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a connector that is not there: %v", err)
	}
}

func TestLoginTypesNothingWhereSomebodyIsSignedIn(t *testing.T) {
	w := tracker(t) // as alice
	in, err := w.Host.Login(t.Context(), "tracker", &host.FormLogin{Username: "bob", Password: "not-the-password"})
	if err != nil || !in.Already || in.Account != "alice" {
		t.Fatalf("login = %+v, %v; want alice, already signed in", in, err)
	}
	for _, r := range w.Site.Requests() {
		if strings.Contains(r.Body, "not-the-password") {
			t.Errorf("the password was sent: %s %s", r.Method, r.Target)
		}
	}
}
