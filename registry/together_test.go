package registry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// publishWiki publishes a version of acme/wiki beside acme/tracker.
func (f *fixture) publishWiki(version string) {
	f.t.Helper()
	f.now = f.now.Add(time.Minute)
	text := strings.NewReplacer("name: tracker", "name: wiki", "id: tracker", "id: wiki").Replace(strings.Replace(manifest, "%s", version, 1))
	m, err := release.ParseManifest([]byte(text))
	f.must(err)
	r, err := release.Build(m, release.BuildInfo{Registry: f.id, Namespace: "acme", Module: wasmOf(version), Imports: []string{"read"}})
	f.must(err)
	f.must(f.m.Publish(f.t.Context(), f.keys, f.submission(r, f.publisher)))
}

// prepare prepares versions of plugins in the copy that a refresh brings.
func (f *fixture) prepare(names ...string) (ready []*Prepared) {
	f.t.Helper()
	_, err := f.client.Refresh(f.t.Context(), "main")
	f.must(err)
	for _, name := range names {
		ref, err := ParseRef("main:acme/" + name)
		f.must(err)
		p, err := f.client.Prepare(f.t.Context(), ref, InstallOptions{Consent: yes, AllowDowngrade: true})
		f.must(err)
		ready = append(ready, p)
	}
	return ready
}

func (f *fixture) versions() string {
	f.t.Helper()
	list, err := f.client.Installed()
	f.must(err)
	var names []string
	for _, e := range list {
		if l, err := f.client.Load(e.Plugin()); err != nil || l.Release.Version != e.Version {
			f.t.Errorf("%s is not whole: %v", e.Plugin(), err)
		}
		names = append(names, e.Name+"@"+e.Version)
	}
	return strings.Join(names, " ")
}

// Versions that were prepared become active together, beside what goes, by one
// writing of the lock file. What ends it before leaves all as it was.
func TestActivateAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishWiki("1.0.0")
	f.mustInstall(tracker)
	f.mustInstall(Ref{Namespace: "acme", Name: "wiki"})
	f.publish("1.1.0")
	f.publishWiki("1.1.0")
	ready := f.prepare("tracker@1.1.0", "wiki@1.1.0")
	if got := f.versions(); got != "tracker@1.0.0 wiki@1.0.0" {
		t.Errorf("prepared: %s", got)
	}
	broken := errors.New("the machine stops")
	writes := 0
	f.client.step = func(name string) error {
		if name == "lock" {
			writes++
			return broken
		}
		return nil
	}
	if err := f.client.ActivateAll(ready, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got := f.versions(); got != "tracker@1.0.0 wiki@1.0.0" {
		t.Errorf("ended before the lock file was written: %s", got)
	}
	f.client.step = func(name string) error {
		if name == "lock" {
			writes++
		}
		return nil
	}
	f.must(f.client.ActivateAll(ready, nil))
	if got := f.versions(); got != "tracker@1.1.0 wiki@1.1.0" || writes != 2 {
		t.Errorf("activated: %s, after %d writings of the lock file", got, writes)
	}
	ready = f.prepare("tracker@1.0.0")
	f.must(f.client.ActivateAll(ready, []string{"acme/wiki", "acme/none"}))
	if got := f.versions(); got != "tracker@1.0.0" {
		t.Errorf("one goes: %s", got)
	}
}

// What is no longer as it was when it was prepared is not activated, and neither is
// what stands beside it.
func TestActivateAllLooksAgain(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(f *fixture){
		"removed": func(f *fixture) { f.must(f.client.Uninstall("acme/tracker")) },
		"pinned":  func(f *fixture) { _, err := f.client.Pin("acme/tracker", true); f.must(err) },
		"of another owner's registry": func(f *fixture) {
			f.must(f.client.RemoveRegistry("main"))
			g := f.otherOwner()
			_, err := f.client.AddRegistry(f.t.Context(), g.origin, g.owner.Fingerprint())
			f.must(err)
		},
		"swept": func(f *fixture) { f.must(f.client.store().sweep(nil)) },
		"revoked": func(f *fixture) {
			f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf("1.1.0"))}})
			_, err := f.client.Refresh(f.t.Context(), "main")
			f.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.publishWiki("1.0.0")
			names := []string{"wiki"}
			if !strings.HasPrefix(name, "of another") { // there nothing else may have changed
				f.mustInstall(tracker)
				f.publish("1.1.0")
				names = append(names, "tracker@1.1.0")
			}
			ready := f.prepare(names...)
			meanwhile(f)
			if err := f.client.ActivateAll(ready, nil); err == nil {
				t.Error("it was activated")
			}
			if e, err := f.client.Named("wiki"); !errors.Is(err, abi.ErrNotFound) {
				t.Errorf("the other one was: %+v, %v", e, err)
			}
		})
	}
}

// What is refused is not prepared, and nothing is asked for that a person would
// have to answer.
func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	no := errors.New("no")
	refuse := func(context.Context, Review) error { return no }
	admit := func(context.Context, Review, []byte) error { return no }
	ref := Ref{Registry: "main", Namespace: "acme", Name: "tracker"}
	for name, tt := range map[string]struct {
		ref  Ref
		opts InstallOptions
	}{
		"nobody asked":     {ref, InstallOptions{}},
		"refused":          {ref, InstallOptions{Consent: refuse}},
		"not admitted":     {ref, InstallOptions{Consent: yes, Admit: admit}},
		"another registry": {Ref{Registry: "other", Namespace: "acme", Name: "tracker"}, InstallOptions{Consent: yes}},
		"no such version":  {Ref{Registry: "main", Namespace: "acme", Name: "tracker", Constraint: "=9.9.9"}, InstallOptions{Consent: yes}},
	} {
		if p, err := f.client.Prepare(t.Context(), tt.ref, tt.opts); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if files := f.onDisk(); len(files) != 0 {
		t.Errorf("kept: %q", files)
	}
}

// A change that came and went between the two steps has cleared up what was prepared:
// that is no damage, and nothing is installed.
func TestActivateAllAfterATidy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	ready := f.prepare("tracker")
	for _, pinned := range []bool{true, false} {
		_, err := f.client.Pin("acme/tracker", pinned)
		f.must(err)
	}
	lock, err := readLock(f.client.lockPath())
	f.must(err)
	f.must(f.client.enforce(lock))
	if err := f.client.ActivateAll(ready, nil); !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("activated: %v", err)
	}
	f.wantActive("1.0.0")
	f.must(f.client.ActivateAll(f.prepare("tracker"), nil))
	f.wantActive("1.1.0")
}
