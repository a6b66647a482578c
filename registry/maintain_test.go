package registry

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	f.now = f.now.Add(time.Minute)
	other := f.releaseOf("1.1.0")
	other.Registry = "other"
	stranger := f.releaseOf("1.1.0")
	stranger.Namespace = "evil"
	wrong := f.submission(f.releaseOf("1.1.0"), f.publisher)
	wrong.Wasm = []byte("x")
	unsigned := f.submission(f.releaseOf("1.1.0"), f.publisher)
	unsigned.Signature = nil
	spaced := f.submission(f.releaseOf("1.1.0"), f.publisher)
	spaced.Release = append(spaced.Release, ' ')
	before := len(f.files())
	for name, c := range map[string]struct {
		s    Submission
		code error
	}{
		"other registry": {f.submission(other, f.publisher), abi.ErrUntrusted},
		"no publisher":   {f.submission(stranger, f.publisher), abi.ErrUntrusted},
		"stranger":       {f.submission(f.releaseOf("1.1.0"), f.mallory), abi.ErrUntrusted},
		"wrong module":   {wrong, abi.ErrUntrusted},
		"unsigned":       {unsigned, abi.ErrUntrusted},
		"not canonical":  {spaced, abi.ErrUntrusted},
		"same version":   {f.submission(f.releaseOf("1.0.0"), f.publisher), abi.ErrInvalidArgs},
		"lower version":  {f.submission(f.releaseOf("0.9.0"), f.publisher), abi.ErrInvalidArgs},
	} {
		if err := f.m.Publish(t.Context(), f.keys, c.s); !errors.Is(err, c.code) {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
	if n := len(f.files()); n != before {
		t.Errorf("%d files became %d", before, n)
	}
}

// What clients would refuse is not committed: one wrong key would put every user
// of a registry out of order.
func TestMaintainerHasTheRightKeys(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	f.now = f.now.Add(time.Minute)
	before := f.files()
	wrong := []Signer{f.mallory}
	release := f.submission(f.releaseOf("1.1.0"), f.publisher)
	for name, change := range map[string]func(Keys) error{
		"refresh":          func(k Keys) error { return f.m.Refresh(t.Context(), k) },
		"publish":          func(k Keys) error { return f.m.Publish(t.Context(), k, release) },
		"add publisher":    func(k Keys) error { return f.m.AddPublisher(t.Context(), k, "new", f.owner2.Certificate()) },
		"remove publisher": func(k Keys) error { return f.m.RemovePublisher(t.Context(), k, "acme", f.publisher.Fingerprint()) },
		"yank":             func(k Keys) error { return f.m.Yank(t.Context(), k, tracker, "1.0.0", "broken") },
		"revoke": func(k Keys) error {
			return f.m.Revoke(t.Context(), k, Revocation{Keys: []signing.Fingerprint{f.owner2.Fingerprint()}, Reason: "stolen"})
		},
	} {
		keysets := map[string]Keys{
			"snapshot": {f.keys.Owners, wrong, f.keys.Revocation}, "all": {wrong, wrong, wrong},
		}
		switch name {
		case "add publisher", "remove publisher":
			keysets["owner"] = Keys{wrong, f.keys.Snapshot, f.keys.Revocation}
		case "revoke":
			keysets["revocation"] = Keys{f.keys.Owners, f.keys.Snapshot, wrong}
		}
		for role, keys := range keysets {
			if err := change(keys); !errors.Is(err, abi.ErrUntrusted) {
				t.Errorf("%s with the wrong key as %s: %v", name, role, err)
			}
		}
	}
	if after := f.files(); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("a change with a wrong key was committed")
	}
	f.must(f.m.Publish(t.Context(), f.keys, release))
}

