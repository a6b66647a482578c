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
	w := harness.New(t, harness.Options{NoSite: true})
	text := strings.NewReplacer("    base_url: https://one.example", `    settings: [{name: base_url, type: url, title: Address, required: true}, {name: more_url, type: url, title: Another, required: true}]
    base_url: "{base_url}"`, `["https://one.example/*"]`, `["{base_url}/*", "{more_url}/*"]`).Replace(string(tinyManifest("one")))
	w.Publish([]byte(text), tinyModule("one"))
	if err := w.AddRegistry(); err != nil {
		t.Fatal(err)
	}
	install := func(set map[string]string, show func(host.Question) error) error {
		_, err := w.Host.Install(t.Context(), "acme/one", set, show, func(string) {})
		return err
	}
	if err := install(map[string]string{"base_url": "https://a.example", "more_url": "https://b.example"}, w.Agree); err != nil {
		t.Fatal(err)
	}
	meanwhile := func(q host.Question) error {
		if err := install(map[string]string{"base_url": "https://evil.example"}, w.Agree); err != nil {
			t.Errorf("an install beside an open question: %v", err)
		}
		return w.Agree(q)
	}
	if err := install(map[string]string{"more_url": "https://c.example"}, meanwhile); !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("got %v, want confirmation_required", err)
	}
	// What was refused was not kept: the same asks again, and shows what is there now.
	shown := ""
	err := install(map[string]string{"more_url": "https://c.example"}, func(q host.Question) error {
		shown = strings.Join(q.Lines, "\n")
		return w.Agree(q)
	})
	if err != nil || !strings.Contains(shown, "https://evil.example") || !strings.Contains(shown, "https://c.example") {
		t.Errorf("%v, and it was shown:\n%s", err, shown)
	}
	wantAnswer(w, "one")
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
