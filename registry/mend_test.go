package registry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// wantHint compares an error's code and hint.
func wantHint(t *testing.T, err error, code abi.Code, hint string) {
	t.Helper()
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Code != code || e.Hint != hint {
		t.Errorf("got %+v, want %s with the hint %q", err, code, hint)
	}
}

// A revoked version's hint is a command that helps.
func TestHintOfWhatIsRevoked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	revoke := func(version string) {
		t.Helper()
		f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf(version))}, Reason: "evil"})
		_, err := f.client.Refresh(t.Context(), "main")
		f.must(err)
	}
	want := func(hint string) {
		t.Helper()
		_, err := f.client.Load("acme/tracker")
		wantHint(t, err, abi.ErrUntrusted, hint)
		wantHint(t, f.client.Standing(t.Context(), "acme/tracker"), abi.ErrUntrusted, hint)
		list, err := f.client.Inspect(t.Context())
		f.must(err)
		for _, c := range list[0].Checks {
			if c.What == "revocations" {
				wantHint(t, c.Err, abi.ErrUntrusted, hint)
			}
		}
	}
	f.publish("1.1.0")
	f.mustInstall(tracker)
	revoke("1.1.0")
	want("drawbridge rollback acme/tracker")
	f.publish("1.2.0")
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	want("drawbridge update acme/tracker")
	revoke("1.2.0")
	revoke("1.0.0")
	want("drawbridge remove acme/tracker, and ask the owner of registry main")
	_, err = f.client.Rollback(t.Context(), "acme/tracker", InstallOptions{Consent: yes})
	wantHint(t, err, abi.ErrUntrusted, "drawbridge remove acme/tracker, and ask the owner of registry main")
}

// Who follows stable versions is sent to another stable one, and is told when only
// beta ones are left.
func TestHintKeepsTheChannel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	f.mustInstall(tracker)
	f.now = f.now.Add(time.Minute)
	s := f.submission(f.releaseOf("1.2.0"), f.publisher)
	s.Channel = Beta
	f.must(f.m.Publish(t.Context(), f.keys, s))
	revoke := func(version string) error {
		t.Helper()
		f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf(version))}, Reason: "evil"})
		f.refresh()
		_, err := f.client.Load("acme/tracker")
		return err
	}
	wantHint(t, revoke("1.1.0"), abi.ErrUntrusted, "drawbridge remove acme/tracker && drawbridge install acme/tracker@1.0.0")
	err := revoke("1.0.0")
	wantHint(t, err, abi.ErrUntrusted, "drawbridge remove acme/tracker && drawbridge install acme/tracker@1.2.0")
	if err == nil || !strings.Contains(err.Error(), "only beta ones") {
		t.Errorf("it isn't told that this is a beta version: %v", err)
	}
}

// What is damaged is mended by the command of its hint, whatever became of it.
func TestMendInPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.mustInstall(tracker)
	_, err := f.client.Pin("acme/tracker", true)
	f.must(err)
	f.publish("1.1.0")
	f.damage(e.Module.SHA256 + extModule)
	_, err = f.client.Load("acme/tracker")
	wantHint(t, err, abi.ErrUntrusted, "drawbridge install acme/tracker@1.0.0")
	if back := f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Constraint: "1.0.0"}); !back.Pinned {
		t.Errorf("it isn't pinned any more: %+v", back)
	}
	f.wantActive("1.0.0")
}
