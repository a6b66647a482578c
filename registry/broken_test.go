package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// beside adds a second registry to the fixture's client: one that has acme/tracker
// too, or nothing at all. It can't be reached any more.
func (f *fixture) beside(hasIt bool) *fixture {
	f.t.Helper()
	g := &fixture{people: f.people, t: f.t, id: "aaa", origin: filepath.Join(f.t.TempDir(), "aaa.git"), now: f.now, keys: f.keys, client: f.client}
	var err error
	g.m, err = Init(f.t.Context(), g.origin, "aaa", g.keys, g.clock)
	f.must(err)
	if hasIt {
		f.must(g.m.AddPublisher(f.t.Context(), g.keys, "acme", g.publisher.Certificate()))
		g.publish("1.0.0")
	}
	f.now = g.now
	_, err = f.client.AddRegistry(f.t.Context(), g.origin, g.owner.Fingerprint())
	f.must(err)
	return g
}

// A registry that can't be read keeps no name of another one from being installed,
// unless it has that name, or nobody knows whether it has.
func TestBrokenRegistryBeside(t *testing.T) {
	t.Parallel()
	noCopy := func(dir string) error { return os.RemoveAll(filepath.Join(dir, "git")) }
	noState := func(dir string) error { return os.WriteFile(filepath.Join(dir, stateFile), []byte("{"), 0o600) }
	noNames := func(dir string) error { return os.Remove(filepath.Join(dir, namesFile)) }
	for name, c := range map[string]struct {
		hasIt   bool
		damages []func(dir string) error
		works   bool
	}{
		"no copy, and another's name":          {true, []func(string) error{noCopy}, false},
		"no copy":                              {false, []func(string) error{noCopy}, true},
		"no copy, and no names":                {false, []func(string) error{noCopy, noNames}, false},
		"a damaged state, and another's name":  {true, []func(string) error{noState}, false},
		"a damaged state":                      {false, []func(string) error{noState}, true},
		"a damaged state, and no names":        {false, []func(string) error{noState, noNames}, false},
		"a good copy needs no names":           {false, []func(string) error{noNames}, true},
		"a good copy without names has it all": {true, []func(string) error{noNames}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			g := f.beside(c.hasIt)
			dir := g.registryDir()
			for _, damage := range c.damages {
				f.must(damage(dir))
			}
			f.must(os.RemoveAll(g.origin))
			full, err := f.client.Complete(t.Context(), Ref{Name: "tracker"})
			_, err2 := f.install(tracker)
			if c.works {
				if err != nil || full.Plugin() != "acme/tracker" || err2 != nil {
					t.Fatalf("the name: %+v, %v; the install: %v", full, err, err2)
				}
				f.wantActive("1.0.0")
				return
			}
			for _, err := range []error{err, err2} {
				e, ok := errors.AsType[*abi.Error](err)
				if !ok || !strings.Contains(e.Hint, "drawbridge install main:acme/tracker") {
					t.Errorf("got %v, %+v", err, e)
				}
			}
			f.wantActive("")
			_, err = f.install(Ref{Registry: "main", Namespace: "acme", Name: "tracker"})
			f.must(err)
			f.wantActive("1.0.0")
		})
	}
}

// A registry that lists a name has it, also if what it lists can't be read.
func TestMalformedIndexBeside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	g := f.beside(true)
	g.resign(func(m map[string][]byte) { m[indexPath("acme", "tracker")] = []byte("{}") })
	_, err := f.client.Refresh(t.Context(), "aaa")
	f.must(err)
	_, err = f.install(tracker)
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || !errors.Is(err, abi.ErrInvalidArgs) || e.Hint != "drawbridge install aaa:acme/tracker, or drawbridge install main:acme/tracker" {
		t.Errorf("got %v, %+v", err, e)
	}
	found, refused, err := f.client.Search(t.Context(), Query{})
	if err != nil || len(found) != 1 || found[0].Registry != "main" || len(refused) != 1 {
		t.Errorf("found %+v, refused %+v, %v", found, refused, err)
	}
	_, err = f.install(Ref{Registry: "main", Namespace: "acme", Name: "tracker"})
	f.must(err)
}

// Whoever agrees is told which registry was not looked into, and a search says so.
func TestBrokenRegistryIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	g := f.beside(false)
	f.must(os.RemoveAll(filepath.Join(g.registryDir(), "git")))
	f.must(os.RemoveAll(g.origin))
	var told []Notice
	_, err := f.client.Install(t.Context(), tracker, InstallOptions{Consent: func(_ context.Context, r Review) error {
		told = r.Notices
		return nil
	}})
	f.must(err)
	if !slices.ContainsFunc(told, func(n Notice) bool { return n.Code == NoticeUnread && strings.Contains(n.Message, `"aaa"`) }) {
		t.Errorf("told %+v", told)
	}
	found, _, err := f.client.Search(t.Context(), Query{})
	if err == nil || len(found) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// A copy that can't be read is fetched anew, where that can be.
func TestBrokenCopyIsMended(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	g := f.beside(false)
	git := filepath.Join(g.registryDir(), "git")
	for name, damage := range map[string]func() error{
		"gone": func() error { return os.RemoveAll(git) },
		"empty objects": func() error {
			return errors.Join(os.RemoveAll(filepath.Join(git, "objects")), os.MkdirAll(filepath.Join(git, "objects"), 0o700))
		},
		"a damaged pack": func() error {
			packs, err := filepath.Glob(filepath.Join(git, "objects", "pack", "*.pack"))
			for _, p := range packs {
				err = errors.Join(err, os.Chmod(p, 0o600), os.Truncate(p, 40))
			}
			return err
		},
	} {
		f.must(damage())
		_, err := f.client.Refresh(t.Context(), "aaa")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := f.client.Offers(t.Context(), "aaa"); err != nil {
			t.Errorf("%s: it can't be read: %v", name, err)
		}
	}
	// An unqualified name makes do with that.
	f.must(os.RemoveAll(git))
	f.must(os.Remove(filepath.Join(g.registryDir(), namesFile)))
	f.mustInstall(tracker)
}

// So is whoever installs a name that a registry had which was removed: a shell that an
// agent drives may remove one.
func TestRemovedRegistryHadTheName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.beside(true)
	f.must(f.client.RemoveRegistry("aaa"))
	for _, ref := range []Ref{tracker, {Name: "tracker"}} {
		full, err := f.client.Complete(t.Context(), ref)
		f.must(err)
		var told []Notice
		_, err = f.client.Install(t.Context(), full, InstallOptions{Consent: func(_ context.Context, r Review) error {
			told = r.Notices
			return errors.New("no")
		}})
		if err == nil || !slices.ContainsFunc(told, func(n Notice) bool { return n.Code == NoticeRemoved && strings.Contains(n.Message, `"aaa"`) }) {
			t.Errorf("told %+v, %v", told, err)
		}
	}
	f.must(f.client.ForgetRegistry(f.remembered("aaa")))
	_, err := f.client.Install(t.Context(), tracker, InstallOptions{Consent: func(_ context.Context, r Review) error {
		if slices.ContainsFunc(r.Notices, func(n Notice) bool { return n.Code == NoticeRemoved }) {
			t.Errorf("told %+v", r.Notices)
		}
		return nil
	}})
	f.must(err)
}
