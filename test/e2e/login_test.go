package e2e

import (
	"errors"
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
