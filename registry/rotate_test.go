package registry

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func TestRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	// A thief of the snapshot key signs a version that can't be topped.
	f.must(f.m.change(t.Context(), f.keys, "thief", func(e *edit) error {
		var s Snapshot
		f.must(decode(snapshotPath, e.files[snapshotPath], &s))
		s.Version = 1 << 52
		_, err := e.put(snapshotPath, &s)
		return err
	}))
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	fresh := Keys{[]Signer{f.owner2}, []Signer{f.owner2}, []Signer{f.revoker}}
	handover := Keys{[]Signer{f.owner, f.owner2}, fresh.Snapshot, fresh.Revocation}
	f.must(f.m.ChangeRoles(t.Context(), handover, RoleChange{
		Owner:    RoleEdit{Add: []signing.Certificate{f.owner2.Certificate()}, Remove: []signing.Fingerprint{f.owner.Fingerprint()}},
		Snapshot: RoleEdit{Add: []signing.Certificate{f.owner2.Certificate()}, Remove: []signing.Fingerprint{f.snapshot.Fingerprint()}},
		Restart:  true,
	}))
	r, err := f.client.Refresh(t.Context(), "main")
	if err != nil || r.Snapshot > 10 {
		t.Fatalf("after the rotation: %+v, %v", r, err)
	}
	f.keys = fresh
	f.publish("1.1.0")
	f.mustInstall(tracker)
	f.wantActive("1.1.0")
	for name, pinned := range map[string]*signing.SecretKey{"old owner": f.owner, "new owner": f.owner2} {
		if _, err := f.newClient().AddRegistry(t.Context(), f.origin, pinned.Fingerprint()); err != nil {
			t.Errorf("pinning the %s: %v", name, err)
		}
	}
	f.tamper(func(m map[string][]byte) { delete(m, "root/2.json") })
	_, err = f.client.Refresh(t.Context(), "main")
	wantRefused(t, err, abi.ReasonSnapshotOlder, f.owner)
}

// A thief of the branch makes a root of their own: no client takes it, and no
// maintainer signs on top of it.
func TestRotationWithoutTheOldOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stolen := Keys{[]Signer{f.mallory}, []Signer{f.mallory}, []Signer{f.mallory}}
	e, err := f.m.load(t.Context(), branch, stolen)
	f.must(err)
	f.must(e.addRoot(f.id, 2, stolen.Owners))
	f.must(e.sign(revocationsPath, e.files[revocationsPath], stolen.Revocation))
	f.must(e.addSnapshot())
	wantRefused(t, e.vouched(), abi.ReasonUnknownKey)
	f.commitRaw(e)
	_, err = f.client.Refresh(t.Context(), "main")
	wantRefused(t, err, abi.ReasonUnknownKey, f.owner, f.mallory)
	wantRefused(t, f.m.Refresh(t.Context(), f.keys), abi.ReasonUnknownKey, f.owner)
}

func TestOwnerThreshold(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	dir := t.TempDir()
	two := Keys{[]Signer{f.owner, f.owner2}, []Signer{f.snapshot}, []Signer{f.revoker}}
	m, err := Init(t.Context(), dir, "main", two, f.clock)
	f.must(err)
	if _, err := f.newClient().AddRegistry(t.Context(), dir, f.owner.Fingerprint()); err != nil {
		t.Errorf("two of two: %v", err)
	}
	f.m = m
	f.signAs(f.owner, "root/1.json")
	_, err = f.newClient().AddRegistry(t.Context(), dir, f.owner.Fingerprint())
	wantRefused(t, err, abi.ReasonUnsigned, f.owner, f.owner2)
}

func certs(keys ...*signing.SecretKey) (list []signing.Certificate) {
	for _, k := range keys {
		list = append(list, k.Certificate())
	}
	return list
}

// shown is the commit of the pending change.
func (f *fixture) shown() string {
	f.t.Helper()
	id, err := f.m.repo.commitOf(f.t.Context(), pendingRef)
	f.must(err)
	return id
}

