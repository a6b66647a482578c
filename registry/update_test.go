package registry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// publishBeta publishes a version for those who follow beta.
func (f *fixture) publishBeta(version string) {
	f.t.Helper()
	f.now = f.now.Add(time.Minute)
	s := f.submission(f.releaseOf(version), f.publisher)
	s.Channel = Beta
	f.must(f.m.Publish(f.t.Context(), f.keys, s))
}

// update returns what there is to update acme/tracker to.
func (f *fixture) update() Update {
	f.t.Helper()
	list, err := f.client.Updates(f.t.Context(), nil)
	f.must(err)
	if len(list) != 1 {
		f.t.Fatalf("%d updates of one plugin", len(list))
	}
	return list[0]
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	if u := f.update(); u.Newer() || u.Err != nil {
		t.Errorf("nothing is newer: %+v", u)
	}
	f.publish("1.1.0")
	u := f.update()
	if !u.Newer() || u.Review.Release.Version != "1.1.0" || u.Review.Previous == nil || u.Entry.Version != "1.0.0" {
		t.Fatalf("got %+v", u)
	}
	f.wantActive("1.0.0")
	e, err := f.client.Apply(t.Context(), u, InstallOptions{})
	f.must(err)
	if e.Version != "1.1.0" || e.Previous == nil {
		t.Errorf("entry %+v", e)
	}
	f.wantActive("1.1.0")
	if _, err := f.client.Apply(t.Context(), u, InstallOptions{}); !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("applied twice: %v", err)
	}
	if _, err := f.client.Updates(t.Context(), []string{"acme/other"}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a plugin that isn't installed: %v", err)
	}
}

// A registry that can't be reached, or whose snapshot has expired, is told per
// plugin, and what is installed goes on.
func TestUpdatesThatCannotBeTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.now = f.now.Add(snapshotLife)
	if u := f.update(); u.Newer() {
		t.Errorf("an update from an expired snapshot: %+v", u)
	} else {
		wantRefused(t, u.Err, abi.ReasonSnapshotExpired)
		if e, ok := errors.AsType[*abi.Error](u.Err); !ok || !strings.HasPrefix(e.Hint, "ask the owner of registry main for a newer snapshot") {
			t.Errorf("the hint: %+v", e)
		}
	}
	if list, err := f.client.Standings(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("standings %+v, %v", list, err)
	} else {
		wantRefused(t, list[0].Problem, abi.ReasonSnapshotExpired) // nobody knows what is newer
	}
	f.tamper(func(m map[string][]byte) { clear(m) })
	if u := f.update(); u.Newer() || u.Err == nil {
		t.Errorf("an update from an empty registry: %+v", u)
	}
	f.wantActive("1.0.0")
}

func TestYankedIsNoUpdate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.1.0", "broken"))
	if u := f.update(); u.Newer() || u.Err != nil {
		t.Errorf("got %+v", u)
	}
}

