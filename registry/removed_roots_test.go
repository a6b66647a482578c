package registry

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Roots before the one that a pinned key owns aren't looked at by whoever pins it. With
// a stranger's in their place nothing leads from the first owner to the next any more,
// and what was seen under the first holds all the same.
func TestRemovedUnderAnotherPinAndOtherRoots(t *testing.T) {
	t.Parallel()
	for name, seenRoots := range map[string]int{"the newest root": 2, "a root before the newest": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.handOver()
			old := f.files()
			next := Keys{[]Signer{f.owner2}, f.keys.Snapshot, f.keys.Revocation}
			f.now = f.now.Add(time.Hour)
			if seenRoots == 3 {
				f.must(f.m.ChangeRoles(t.Context(), next, RoleChange{}))
			}
			f.must(f.m.Refresh(t.Context(), next))
			f.refresh()
			f.must(f.client.RemoveRegistry("main"))
			maps.Copy(old, f.strangersRoot())
			f.replace(old)
			_, err := f.client.AddRegistry(t.Context(), f.origin, f.owner2.Fingerprint())
			wantRefused(t, err, abi.ReasonSnapshotOlder)
		})
	}
}

// Another owner's registry doesn't become the one that was removed by carrying its
// roots before its own.
func TestRemovedRootsAreNoDisguise(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.client.RemoveRegistry("main"))
	roots := map[string][]byte{}
	for _, path := range []string{"root/1.json", "root/1.json.asc", keyPath(f.owner.Fingerprint())} {
		roots[path] = f.files()[path]
	}
	g := f.otherOwner()
	g.must(g.m.ChangeRoles(t.Context(), g.keys, RoleChange{})) // a second root of its own
	g.tamper(func(m map[string][]byte) {
		maps.Copy(m, roots)
	})
	err := f.client.exclusive(func() error {
		from, err := parseAddress(g.origin)
		f.must(err)
		_, err = f.client.addRegistry(t.Context(), from, newState(g.origin, g.owner.Fingerprint()), &arrival{client: f.client, unattended: true})
		return err
	})
	wantRefused(t, err, abi.ReasonUnknownKey, f.owner, f.owner2)
}

// handOver makes owner2 the only owner.
func (f *fixture) handOver() {
	f.t.Helper()
	both := Keys{[]Signer{f.owner, f.owner2}, f.keys.Snapshot, f.keys.Revocation}
	f.must(f.m.ChangeRoles(f.t.Context(), both, RoleChange{Owner: RoleEdit{
		Add: []signing.Certificate{f.owner2.Certificate()}, Remove: []signing.Fingerprint{f.owner.Fingerprint()},
	}}))
}

// strangersRoot is a first root that mallory made.
func (f *fixture) strangersRoot() map[string][]byte {
	f.t.Helper()
	g := &fixture{people: f.people, t: f.t, id: f.id, now: f.now}
	g.keys = Keys{[]Signer{f.mallory}, []Signer{f.mallory}, []Signer{f.mallory}}
	var err error
	g.m, err = Init(f.t.Context(), filepath.Join(f.t.TempDir(), "stranger.git"), f.id, g.keys, g.clock)
	f.must(err)
	files := g.files()
	return map[string][]byte{"root/1.json": files["root/1.json"], "root/1.json.asc": files["root/1.json.asc"]}
}

// A record from before the roots were kept holds as far as the first owner's roots lead.
func TestRemovedWithoutRoots(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.handOver()
	old := f.files()
	f.now = f.now.Add(time.Hour)
	f.must(f.m.Refresh(t.Context(), Keys{[]Signer{f.owner2}, f.keys.Snapshot, f.keys.Revocation}))
	f.refresh()
	s, dir, err := f.client.registryState("main")
	f.must(err)
	s.Roots = nil
	f.must(s.write(filepath.Join(dir, stateFile)))
	f.must(f.client.RemoveRegistry("main"))
	f.replace(old)
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner2.Fingerprint())
	wantRefused(t, err, abi.ReasonSnapshotOlder)
}
