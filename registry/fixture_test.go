package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

var _ Signer = (*signing.SecretKey)(nil)

// epoch is when the keys of the tests were made; the fake clock starts a day later.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// people are the keys of the tests. Making one is slow on purpose, so they are
// shared; nothing changes them.
type people struct{ owner, owner2, snapshot, revoker, publisher, mallory *signing.SecretKey }

var everybody = sync.OnceValues(func() (people, error) {
	var p people
	made := make(chan error)
	all := map[string]**signing.SecretKey{
		"owner": &p.owner, "owner2": &p.owner2, "snapshot": &p.snapshot,
		"revoker": &p.revoker, "publisher": &p.publisher, "mallory": &p.mallory,
	}
	for name, slot := range all {
		go func() {
			k, err := newKey(name, epoch)
			*slot = k
			made <- err
		}()
	}
	var errs []error
	for range all {
		errs = append(errs, <-made)
	}
	return p, errors.Join(errs...)
})

func newKey(name string, made time.Time) (*signing.SecretKey, error) {
	pass := func(signing.Fingerprint) ([]byte, error) { return []byte("passphrase"), nil }
	armored, err := signing.GenerateKey(name, made, pass)
	if err != nil {
		return nil, err
	}
	return signing.OpenSecretKey(armored, pass)
}

// A fixture is a registry with one plugin, acme/tracker 1.0.0, and a client that
// has added it.
type fixture struct {
	people
	t      testing.TB
	id     string // of the registry
	origin string // the registry's bare repository
	m      *Maintainer
	keys   Keys
	client *Client
	now    time.Time
}

var tracker = Ref{Namespace: "acme", Name: "tracker"}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := newOrigin(t, "main")
	home := templateOf(t, "a client of main", func(dir string) time.Time {
		c, err := New(Config{Dir: dir, Clock: f.clock})
		f.must(err)
		_, err = c.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
		f.must(err)
		return f.now
	})
	f.client = f.newClient()
	f.must(home.copyTo(f.client.cfg.Dir))
	s, dir, err := f.client.registryState("main")
	f.must(err)
	s.URL = f.origin
	f.must(s.write(filepath.Join(dir, stateFile)))
	return f
}

// newOrigin makes the registry alone.
func newOrigin(tb testing.TB, id string) *fixture {
	tb.Helper()
	p, err := everybody()
	if err != nil {
		tb.Fatal(err)
	}
	f := &fixture{people: p, t: tb, id: id, origin: filepath.Join(tb.TempDir(), "origin.git")}
	f.keys = Keys{[]Signer{f.owner}, []Signer{f.snapshot}, []Signer{f.revoker}}
	made := templateOf(tb, id, func(dir string) time.Time {
		g := *f
		g.init(dir)
		return g.now
	})
	f.m, f.now = OpenMaintainer(f.origin, f.clock), made.now
	f.must(os.MkdirAll(f.origin, 0o700))
	f.must(made.copyTo(f.origin))
	return f
}

// init makes the registry that every test begins with.
func (f *fixture) init(dir string) {
	f.t.Helper()
	var err error
	f.now = epoch.Add(24 * time.Hour)
	f.m, err = Init(f.t.Context(), dir, f.id, f.keys, f.clock)
	f.must(err)
	f.must(f.m.AddPublisher(f.t.Context(), f.keys, "acme", f.publisher.Certificate()))
	f.publish("1.0.0")
}

func (f *fixture) clock() time.Time { return f.now }

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) newClient() *Client {
	f.t.Helper()
	c, err := New(Config{Dir: filepath.Join(f.t.TempDir(), "home"), Clock: f.clock})
	f.must(err)
	return c
}

func wasmOf(version string) []byte { return []byte("\x00asm module of " + version) }

const manifest = `
name: tracker
version: %s
category: connector
title: Tracker
description: Tickets.
connectors:
  - id: tracker
    title: Tracker
    base_url: https://tracker.example
    origins: ["https://tracker.example/*"]
    pages:
      signed_in: [{selector: .account}]
      signed_out: [{path: /login}]
    tools:
      - name: list
        title: List
        description: Lists tickets.
        destructive: false
        capabilities: [read]
        input: {type: object, additionalProperties: false}
        output: {type: object}
        reads: [{method: GET, path: /tickets}]
`

// releaseOf returns a release of acme/tracker as its author would make it.
func (f *fixture) releaseOf(version string) abi.Release {
	f.t.Helper()
	m, err := release.ParseManifest(fmt.Appendf(nil, manifest, version))
	f.must(err)
	r, err := release.Build(m, release.BuildInfo{
		Registry: f.id, Namespace: "acme", Module: wasmOf(version), Imports: []string{"read"},
	})
	f.must(err)
	return r
}

