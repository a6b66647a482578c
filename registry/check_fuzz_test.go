package registry

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A hostile input is the seed of one choice after the other, the way in which the
// snapshot is made, and changes, each by its number in changes.
//
// What [Check] accepts, a client that trusts the base takes, with every version that
// is listed; nothing that the base lists has other bytes; and a maintainer can go on.
func FuzzCheck(f *testing.F) {
	long := os.Getenv("DRAWBRIDGE_LONG") != ""
	for i, c := range changes() {
		if long || !c.form || i%8 == 0 { // what a tree may look like, TestPolicyAlone says too
			f.Add(uint64(i), byte(i%sealedByAnother), []byte{byte(i)})
		}
	}
	if long {
		rng := rand.New(rand.NewPCG(4, 4))
		for range 1000 {
			ops := []byte{byte(rng.IntN(len(changes())))}
			for rng.IntN(3) == 0 {
				ops = append(ops, byte(rng.IntN(len(changes()))))
			}
			if !changes()[ops[0]].form {
				f.Add(rng.Uint64(), byte(rng.IntN(2*sealings)), ops)
			}
		}
	}
	w := newWorld(f, f.TempDir())
	f.Fuzz(func(t *testing.T, seed uint64, seal byte, ops []byte) {
		if len(ops) > 8 {
			return
		}
		w.try(t, seed, seal, ops)
	})
}

// A world is a registry that all of the fuzzing starts from, and a client of it.
type world struct {
	*fixture
	dir   string
	base  *hostile
	state *state // of the client
}