// A snapshot vouches for whatever stands beside it. So nothing is signed on top of
// what somebody else put onto the branch: by a merge, or on the server.
func TestNothingIsSignedOnTopOfATamperedState(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *fixture, m map[string][]byte){
		"index": func(_ *fixture, m map[string][]byte) { m[indexFile] = edited(t, m[indexFile], `"stable"`, `"beta"`) },
		"release": func(_ *fixture, m map[string][]byte) {
			m[releaseFile] = edited(t, m[releaseFile], "Tickets.", "Trickets")
		},
		"a release gone": func(_ *fixture, m map[string][]byte) { delete(m, releaseFile) },
		"certificate": func(f *fixture, m map[string][]byte) {
			m[keyPath(f.publisher.Fingerprint())] = f.mallory.Certificate().Armored()
		},
		"one more certificate": func(f *fixture, m map[string][]byte) {
			m[keyPath(f.mallory.Fingerprint())] = f.mallory.Certificate().Armored()
		},
		"namespace": func(f *fixture, m map[string][]byte) {
			m[spaceFile] = edited(t, m[spaceFile], string(f.publisher.Fingerprint()), string(f.mallory.Fingerprint()))
		},
		"one more plugin": func(_ *fixture, m map[string][]byte) {
			m["connectors/acme/other/index.json"] = edited(t, m[indexFile], `"tracker"`, `"other"`)
		},
		"revocations gone": func(_ *fixture, m map[string][]byte) { delete(m, revocationsPath) },
		"snapshot": func(_ *fixture, m map[string][]byte) {
			m[snapshotPath] = edited(t, m[snapshotPath], `"main"`, `"mail"`)
		},
		"snapshot gone": func(_ *fixture, m map[string][]byte) { delete(m, snapshotPath) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newOrigin(t, "main")
			f.tamper(func(m map[string][]byte) { change(f, m) })
			before := f.files()
			if err := f.m.Refresh(t.Context(), f.keys); !errors.Is(err, abi.ErrUntrusted) {
				t.Errorf("it is signed: %v", err)
			}
			if after := f.files(); !maps.EqualFunc(before, after, bytes.Equal) {
				t.Error("something was committed")
			}
		})
	}
}

// What is for people may change without a signature, and so may proposals.
func TestWhatNoSnapshotVouchesFor(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	f.tamper(func(m map[string][]byte) {
		m["README.md"] = []byte("# ours\n")
		m["connectors/acme/tracker/1.1.0.json"] = []byte("a proposal")
	})
	f.must(f.m.Refresh(t.Context(), f.keys))
	if string(f.files()["README.md"]) != "# ours\n" {
		t.Error("the README is gone")
	}
}

func TestYankAndBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	for name, err := range map[string]error{
		"no reason":        f.m.Yank(ctx, f.keys, tracker, "1.0.0", " "),
		"a long reason":    f.m.Yank(ctx, f.keys, tracker, "1.0.0", strings.Repeat("x", maxReason+1)),
		"no such version":  f.m.Yank(ctx, f.keys, tracker, "2.0.0", "broken"),
		"no such plugin":   f.m.Yank(ctx, f.keys, Ref{Namespace: "acme", Name: "none"}, "1.0.0", "broken"),
		"not yanked":       f.m.Unyank(ctx, f.keys, tracker, "1.0.0"),
		"nothing to undo":  f.m.Unyank(ctx, f.keys, tracker, "2.0.0"),
		"revoking nothing": f.m.Revoke(ctx, f.keys, Revocation{Reason: "evil"}),
		"no such revision": f.m.Revoke(ctx, f.keys, Revocation{Reason: "evil", Versions: []Ref{{Namespace: "acme", Name: "tracker", Constraint: "2.0.0"}}}),
		"no hash":          f.m.Revoke(ctx, f.keys, Revocation{Reason: "evil", Artifacts: []string{"x"}}),
		"no fingerprint":   f.m.Revoke(ctx, f.keys, Revocation{Reason: "evil", Keys: []signing.Fingerprint{"x"}}),
		"its own key":      f.m.Revoke(ctx, f.keys, Revocation{Reason: "evil", Keys: []signing.Fingerprint{f.snapshot.Fingerprint()}}),
	} {
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}
	f.must(f.m.Yank(ctx, f.keys, tracker, "1.0.0", "broken"))
	if _, err := f.install(tracker); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a yanked version: %v", err)
	}
	f.must(f.m.Unyank(ctx, f.keys, tracker, "1.0.0"))
	f.mustInstall(tracker)
	f.must(f.m.Revoke(ctx, f.keys, Revocation{Reason: "evil", Versions: []Ref{{Namespace: "acme", Name: "tracker", Constraint: "1.0.0"}}}))
	_, err := f.client.Refresh(ctx, "main")
	f.must(err)
	_, err = f.client.Load("acme/tracker")
	wantRefused(t, err, abi.ReasonArtifactRevoked, f.publisher)
	s, root, err := f.m.Latest(ctx)
	if err != nil || s.Version != 6 || root.Version != 1 || !s.Expires.Equal(f.now.Add(snapshotLife)) {
		t.Errorf("latest %+v, %+v, %v", s, root, err)
	}
}
