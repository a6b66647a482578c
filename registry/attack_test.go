package registry

import (
	"errors"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

const (
	releaseFile = "connectors/acme/tracker/1.0.0.json"
	indexFile   = "connectors/acme/tracker/index.json"
	spaceFile   = "namespaces/acme.json"
)

// An attack is on a registry that a client has added. Installing from it must be
// refused with the reason, name the key, and leave nothing behind.
type attack struct {
	do     func(f *fixture)
	reason abi.Reason
	key    func(p people) *signing.SecretKey // named in the refusal
}

func runAttacks(t *testing.T, attacks map[string]attack) {
	t.Helper()
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a.do(f)
			_, err := f.install(tracker)
			if a.key == nil {
				wantRefused(t, err, a.reason)
			} else {
				wantRefused(t, err, a.reason, a.key(f.people))
			}
			f.wantActive("")
			if files := f.onDisk(); len(files) != 0 {
				t.Errorf("the store holds %v", files)
			}
		})
	}
}

// signerAt dates its signatures itself.
type signerAt struct {
	*signing.SecretKey
	at time.Time
}

func (s signerAt) Sign(data []byte, _ time.Time) ([]byte, error) { return s.SecretKey.Sign(data, s.at) }

// signAs replaces the signature of a file, and what can be signed again above it.
func (f *fixture) signAs(key *signing.SecretKey, path string) {
	f.t.Helper()
	sig, err := key.Sign(f.files()[path], f.now)
	f.must(err)
	f.tamper(func(m map[string][]byte) {
		m[signaturePath(path)] = sig
		m[keyPath(key.Fingerprint())] = key.Certificate().Armored()
	})
}

func (f *fixture) edit(path, old, replacement string) {
	f.t.Helper()
	f.tamper(func(m map[string][]byte) { m[path] = edited(f.t, m[path], old, replacement) })
}

// relist changes the release and lists its new hash under a new snapshot.
func (f *fixture) relist(change func([]byte) []byte) {
	f.t.Helper()
	f.resign(func(m map[string][]byte) {
		old := m[releaseFile]
		m[releaseFile] = change(old)
		m[indexFile] = edited(f.t, m[indexFile], hashOf(old), hashOf(m[releaseFile]))
		if n, o := fileHash(m[releaseFile]).Size, fileHash(old).Size; n != o {
			f.t.Fatalf("size %d became %d", o, n)
		}
	})
}

// relistAs puts a submission in the place of version 1.0.0.
func (f *fixture) relistAs(s Submission) {
	f.t.Helper()
	f.resign(func(m map[string][]byte) {
		var x Index
		f.must(decode(indexFile, m[indexFile], &x))
		x.Versions[0].Release, x.Versions[0].Published = fileHash(s.Release), At(f.now)
		data, err := canonical(&x)
		f.must(err)
		m[indexFile], m[releaseFile], m[releaseFile+".asc"] = data, s.Release, s.Signature
	})
}

// list adds a submission without any of Publish's checks.
func (f *fixture) list(s Submission) {
	f.t.Helper()
	r, err := decodeRelease("test", s.Release)
	f.must(err)
	f.must(f.m.change(f.t.Context(), f.keys, "test", func(e *edit) error {
		path := releasePath(r.Namespace, r.Name, r.Version)
		e.files[path], e.files[signaturePath(path)] = s.Release, s.Signature
		return errors.Join(e.list(r, s), f.m.putArtifact(f.t.Context(), r.Module, s.Wasm))
	}))
}

// revokeUnchecked revokes a key that signs the very snapshot, which Revoke refuses.
func (f *fixture) revokeUnchecked(key signing.Fingerprint) {
	f.t.Helper()
	e, err := f.m.load(f.t.Context(), branch, f.keys)
	f.must(err)
	r := &Revocations{typeRevocations, Format, f.id, 9, []RevokedKey{{key, "stolen", At(f.now)}}, []RevokedArtifact{}}
	f.must(e.putSigned(revocationsPath, r, f.keys.Revocation))
	f.must(e.addSnapshot())
	wantRefused(f.t, e.vouched(), abi.ReasonKeyRevoked)
	f.commitRaw(e)
}

func (f *fixture) revoke(r Revocation) {
	f.t.Helper()
	if r.Reason == "" {
		r.Reason = "evil"
	}
	f.must(f.m.Revoke(f.t.Context(), f.keys, r))
}

// shrink revokes, and then signs a newer list without the revocation.
func (f *fixture) shrink(r Revocation) {
	f.t.Helper()
	f.revoke(r)
	_, err := f.client.Refresh(f.t.Context(), "main")
	f.must(err)
	f.rework(func(e *edit) error {
		empty := &Revocations{typeRevocations, Format, f.id, 9, []RevokedKey{}, []RevokedArtifact{}}
		return e.putSigned(revocationsPath, empty, f.keys.Revocation)
	})
}

// rework changes what the maintainer's side has, with all of its keys.
func (f *fixture) rework(change func(*edit) error) {
	f.t.Helper()
	f.must(f.m.change(f.t.Context(), f.keys, "test", change))
}

// swapArtifact puts other bytes under the module's ref.
func (f *fixture) swapArtifact(data []byte) {
	f.t.Helper()
	f.must(f.m.putArtifact(f.t.Context(), abi.Module{SHA256: hashOf(wasmOf("1.0.0"))}, data))
}

func TestNotPinned(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	c := f.newClient()
	for name, key := range map[string]*signing.SecretKey{"a stranger's key": f.mallory, "the publisher's key": f.publisher, "the snapshot key": f.snapshot} {
		_, err := c.AddRegistry(t.Context(), f.origin, key.Fingerprint())
		t.Log(name)
		wantRefused(t, err, abi.ReasonUnknownKey, key)
	}
	if list, err := c.Registries(); err != nil || len(list) != 0 {
		t.Errorf("registries %+v, %v", list, err)
	}
}