func newWorld(tb testing.TB, dir string) *world {
	tb.Helper()
	f := newOrigin(tb, "main")
	f.must(f.m.AddPublisher(tb.Context(), f.keys, "corp", f.owner2.Certificate()))
	f.publishAs("corp", "wiki", "1.0.0", f.owner2)
	beta := f.submission(f.releaseOf("1.1.0-rc.1"), f.publisher)
	beta.Channel = Beta
	f.must(f.m.Publish(tb.Context(), f.keys, beta))
	f.publish("1.1.0")
	f.publish("1.2.0")
	f.must(f.m.Yank(tb.Context(), f.keys, tracker, "1.1.0", "broken"))
	f.must(f.m.Revoke(tb.Context(), f.keys, Revocation{Versions: versions("1.2.0"), Reason: "evil"}))
	f.must(f.m.ChangeRoles(tb.Context(), Keys{[]Signer{f.owner, f.owner2}, f.keys.Snapshot, f.keys.Revocation},
		RoleChange{Owner: RoleEdit{Add: certs(f.owner2), Threshold: 1}}))
	waiting := f.submission(f.releaseOf("1.3.0"), f.publisher)
	f.tamper(func(m map[string][]byte) {
		m["connectors/acme/tracker/1.3.0.json"], m["connectors/acme/tracker/1.3.0.json.asc"] = waiting.Release, waiting.Signature
	})
	w := &world{fixture: f, dir: dir, base: &hostile{files: map[string]file{}, modules: map[string][]byte{}, tags: map[string][]byte{}}}
	for path, data := range f.files() {
		w.base.files[path] = file{modeFile, data}
	}
	for _, v := range []string{"1.0.0", "1.1.0-rc.1", "1.1.0", "1.2.0", "1.3.0"} {
		w.base.modules[hashOf(wasmOf(v))] = wasmOf(v)
	}
	f.now = f.now.Add(time.Hour)
	f.origin = filepath.Join(dir, "base.git")
	f.must(w.base.write(f.origin))
	c, err := New(Config{Dir: filepath.Join(dir, "home"), Clock: f.clock})
	f.must(err)
	_, err = c.AddRegistry(tb.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	w.state, _, err = c.registryState("main")
	f.must(err)
	return w
}

// try makes one hostile registry, and holds Check to its promise.
func (w *world) try(t *testing.T, seed uint64, seal byte, ops []byte) {
	t.Helper()
	w.t = t
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	w.must(os.Mkdir(tmp, 0o700))
	t.Setenv("TMPDIR", tmp)
	h := w.base.clone()
	h.w, h.rng = w, rand.New(rand.NewPCG(seed, uint64(seal)))
	names := h.change(seal, ops)
	origin := filepath.Join(dir, "hostile.git")
	w.must(h.write(origin))
	before := snapshotOf(t, w.dir, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := Check(ctx, CheckOptions{Source: origin, Ref: "main", Base: w.origin, Pinned: w.owner.Fingerprint(), Clock: w.clock})
	if ctx.Err() != nil {
		t.Fatalf("%v: it hangs", names)
	}
	if _, told := errors.AsType[*abi.Error](err); err != nil && !told {
		t.Errorf("%v: %v", names, err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("%v: it left %v", names, left)
	}
	if after := snapshotOf(t, w.dir, ""); !maps.Equal(after, before) {
		t.Errorf("%v: it changed the base", names)
	}
	if err != nil {
		t.Logf("%v: %v", names, err)
		return
	}
	t.Logf("%v: %s %v", names, r.Verdict, r.Problems[:min(2, len(r.Problems))])
	if r.Verdict == VerdictAccepted && !t.Failed() {
		w.wantSound(names, h, dir)
	}
}

// wantSound takes what was accepted into the registry, and looks at it as users do.
func (w *world) wantSound(names []string, h *hostile, dir string) {
	t := w.t
	for sha, data := range w.base.modules { // what the base has stays
		if _, ok := h.modules[sha]; !ok && h.tags[sha] == nil {
			h.modules[sha] = data
		}
	}
	merged := filepath.Join(dir, "merged.git")
	w.must(h.write(merged))
	home := filepath.Join(dir, "home")
	w.must(os.CopyFS(home, os.DirFS(filepath.Join(w.dir, "home"))))
	old, err := New(Config{Dir: home, Clock: w.clock})
	w.must(err)
	before, err := old.Registry("main")
	w.must(err)
	if _, err := old.SetRegistryURL(t.Context(), before, merged); err != nil {
		t.Fatalf("%v: accepted, and a client that knows the base says %v", names, err)
	}
	if e, err := old.Install(t.Context(), versions("=1.0.0")[0], InstallOptions{Consent: yes, Locked: true}); err != nil {
		t.Errorf("%v: accepted, and an install ends with %v", names, err)
	} else if data, ok, err := old.store().get(e.Module, extModule); err != nil || !ok || hashOf(data) != e.Module.SHA256 {
		t.Errorf("%v: what is installed is %v", names, err)
	}
	for _, pin := range []*signing.SecretKey{w.owner, w.owner2} {
		if _, err := w.newClient().AddRegistry(t.Context(), merged, pin.Fingerprint()); err != nil {
			t.Errorf("%v: accepted, and a new client says %v", names, err)
		}
	}
	repo := repository{merged, fromFile}
	w.must(old.verifyRef(t.Context(), repo, branch, w.state, func(cat *catalog) error {
		w.wantAll(names, h, cat)
		return nil
	}))
	if err := OpenMaintainer(merged, w.clock).Refresh(t.Context(), w.keys); err != nil {
		t.Errorf("%v: accepted, and a maintainer can't go on: %v", names, err)
	}
}

// wantAll looks at every version: those that the base lists, and those that are listed
// now.
func (w *world) wantAll(names []string, h *hostile, cat *catalog) {
	t := w.t
	for path, was := range w.base.files {
		var old Index
		if !strings.HasSuffix(path, "/index.json") || decode(path, was.data, &old) != nil {
			continue
		}
		x, err := cat.index(Ref{Namespace: old.Namespace, Name: old.Name})
		if err != nil {
			t.Errorf("%v: accepted, and %s is gone: %v", names, path, err)
			continue
		}
		for _, o := range old.Versions {
			if v, ok := x.find(o.Version); !ok || v.Release != o.Release || v.Published != o.Published {
				t.Errorf("%v: accepted, and %s@%s is %+v", names, path, o.Version, v)
			}
		}
	}
	for _, ref := range cat.plugins() {
		x, err := cat.index(ref)
		if err != nil {
			t.Errorf("%v: accepted, and %s says %v", names, ref.Plugin(), err)
			continue
		}
		for _, v := range x.Versions {
			r, err := cat.release(ref, v)
			if e, ok := errors.AsType[*abi.Error](err); ok && (e.Reason == abi.ReasonArtifactRevoked || e.Reason == abi.ReasonKeyRevoked) {
				continue
			}
			if err != nil {
				t.Errorf("%v: accepted, and %s@%s says %v", names, ref.Plugin(), v.Version, err)
				continue
			}
			if data, ok := h.modules[r.Module.SHA256]; ok && hashOf(data) != r.Module.SHA256 || !ok && hashOf(h.tags[r.Module.SHA256]) != r.Module.SHA256 {
				t.Errorf("%v: accepted, and the module of %s@%s isn't there", names, ref.Plugin(), v.Version)
			}
		}
	}
}

// paths lists the files that are there, sorted.
func (h *hostile) paths(suffix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h.files)), func(p string) bool { return !strings.HasSuffix(p, suffix) })
}