// What changes between the proposal and its yes is not installed.
func TestApplyLooksAgain(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(f *fixture){
		"removed": func(f *fixture) { f.must(f.client.Uninstall("acme/tracker")) },
		"updated": func(f *fixture) { f.mustInstall(tracker) },
		"yanked":  func(f *fixture) { f.must(f.m.Yank(f.t.Context(), f.keys, tracker, "1.1.0", "broken")); f.update() },
		"revoked": func(f *fixture) { f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf("1.1.0"))}}); f.update() },
		"expired": func(f *fixture) { f.now = f.now.Add(snapshotLife) },
		"key is bad": func(f *fixture) {
			f.revoke(Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}})
			f.update()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mustInstall(tracker)
			f.publish("1.1.0")
			u := f.update()
			meanwhile(f)
			if _, err := f.client.Apply(t.Context(), u, InstallOptions{}); err == nil {
				t.Error("it was installed")
			}
		})
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishBeta("1.1.0")
	if e := f.mustInstall(tracker); e.Version != "1.0.0" || e.Channel != "" {
		t.Errorf("without a channel: %+v", e)
	}
	if u := f.update(); u.Newer() {
		t.Errorf("a stable version is offered %q", u.Review.Release.Version)
	}
	if e := f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Channel: Beta}); e.Version != "1.1.0" || e.Channel != Beta {
		t.Errorf("beta: %+v", e)
	}
	f.publishBeta("1.2.0-rc.1")
	u := f.update()
	if !u.Newer() || u.Review.Release.Version != "1.2.0-rc.1" || u.Review.Channel != Beta {
		t.Fatalf("beta follows beta: %+v", u.Review)
	}
	e, err := f.client.Apply(t.Context(), u, InstallOptions{})
	f.must(err)
	if e.Channel != Beta {
		t.Errorf("after the update it follows %q", e.Channel)
	}
	// Back on stable: what is installed stays until stable has come up to it.
	if e := f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Channel: Stable}); e.Version != "1.2.0-rc.1" || e.Channel != "" {
		t.Errorf("back on stable: %+v", e)
	}
	f.publishBeta("1.3.0")
	if u := f.update(); u.Newer() {
		t.Errorf("stable is offered %q", u.Review.Release.Version)
	}
	f.publish("1.4.0")
	if u := f.update(); !u.Newer() || u.Review.Release.Version != "1.4.0" || u.Review.Channel != "" {
		t.Errorf("stable is not offered 1.4.0: %+v", u)
	}
	// One beta version by its number is followed by beta too.
	if e := f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Constraint: "1.3.0"}); e.Channel != Beta {
		t.Errorf("1.3.0 follows %q", e.Channel)
	}
}

// A version that was rolled back to stays until it is unpinned.
func TestPin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	e, err := f.client.Pin("acme/tracker", true)
	if err != nil || !e.Pinned {
		t.Fatalf("pinned: %+v, %v", e, err)
	}
	f.publish("1.1.0")
	if u := f.update(); !u.Newer() || !u.Entry.Pinned {
		t.Errorf("a pinned plugin's update is told: %+v", u)
	}
	if e := f.mustInstall(tracker); !e.Pinned || e.Previous.Pinned {
		t.Errorf("installed by hand it stays pinned: %+v", e)
	}
	if e, err = f.client.Pin("acme/tracker", false); err != nil || e.Pinned {
		t.Errorf("unpinned: %+v, %v", e, err)
	}
	if e, err = f.client.Rollback(t.Context(), "acme/tracker", InstallOptions{Consent: yes}); err != nil || !e.Pinned || e.Version != "1.0.0" {
		t.Errorf("rolled back: %+v, %v", e, err)
	}
	if _, err := f.client.Pin("acme/other", true); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("what isn't installed: %v", err)
	}
}

func TestRollbackAsks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	rollback := func(o InstallOptions) error {
		_, err := f.client.Rollback(t.Context(), "acme/tracker", o)
		return err
	}
	if err := rollback(InstallOptions{Consent: yes}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("nothing to go back to: %v", err)
	}
	if rollback(InstallOptions{}) == nil {
		t.Error("it rolls back without asking")
	}
	f.publish("1.1.0")
	f.mustInstall(tracker)
	no := errors.New("no")
	var seen Review
	err := rollback(InstallOptions{Consent: func(_ context.Context, r Review) error { seen = r; return no }})
	if !errors.Is(err, no) || seen.Release.Version != "1.0.0" || seen.Previous.Version != "1.1.0" || seen.Signer.Primary != f.publisher.Fingerprint() {
		t.Errorf("got %v, review %+v", err, seen)
	}
	f.wantActive("1.1.0")
	err = rollback(InstallOptions{Consent: yes, Admit: func(context.Context, Review, []byte) error { return no }})
	if !errors.Is(err, no) {
		t.Errorf("not admitted: %v", err)
	}
	f.wantActive("1.1.0")
	f.publish("1.2.0")
	meanwhile := func() { f.mustInstall(tracker) }
	err = rollback(InstallOptions{Consent: func(context.Context, Review) error { meanwhile(); return nil }})
	if !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("updated while the question was open: %v", err)
	}
	f.wantActive("1.2.0")
	e, err := f.client.Named("tracker")
	f.must(err)
	f.damage(e.Previous.Module.SHA256 + extModule)
	wantRefused(t, rollback(InstallOptions{Consent: yes}), abi.ReasonTampered)
	f.wantActive("1.2.0")
}

