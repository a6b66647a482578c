package registry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The address from which a registry was moved away is free for another one.
func TestOldAddressIsFree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	other := filepath.Join(t.TempDir(), "mirror.git")
	_, err := f.client.Mirror(t.Context(), "main", other, Mirroring{})
	f.must(err)
	_, err = f.move(other)
	f.must(err)
	g := newOrigin(t, "second")
	f.must(os.RemoveAll(f.origin))
	f.must(os.CopyFS(f.origin, os.DirFS(g.origin)))
	_, err = f.client.AddRegistry(t.Context(), f.origin, g.owner.Fingerprint())
	f.must(err)
	if _, err := f.client.AddRegistry(t.Context(), other, f.owner.Fingerprint()); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("the address that is in use: %v", err)
	}
	f.wantActive("1.0.0")
	list, err := f.client.Registries()
	if err != nil || len(list) != 2 || list[0].URL != other || list[1].URL != f.origin {
		t.Errorf("registries %+v, %v", list, err)
	}
}

// A home whose directories are named by their first address goes on as it is, also
// after a move.
func TestHomeNamedByAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	named := filepath.Join(f.client.cfg.Dir, "registries", hashOf([]byte(f.origin))[:32])
	made := f.registryDir()
	f.must(os.CopyFS(named, os.DirFS(made)))
	f.must(os.RemoveAll(made))
	f.publish("1.1.0")
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	if got := f.registryDir(); got != named {
		t.Errorf("it is in %q, not in %q", got, named)
	}
	f.mustInstall(tracker)
	f.wantActive("1.1.0")
	if _, err := f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint()); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("adding twice: %v", err)
	}
	second := newOrigin(t, "second")
	other := filepath.Join(t.TempDir(), "mirror.git")
	_, err = f.client.Mirror(t.Context(), "main", other, Mirroring{})
	f.must(err)
	_, err = f.move(other)
	f.must(err)
	f.must(os.RemoveAll(f.origin))
	f.must(os.CopyFS(f.origin, os.DirFS(second.origin)))
	_, err = f.client.AddRegistry(t.Context(), f.origin, second.owner.Fingerprint())
	f.must(err)
	f.wantActive("1.1.0")
}

// What an add that was killed left behind goes with the next one.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	left := filepath.Join(f.client.cfg.Dir, "registries", "r-1", "git")
	f.must(os.MkdirAll(left, 0o700))
	g := newOrigin(t, "second")
	_, err := f.client.AddRegistry(t.Context(), g.origin, g.owner.Fingerprint())
	f.must(err)
	if _, err := os.Stat(filepath.Dir(left)); !isMissing(err) {
		t.Errorf("it is there: %v", err)
	}
	f.mustInstall(Ref{Registry: "main", Namespace: "acme", Name: "tracker"})
}

