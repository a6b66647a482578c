package registry

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func TestDetails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	f.publish("1.2.0")
	f.publish("1.3.0")
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.3.0", "broken"))
	first, err := f.client.Details(t.Context(), tracker) // of the copy: 1.0.0 alone
	if err != nil || first.Version.Version != "1.0.0" || first.Installed != nil || first.Older != 0 {
		t.Errorf("before the refresh: %+v, %v", first.Version, err)
	}
	files := f.files()
	f.revoke(Revocation{Artifacts: []string{hashOf(files[releasePath("acme", "tracker", "1.1.0")])}, Reason: "leaks"})
	f.refresh()
	d, err := f.client.Details(t.Context(), tracker)
	f.must(err)
	if d.Version.Version != "1.2.0" || d.Refused != nil || d.Release.Version != "1.2.0" || d.Registry.ID != "main" || d.Signer.Primary != f.publisher.Fingerprint() {
		t.Errorf("details: %+v", d)
	}
	if len(d.UserIDs) != 1 || !strings.Contains(d.UserIDs[0], "publisher") {
		t.Errorf("user ids are %q", d.UserIDs)
	}
	var history []string
	for _, p := range d.History {
		line := p.Version.Version
		if p.Yanked != "" {
			line += " yanked: " + p.Yanked
		}
		if e, ok := errors.AsType[*abi.Error](p.Refused); ok {
			line += " " + string(e.Reason)
		}
		history = append(history, line)
	}
	if want := []string{"1.3.0 yanked: broken", "1.2.0", "1.1.0 artifact_revoked", "1.0.0"}; !slices.Equal(history, want) {
		t.Errorf("history is %q, want %q", history, want)
	}
	// Versions that nobody would be given are told about when they are named.
	named := Ref{Namespace: "acme", Name: "tracker", Constraint: "1.3.0"}
	if d, err := f.client.Details(t.Context(), named); err != nil || d.Version.Yanked != "broken" || d.Release.Version != "1.3.0" {
		t.Errorf("the yanked version: %+v, %v", d.Version, err)
	}
	named.Constraint = "1.1.0"
	if d, err := f.client.Details(t.Context(), named); err != nil || len(d.History) != 4 || d.Release.Name != "" {
		t.Errorf("the revoked version: %+v, %v", d, err)
	} else {
		wantRefused(t, d.Refused, abi.ReasonArtifactRevoked)
	}
	for _, constraint := range []string{"9.0.0", "> 4"} {
		named.Constraint = constraint
		_, err := f.client.Details(t.Context(), named)
		e, ok := errors.AsType[*abi.Error](err)
		if !ok || e.Code != abi.ErrNotFound || !strings.Contains(e.Hint, "acme/tracker@VERSION: there is 1.2.0, ") || strings.Contains(e.Hint, "1.3.0") {
			t.Errorf("%q: %v, %+v", constraint, err, e)
		}
	}
	if _, err := f.client.Details(t.Context(), Ref{Namespace: "acme", Name: "none"}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a plugin that isn't there: %v", err)
	}
}

// What is installed is told about whatever became of its registry.
func TestDetailsOfWhatIsInstalled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	f.refresh()
	d, err := f.client.Details(t.Context(), tracker)
	if err != nil || d.Version.Version != "1.1.0" || d.Installed == nil || d.Installed.Version != "1.0.0" || d.Running == nil || d.Running.Version != "1.0.0" {
		t.Errorf("with an update: %+v, %v", d, err)
	}
	_, dir, err := f.client.registryState("main")
	f.must(err)
	f.must(os.RemoveAll(filepath.Join(dir, "git")))
	d, err = f.client.Details(t.Context(), tracker)
	if err != nil || d.Refused == nil || d.Release.Version != "1.0.0" {
		t.Errorf("without the registry's copy: %+v, %v", d, err)
	}
	store := f.client.store()
	f.must(os.Remove(store.path(d.Installed.Release.SHA256, extRelease)))
	if _, err = f.client.Details(t.Context(), tracker); err == nil {
		t.Error("nothing is left to tell about, and there is no error")
	}
}

func TestStandings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	standing := func() Standing {
		t.Helper()
		list, err := f.client.Standings(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	if list, err := f.client.Standings(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("nothing is installed: %+v, %v", list, err)
	}
	f.mustInstall(tracker)
	if s := standing(); s.Newest != nil || s.Channel != Stable || s.Yanked != "" || s.Revoked != nil || s.Problem != nil || s.Installed == nil {
		t.Errorf("the newest one: %+v", s)
	}
	beta := func(version string) {
		f.now = f.now.Add(time.Minute)
		s := f.submission(f.releaseOf(version), f.publisher)
		s.Channel = Beta
		f.must(f.m.Publish(t.Context(), f.keys, s))
		f.refresh()
	}
	beta("1.1.0")
	if s := standing(); s.Newest != nil {
		t.Errorf("a beta version is offered to who has a stable one: %+v", s.Newest)
	}
	f.publish("1.2.0")
	f.publish("1.3.0")
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.3.0", "broken"))
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.0.0", "old"))
	f.refresh()
	if s := standing(); s.Newest == nil || s.Newest.Version != "1.2.0" || s.Release == nil || s.Release.Version != "1.2.0" || s.Yanked != "old" {
		t.Errorf("an update, and a yank: %+v", s)
	}
	beta("1.4.0")
	f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Channel: Beta})
	if s := standing(); s.Newest != nil || s.Channel != Beta || s.Entry.Version != "1.4.0" {
		t.Errorf("a beta version: %+v", s)
	}
	beta("1.5.0")
	if s := standing(); s.Newest == nil || s.Newest.Version != "1.5.0" {
		t.Errorf("a newer beta version: %+v", s)
	}
	f.revoke(Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen"})
	f.refresh()
	s := standing()
	wantRefused(t, s.Revoked, abi.ReasonKeyRevoked)
	wantRefused(t, s.Problem, abi.ReasonKeyRevoked)
	if s.Release != nil {
		t.Error("a version by a revoked key is offered")
	}
}