// An update over a version that was revoked says so.
func TestReviewOfWhatIsUnsound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	if u := f.update(); u.Review.Unsound != nil {
		t.Errorf("unsound: %v", u.Review.Unsound)
	}
	f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf("1.0.0"))}, Reason: "sends tickets elsewhere"})
	wantRefused(t, f.update().Review.Unsound, abi.ReasonArtifactRevoked)
	wantRefused(t, f.client.Standing(t.Context(), "acme/tracker"), abi.ReasonArtifactRevoked)
	if r, err := f.client.Release("acme/tracker"); err != nil || r.Version != "1.0.0" {
		t.Errorf("its release: %+v, %v", r, err)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	short := Ref{Name: "tracker", Constraint: "~> 1.0"}
	got, err := f.client.Complete(t.Context(), short)
	if want := (Ref{Registry: "main", Namespace: "acme", Name: "tracker", Constraint: "~> 1.0"}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := f.client.Complete(t.Context(), Ref{Name: "nowhere"}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a name that nobody has: %v", err)
	}
	other := newOrigin(t, "other")
	_, err = f.client.AddRegistry(t.Context(), other.origin, f.owner.Fingerprint())
	f.must(err)
	_, err = f.client.Complete(t.Context(), short)
	if !errors.Is(err, abi.ErrInvalidArgs) || !strings.Contains(err.Error(), "main:acme/tracker, other:acme/tracker") {
		t.Errorf("a name in two registries: %v", err)
	}
	if got, err := f.client.Complete(t.Context(), Ref{Registry: "other", Name: "tracker"}); err != nil || got.Registry != "other" {
		t.Errorf("in one registry: %+v, %v", got, err)
	}
	f.mustInstall(Ref{Registry: "main", Namespace: "acme", Name: "tracker"})
	if _, err = f.client.Complete(t.Context(), short); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("installed from one of two: %v", err)
	}
	for _, name := range []string{"tracker", "acme/tracker", "main:tracker", "tracker@1.0.0", "tracker@latest"} {
		if e, err := f.client.Named(name); err != nil || e.Plugin() != "acme/tracker" {
			t.Errorf("installed as %q: %+v, %v", name, e, err)
		}
	}
	for _, name := range []string{"other:tracker", "wiki", "zeta/tracker", "", "../x", "tracker@1.0.1", "tracker@beta"} {
		if e, err := f.client.Named(name); err == nil {
			t.Errorf("%q is %+v", name, e)
		}
	}
}

// A name that is looked for in a new snapshot, because no copy has it, is told
// from one whose registry can't be reached.
func TestCompleteOffline(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.tamper(func(m map[string][]byte) { clear(m) })
	_, err := f.client.Complete(t.Context(), Ref{Name: "wiki"})
	if err == nil || errors.Is(err, abi.ErrNotFound) && strings.Contains(err.Error(), "is called") {
		t.Errorf("got %v", err)
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Ref{
		"tracker":           {Name: "tracker"},
		"tracker@beta":      {Name: "tracker", Channel: Beta},
		"main:tracker@1.2.": {},
		"acme/tracker@beta": {Namespace: "acme", Name: "tracker", Channel: Beta},
		"a/b@stable":        {Namespace: "a", Name: "b", Channel: Stable},
		"main:x@~> 1":       {Registry: "main", Name: "x", Constraint: "~> 1"},
	} {
		got, err := ParseName(s)
		if got != want || (err != nil) != (want == Ref{}) {
			t.Errorf("%q: %+v, %v, want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "/x", "x/", "X", "a/b/c", ":x", "a@alpha", "x@"} {
		if got, err := ParseName(s); s != "x@" && !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%q is read as %+v (%v)", s, got, err)
		}
	}
}
