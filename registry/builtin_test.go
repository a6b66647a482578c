package registry

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// carried makes of the fixture's registry, as it is now, what a program carries.
func (f *fixture) carried() *Builtin {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), "registry.bundle")
	_, err := f.m.repo.run(f.t.Context(), nil, "bundle", "create", "--quiet", path, "--all")
	f.must(err)
	data, err := os.ReadFile(path)
	f.must(err)
	return &Builtin{Bundle: data, ID: f.id, Pinned: f.owner.Fingerprint(), Snapshot: hashOf(f.files()[snapshotPath])}
}

// programWith is a client of a program that carries b, on a home; empty is a new one.
func (f *fixture) programWith(b *Builtin, home string) (*Client, *[]string) {
	f.t.Helper()
	if home == "" {
		home = filepath.Join(f.t.TempDir(), "home")
	}
	warnings := &[]string{}
	c, err := New(Config{Dir: home, Clock: f.clock, Builtin: b, Events: Events{
		Warning: func(_, message string) { *warnings = append(*warnings, message) },
	}})
	f.must(err)
	return c, warnings
}

// What the program carries is there on a new home, without any registry, and long
// after its snapshot's own date; how old it is, is said.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	b := f.carried()
	f.now = f.now.Add(100 * 24 * time.Hour)
	c, warnings := f.programWith(b, "")
	f.must(c.EnsureBuiltin(t.Context()))
	f.must(c.EnsureBuiltin(t.Context()))
	found, _, err := c.Search(t.Context(), Query{})
	if err != nil || len(found) != 1 || found[0].Plugin() != "acme/tracker" {
		t.Fatalf("found %+v, %v", found, err)
	}
	e, err := c.Install(t.Context(), tracker, InstallOptions{Consent: func(_ context.Context, r Review) error {
		if !slices.ContainsFunc(r.Notices, func(n Notice) bool { return n.Code == NoticeOld }) {
			t.Errorf("whoever agrees isn't told its age: %+v", r.Notices)
		}
		return nil
	}})
	if err != nil || e.Version != "1.0.0" {
		t.Fatalf("installed %+v, %v", e, err)
	}
	if all := strings.Join(*warnings, "\n"); !strings.Contains(all, "as of 2026-01-02") {
		t.Errorf("warnings:\n%s", all)
	}
	if l, err := c.Load("acme/tracker"); err != nil || !bytes.Equal(l.Wasm, wasmOf("1.0.0")) || len(l.Warnings) != 0 {
		t.Errorf("loaded %+v, %v", l.Entry, err)
	}
	list, err := c.Registries()
	if err != nil || len(list) != 1 || !list[0].Builtin {
		t.Errorf("registries %+v, %v", list, err)
	}
	// Nothing else is exempt: the same program, the same snapshot, by Git.
	g, _ := f.programWith(b, "")
	_, err = g.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	f.must(g.EnsureBuiltin(t.Context())) // the user's own registry of that id stays
	_, err = g.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	wantRefused(t, err, abi.ReasonSnapshotExpired, f.snapshot)
	if list, err := g.Registries(); err != nil || len(list) != 1 || list[0].Builtin {
		t.Errorf("registries %+v, %v", list, err)
	}
	// The owner's root ends it.
	f.now = f.now.Add(rootLife)
	c, _ = f.programWith(b, "")
	f.must(c.EnsureBuiltin(t.Context()))
	_, err = c.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	wantRefused(t, err, abi.ReasonSnapshotExpired)
}

// It is verified like any other registry.
func TestBuiltinIsVerified(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	b := f.carried()
	foreign := *b
	foreign.Pinned = f.mallory.Fingerprint()
	c, _ := f.programWith(&foreign, "")
	wantRefused(t, c.EnsureBuiltin(t.Context()), abi.ReasonUnknownKey)
	renamed := *b
	renamed.ID = "other"
	c, _ = f.programWith(&renamed, "")
	wantRefused(t, c.EnsureBuiltin(t.Context()), abi.ReasonWrongName)
	broken := *b
	broken.Bundle = bytes.Clone(b.Bundle[:len(b.Bundle)/2])
	c, _ = f.programWith(&broken, "")
	if err := c.EnsureBuiltin(t.Context()); err == nil {
		t.Error("half a bundle is taken")
	}
	if list, err := c.Registries(); err != nil || len(list) != 0 {
		t.Errorf("registries %+v, %v", list, err)
	}
	// Another snapshot than the one that the program knows expires with its date.
	f.must(f.m.Refresh(t.Context(), f.keys))
	other := f.carried()
	other.Snapshot = b.Snapshot
	c, _ = f.programWith(other, "")
	f.must(c.EnsureBuiltin(t.Context()))
	f.now = f.now.Add(15 * 24 * time.Hour)
	_, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	wantRefused(t, err, abi.ReasonSnapshotExpired, f.snapshot)
}

// A newer program brings newer connectors; going back to the older one takes
// nothing back, revocations least of all.
func TestBuiltinOfAnotherRelease(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	old := f.carried()
	home := filepath.Join(t.TempDir(), "home")
	c, _ := f.programWith(old, home)
	f.must(c.EnsureBuiltin(t.Context()))
	e, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	f.must(err)
	f.publish("1.1.0")
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Artifacts: []string{e.Module.SHA256}, Reason: "stolen"}))
	c, _ = f.programWith(f.carried(), home)
	f.must(c.EnsureBuiltin(t.Context()))
	_, err = c.Load("acme/tracker")
	wantRefused(t, err, abi.ReasonArtifactRevoked)
	if e, err = c.Install(t.Context(), tracker, InstallOptions{Consent: yes}); err != nil || e.Version != "1.1.0" {
		t.Errorf("installed %+v, %v", e, err)
	}
	c, _ = f.programWith(old, home)
	wantRefused(t, c.EnsureBuiltin(t.Context()), abi.ReasonSnapshotOlder, f.snapshot)
	if l, err := c.Load("acme/tracker"); err != nil || l.Entry.Version != "1.1.0" {
		t.Errorf("loaded %+v, %v", l.Entry, err)
	}
}

// A build with a key of its own leaves nothing behind, but for what is installed.
func TestBuiltinOfAnotherKey(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	first, second, third := newOrigin(t, "dev-one"), newOrigin(t, "dev-two"), newOrigin(t, "dev-three")
	c, _ := first.programWith(first.carried(), home)
	first.must(c.EnsureBuiltin(t.Context()))
	c, _ = second.programWith(second.carried(), home)
	second.must(c.EnsureBuiltin(t.Context()))
	if list, err := c.Registries(); err != nil || len(list) != 1 || list[0].ID != "dev-two" {
		t.Errorf("registries %+v, %v", list, err)
	}
	_, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	second.must(err)
	c, _ = third.programWith(third.carried(), home)
	third.must(c.EnsureBuiltin(t.Context()))
	if list, err := c.Registries(); err != nil || len(list) != 2 {
		t.Errorf("registries %+v, %v", list, err)
	}
	if _, err := c.Load("acme/tracker"); err != nil {
		t.Error(err)
	}
	// Without anything carried, nothing is done.
	c, _ = third.programWith(nil, "")
	third.must(c.EnsureBuiltin(t.Context()))
	if _, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("got %v, want not_found", err)
	}
}