func TestStandingWithoutTheRegistry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	_, dir, err := f.client.registryState("main")
	f.must(err)
	f.must(os.RemoveAll(filepath.Join(dir, "git")))
	list, err := f.client.Standings(t.Context())
	if err != nil || len(list) != 1 || list[0].Problem == nil || list[0].Installed == nil {
		t.Errorf("%+v, %v", list, err)
	}
}

// Every way in which what is installed can be wrong is found, and named.
func TestInspect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		damage func(f *fixture, e Entry)
		what   string // "" if all is well
		reason abi.Reason
	}{
		"nothing": {func(*fixture, Entry) {}, "", ""},
		"the registry expired": {func(f *fixture, _ Entry) {
			f.now = f.now.Add(30 * 24 * time.Hour)
		}, "", ""},
		"a bit of the module": {func(f *fixture, e Entry) { f.flip(e.Module.SHA256 + extModule) }, "module", abi.ReasonTampered},
		"the module is gone": {func(f *fixture, e Entry) {
			f.must(os.Remove(f.client.store().path(e.Module.SHA256, extModule)))
		}, "module", abi.ReasonTampered},
		"a bit of the release": {func(f *fixture, e Entry) { f.flip(e.Release.SHA256 + extRelease) }, "release", abi.ReasonTampered},
		"a bit of the version before": {func(f *fixture, e Entry) {
			f.flip(e.Previous.Module.SHA256 + extModule)
		}, "previous version", abi.ReasonTampered},
		"another signer in the lock": {func(f *fixture, e Entry) {
			f.relock(func(e *Entry) { e.Signer, e.Key = f.mallory.Fingerprint(), f.mallory.Fingerprint() })
		}, "signature", abi.ReasonUnknownKey},
		"another release under the version": {func(f *fixture, e Entry) {
			f.resign(func(files map[string][]byte) {
				path := indexPath("acme", "tracker")
				files[path] = edited(f.t, files[path], e.Release.SHA256, hashOf([]byte("other")))
			})
			f.refresh()
		}, "signature", abi.ReasonTampered},
		"the version is listed no more": {func(f *fixture, _ Entry) {
			f.resign(func(files map[string][]byte) { delete(files, indexPath("acme", "tracker")) })
			f.refresh()
		}, "signature", abi.ReasonUnsigned},
		"the signature is gone": {func(f *fixture, _ Entry) {
			f.resign(func(files map[string][]byte) { delete(files, signaturePath(releasePath("acme", "tracker", "1.1.0"))) })
			f.refresh()
		}, "signature", abi.ReasonUnsigned},
		"it is revoked": {func(f *fixture, e Entry) {
			f.revoke(Revocation{Artifacts: []string{e.Module.SHA256}, Reason: "leaks"})
			f.refresh()
		}, "revocations", abi.ReasonArtifactRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mustInstall(tracker)
			f.publish("1.1.0")
			tt.damage(f, f.mustInstall(tracker))
			list, err := f.client.Inspect(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			if list[0].OK() != (tt.what == "") {
				t.Errorf("it is found %v: %+v", list[0].OK(), list[0].Checks)
			}
			for _, c := range list[0].Checks {
				if c.What == tt.what {
					wantRefused(t, c.Err, tt.reason)
				} else if c.Err != nil && tt.what != "revocations" { // a revoked release is refused under its signature as well
					t.Errorf("%s: %v", c.What, c.Err)
				}
			}
		})
	}
}

// flip changes a bit of a file in the store.
func (f *fixture) flip(name string) {
	f.t.Helper()
	path := filepath.Join(f.client.store().dir, name)
	data, err := os.ReadFile(path)
	f.must(err)
	data[len(data)/2] ^= 1
	f.must(os.Remove(path))
	f.must(os.WriteFile(path, data, 0o400))
}

// relock changes the lock file's one entry.
func (f *fixture) relock(change func(*Entry)) {
	f.t.Helper()
	lock, err := readLock(f.client.lockPath())
	f.must(err)
	change(&lock.Plugins[0])
	f.must(lock.write(f.client.lockPath()))
}

func TestInspectNamesPlugins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	if list, err := f.client.Inspect(t.Context(), "acme/tracker"); err != nil || len(list) != 1 || !list[0].OK() {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := f.client.Inspect(t.Context(), "acme/none"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("one that isn't installed: %v", err)
	}
	f.must(os.WriteFile(f.client.lockPath(), []byte("{}"), 0o600))
	_, err := f.client.Inspect(t.Context())
	wantRefused(t, err, abi.ReasonMalformed)
}