// submission signs a release.
func (f *fixture) submission(r abi.Release, by Signer) Submission {
	f.t.Helper()
	data, err := release.Canonical(r)
	f.must(err)
	sig, err := by.Sign(data, f.now)
	f.must(err)
	return Submission{Release: data, Signature: sig, Wasm: wasmOf(r.Version)}
}

// publish publishes a version a minute after the last event.
func (f *fixture) publish(version string) {
	f.t.Helper()
	f.now = f.now.Add(time.Minute)
	f.must(f.m.Publish(f.t.Context(), f.keys, f.submission(f.releaseOf(version), f.publisher)))
}

// registryDir is what the client keeps of the registry.
func (f *fixture) registryDir() string {
	f.t.Helper()
	_, dir, err := f.client.registryState(f.id)
	f.must(err)
	return dir
}

func yes(context.Context, Review) error { return nil }

func (f *fixture) install(ref Ref) (Entry, error) {
	return f.client.Install(f.t.Context(), ref, InstallOptions{Consent: yes})
}

func (f *fixture) mustInstall(ref Ref) Entry {
	f.t.Helper()
	e, err := f.install(ref)
	f.must(err)
	return e
}

// resign changes files and signs a new snapshot over them: what somebody with the
// snapshot keys alone can do.
func (f *fixture) resign(change func(files map[string][]byte)) {
	f.t.Helper()
	f.must(f.m.change(f.t.Context(), f.keys, "test", func(e *edit) error {
		change(e.files)
		return nil
	}))
}

// tamper changes files and signs nothing: what whoever hosts the repository can do.
func (f *fixture) tamper(change func(files map[string][]byte)) {
	f.t.Helper()
	e, err := f.m.load(f.t.Context(), branch, f.keys)
	f.must(err)
	change(e.files)
	f.commitRaw(e)
}

func (f *fixture) commitRaw(e *edit) {
	f.t.Helper()
	_, err := f.m.repo.run(f.t.Context(), bytes.NewReader(e.stream(branch, "tampered")), "fast-import", "--quiet", "--date-format=raw", "--force")
	f.must(err)
}

// files returns a copy of the registry's files.
func (f *fixture) files() map[string][]byte {
	f.t.Helper()
	e, err := f.m.load(f.t.Context(), branch, f.keys)
	f.must(err)
	return e.files
}

// replace puts the registry back to an older state of its files.
func (f *fixture) replace(old map[string][]byte) {
	f.tamper(func(files map[string][]byte) {
		clear(files)
		maps.Copy(files, old)
	})
}

// edited changes a document's text, keeping it canonical.
func edited(tb testing.TB, data []byte, old, replacement string) []byte {
	tb.Helper()
	if !bytes.Contains(data, []byte(old)) {
		tb.Fatalf("%s doesn't hold %s", data, old)
	}
	return bytes.Replace(data, []byte(old), []byte(replacement), 1)
}

// wantRefused checks that err is a refusal with a reason that names a key.
func wantRefused(tb testing.TB, err error, reason abi.Reason, keys ...*signing.SecretKey) {
	tb.Helper()
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != abi.ErrUntrusted || e.Reason != reason {
		tb.Errorf("got %v (%+v), want untrusted with reason %q", err, e, reason)
		return
	}
	for _, k := range keys {
		if !strings.Contains(err.Error(), string(k.Fingerprint())) {
			tb.Errorf("%q doesn't name key %s", err, k.Fingerprint())
		}
	}
}

// wantActive checks which version is installed and that it loads.
func (f *fixture) wantActive(version string) {
	f.t.Helper()
	l, err := f.client.Load("acme/tracker")
	if version == "" {
		if !errors.Is(err, abi.ErrNotFound) {
			f.t.Errorf("something is installed: %+v, %v", l.Entry, err)
		}
		return
	}
	if err != nil {
		f.t.Errorf("loading: %v", err)
		return
	}
	if l.Entry.Version != version || !bytes.Equal(l.Wasm, wasmOf(version)) || l.Release.Version != version {
		f.t.Errorf("active is %q with module %q, want %q", l.Entry.Version, l.Wasm, version)
	}
}

// onDisk lists the store.
func (f *fixture) onDisk() []string {
	f.t.Helper()
	list, err := filepath.Glob(filepath.Join(f.client.cfg.Dir, "store", "*"))
	f.must(err)
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	slices.Sort(list)
	return list
}
