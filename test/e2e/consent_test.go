package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// An answer counts only for the settings that were shown: another one that was
// changed while the person read would be granted unseen.
func TestSettingsChangedWhileAPersonReads(t *testing.T) {
	w := harness.New(t, harness.Options{})
	w.Ready("connectors-src/tracker")
	install := func(set map[string]string, show func(host.Question) error) error {
		_, err := w.Host.Install(t.Context(), harness.Namespace+"/tracker", set, show, func(string) {})
		return err
	}
	meanwhile := func(q host.Question) error {
		if err := install(map[string]string{"base_url": "http://other.localhost:1"}, w.Agree); err != nil {
			t.Errorf("an install beside an open question: %v", err)
		}
		return w.Agree(q)
	}
	if err := install(map[string]string{"assets_url": "http://assets.localhost:1"}, meanwhile); !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("got %v, want confirmation_required", err)
	}
	if err := install(map[string]string{"base_url": w.Site.AppURL()}, w.Agree); err != nil {
		t.Fatal(err)
	}
	w.Login("tracker", "alice")
	harness.Result[issueList](w, "tracker_list", map[string]any{}) // with the assets' address as it was
}

// What can't be written down is not said to be: a caller is told to look where
// something stands.
func TestNoClaimOfAnAuditRow(t *testing.T) {
	w := tracker(t)
	if err := w.Audit.Close(); err != nil {
		t.Fatal(err)
	}
	before := len(comments(w, 12))
	res := w.CallApproved("tracker_add_comment", map[string]any{"id": 12, "body": "text"})
	if res.Err == nil || res.Err.Code != abi.ErrInternal || strings.Contains(res.Err.Msg, "in the audit log") ||
		!strings.Contains(res.Err.Msg, "audit log could not be written") || res.Err.Hint != "drawbridge logs" {
		t.Errorf("got %+v", res.Err)
	}
	if n := len(comments(w, 12)); n != before {
		t.Errorf("%d comments were written without a row before", n-before)
	}
}