// Owners who sit in different places: one proposes, the other completes, and until
// then nothing is in force.
func TestRotationByTwo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := Keys{Owners: []Signer{f.owner}, Snapshot: []Signer{f.snapshot}, Revocation: []Signer{f.revoker}}
	f.must(f.m.ChangeRoles(t.Context(), Keys{[]Signer{f.owner, f.owner2}, one.Snapshot, one.Revocation},
		RoleChange{Owner: RoleEdit{Add: certs(f.owner2), Threshold: 2}}))
	before := f.files()
	add := func(m *Maintainer) error {
		return m.AddPublisher(t.Context(), one, "corp", f.mallory.Certificate())
	}
	wantRefused(t, add(f.m), abi.ReasonUnknownKey, f.owner2)
	f.must(add(f.m.Partial()))
	if len(f.files()) != len(before) {
		t.Error("half a change is in force")
	}
	pending, err := f.m.Pending(t.Context())
	f.must(err)
	if len(pending.Missing) != 1 || pending.Missing[0].Path != "namespaces/corp.json" || pending.Missing[0].Need != 2 ||
		!slices.Equal(pending.Missing[0].Keys, []signing.Fingerprint{f.owner2.Fingerprint()}) || pending.Changes[0].Kind != ChangePublisherAdded {
		t.Errorf("pending %+v", pending)
	}
	for _, k := range []Signer{f.owner, f.mallory, f.revoker} {
		if _, err := f.m.Sign(t.Context(), Keys{Owners: []Signer{k}}, f.shown()); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("a signature that isn't missing: %v", err)
		}
	}
	done, err := f.m.Sign(t.Context(), Keys{Owners: []Signer{f.owner2}}, f.shown())
	if err != nil || !done.Complete || len(done.Missing) != 0 {
		t.Errorf("the second signature: %+v, %v", done, err)
	}
	if _, err := f.m.Pending(t.Context()); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("it is still pending: %v", err)
	}
	_, err = f.client.Refresh(t.Context(), "main")
	f.must(err)
	if _, ok := f.files()["namespaces/corp.json"]; !ok {
		t.Error("the namespace isn't there")
	}
}

// A change that waits is one for the state that it was made for, and signing it is
// signing nothing else.
func TestPendingChangeRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(f *fixture, files map[string][]byte)
		want error
	}{
		"the registry has moved on": {func(f *fixture, _ map[string][]byte) { f.must(f.m.Refresh(t.Context(), f.keys)) }, abi.ErrInvalidArgs},
		"another index":             {func(_ *fixture, m map[string][]byte) { m[indexFile] = edited(t, m[indexFile], `"stable"`, `"beta"`) }, abi.ErrUntrusted},
		"one more certificate": {func(f *fixture, m map[string][]byte) {
			m[keyPath(f.mallory.Fingerprint())] = f.mallory.Certificate().Armored()
		}, abi.ErrUntrusted},
		"another root 1": {func(_ *fixture, m map[string][]byte) {
			m["root/1.json"] = edited(t, m["root/1.json"], `"threshold":1`, `"threshold":2`)
		}, abi.ErrUntrusted},
	} {
		t.Run(name, func(t *testing.T) {
			f := newOrigin(t, "main")
			f.must(f.m.Partial().ChangeRoles(t.Context(), Keys{Owners: f.keys.Owners, Snapshot: f.keys.Snapshot},
				RoleChange{Revocation: RoleEdit{Add: certs(f.owner2), Remove: []signing.Fingerprint{f.revoker.Fingerprint()}}}))
			e, _, err := f.m.pending(t.Context())
			f.must(err)
			c.do(f, e.files)
			now, err := f.m.load(t.Context(), branch, Keys{})
			f.must(err)
			e.base = now.base
			f.must(f.m.write(t.Context(), e, pendingRef, "tampered"))
			before := f.files()
			if _, err := f.m.Sign(t.Context(), Keys{Revocation: []Signer{f.owner2}}, f.shown()); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if after := f.files(); !maps.EqualFunc(before, after, bytes.Equal) {
				t.Error("the branch has changed")
			}
		})
	}
}

// What a change of roles may not be.
func TestRoleChangeRefused(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	before := f.files()
	for name, change := range map[string]RoleChange{
		"no owner left":         {Owner: RoleEdit{Remove: []signing.Fingerprint{f.owner.Fingerprint()}}},
		"a key without it":      {Owner: RoleEdit{Remove: []signing.Fingerprint{f.mallory.Fingerprint()}}},
		"a key that has it":     {Snapshot: RoleEdit{Add: certs(f.snapshot)}},
		"more than there are":   {Owner: RoleEdit{Threshold: 2}},
		"fewer than none":       {Owner: RoleEdit{Threshold: -1}},
		"a restart by the same": {Restart: true},
		"a second owner alone":  {Owner: RoleEdit{Add: certs(f.owner2), Threshold: 2}},
		"another snapshot key":  {Snapshot: RoleEdit{Add: certs(f.owner2), Remove: []signing.Fingerprint{f.snapshot.Fingerprint()}}},
		"another revoker":       {Revocation: RoleEdit{Add: certs(f.owner2), Remove: []signing.Fingerprint{f.revoker.Fingerprint()}}},
	} {
		if err := f.m.ChangeRoles(t.Context(), f.keys, change); err == nil {
			t.Errorf("%s is signed", name)
		}
	}
	if after := f.files(); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("the registry has changed")
	}
}