// A yes to a move counts for what was shown: an address and an owner.
func TestMoveWhileAPersonReads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(f *fixture)
		want      error // nil: it is moved
	}{
		"nothing": {func(*fixture) {}, nil},
		"a newer snapshot": {func(f *fixture) {
			f.now = f.now.Add(time.Minute)
			f.must(f.m.Refresh(f.t.Context(), f.keys))
			_, err := f.client.Refresh(f.t.Context(), "main")
			f.must(err)
			_, err = f.client.Mirror(f.t.Context(), "main", f.mirror(), Mirroring{})
			f.must(err)
		}, nil},
		"another move": {func(f *fixture) {
			second := filepath.Join(f.t.TempDir(), "second.git")
			_, err := f.client.Mirror(f.t.Context(), "main", second, Mirroring{})
			f.must(err)
			_, err = f.move(second)
			f.must(err)
		}, abi.ErrConfirmationRequired},
		"it is removed":   {func(f *fixture) { f.must(f.client.RemoveRegistry("main")) }, abi.ErrNotFound},
		"it is forgotten": {func(f *fixture) { f.must(f.client.ForgetRegistry(f.remembered("main"))) }, abi.ErrNotFound},
		"it is another owner's": {func(f *fixture) {
			f.must(f.client.RemoveRegistry("main"))
			g := f.otherOwner()
			_, err := f.client.AddRegistry(f.t.Context(), g.origin, g.owner.Fingerprint())
			f.must(err)
		}, abi.ErrConfirmationRequired},
		"it is removed and added from the same place": {func(f *fixture) {
			f.must(f.client.RemoveRegistry("main"))
			_, err := f.client.AddRegistry(f.t.Context(), f.origin, f.owner.Fingerprint())
			f.must(err)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			_, err := f.client.Mirror(t.Context(), "main", f.mirror(), Mirroring{})
			f.must(err)
			shown, err := f.client.Registry("main")
			f.must(err)
			c.meanwhile(f)
			before, _ := f.client.Registry("main")
			r, err := f.client.SetRegistryURL(t.Context(), shown, f.mirror())
			if !errors.Is(err, c.want) {
				t.Fatalf("got %+v, %v, want %v", r, err, c.want)
			}
			if now, _ := f.client.Registry("main"); c.want != nil && now != before || c.want == nil && now.URL != f.mirror() {
				t.Errorf("it is %+v, and was %+v", now, before)
			}
		})
	}
}

// mirror is where a test keeps a mirror of the fixture's registry.
func (f *fixture) mirror() string { return filepath.Join(filepath.Dir(f.origin), "mirror.git") }

// A mirror that was named for one run is not a registry's address afterwards: a path
// of another machine is no address here, until a person gives one.
func TestMirrorOfOneRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	data, sig := f.teamLock("support", 1, f.mallory)
	mirrors := t.TempDir()
	_, err := f.client.Mirror(t.Context(), "main", filepath.Join(mirrors, "main.git"), Mirroring{})
	f.must(err)
	c := f.another("support", f.mallory)
	f.must(f.syncWith(WithMirrors(t.Context(), mirrors), c, data, sig))
	f.must(f.syncWith(WithMirrors(t.Context(), mirrors), c, data, sig))
	r, err := c.Registry("main")
	if err != nil || r.URL != f.origin || !r.Elsewhere {
		t.Errorf("the registry is %+v, %v", r, err)
	}
	for name, use := range map[string]func() error{
		"refresh": func() error { _, err := c.Refresh(t.Context(), "main"); return err },
		"reach":   func() error { return c.Reach(t.Context(), "main") },
		"mirror": func() error {
			_, err := c.Mirror(t.Context(), "main", filepath.Join(t.TempDir(), "m.git"), Mirroring{})
			return err
		},
		"install": func() error { _, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes}); return err },
	} {
		err := use()
		e, ok := errors.AsType[*abi.Error](err)
		if !ok || e.Code != abi.ErrForbidden || !strings.Contains(e.Hint, "drawbridge registry set-url main URL") {
			t.Errorf("%s: %v, %+v", name, err, e)
		}
	}
	if l, err := c.Load("acme/tracker"); err != nil || l.Entry.Version != "1.0.0" {
		t.Errorf("what is installed runs: %+v, %v", l.Entry, err)
	}
	// The same lock file can be made of it, as the team has it.
	l, err := c.DraftTeamLock(t.Context(), "support", 2, func(string) (map[string]string, error) { return nil, nil })
	if err != nil || l.Registries[0].URL != f.origin {
		t.Errorf("drafted %+v, %v", l, err)
	}
	// Gone and back, it is as it was.
	f.must(c.Uninstall("acme/tracker"))
	f.must(c.RemoveRegistry("main"))
	f.must(f.syncWith(WithMirrors(t.Context(), mirrors), c, data, sig))
	shown, err := c.Registry("main")
	if err != nil || !shown.Elsewhere {
		t.Errorf("the registry is %+v, %v", shown, err)
	}
	_, err = c.SetRegistryURL(t.Context(), shown, f.origin)
	f.must(err)
	_, err = c.Refresh(t.Context(), "main")
	f.must(err)
}
