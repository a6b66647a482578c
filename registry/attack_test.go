package registry

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"strings"
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

// Every attack is on a registry that a client has added and, for the second half
// of the table, installed from. It must be refused with the reason, name the key,
// and leave what is installed running.
func TestAttacks(t *testing.T) {
	for name, a := range map[string]struct {
		do     func(f *fixture)
		reason abi.Reason
		key    func(p people) *signing.SecretKey // named in the refusal
	}{
		"unsigned release": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, releaseFile+".asc") }) },
			abi.ReasonUnsigned, func(p people) *signing.SecretKey { return p.publisher },
		},
		"unsigned snapshot": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, "snapshot.json.asc") }) },
			abi.ReasonUnsigned, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"unsigned revocations": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, "revocations.json.asc") }) },
			abi.ReasonUnsigned, func(p people) *signing.SecretKey { return p.revoker },
		},
		"empty signature": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { m[releaseFile+".asc"] = nil }) },
			abi.ReasonMalformed, func(p people) *signing.SecretKey { return p.publisher },
		},
		"release signed by somebody else": {
			func(f *fixture) { f.signAs(f.mallory, releaseFile) },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.mallory },
		},
		"release signed by the snapshot key": {
			func(f *fixture) { f.signAs(f.snapshot, releaseFile) },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"signature of another file": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { m[releaseFile+".asc"] = m[spaceFile+".asc"] }) },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.owner },
		},
		"snapshot signed by somebody else": {
			func(f *fixture) { f.signAs(f.mallory, "snapshot.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.mallory },
		},
		"snapshot signed by the publisher": {
			func(f *fixture) { f.signAs(f.publisher, "snapshot.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.publisher },
		},
		"namespace signed by the snapshot key": {
			func(f *fixture) { f.signAs(f.snapshot, spaceFile) },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"revocations signed by the snapshot key": {
			func(f *fixture) { f.signAs(f.snapshot, "revocations.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"root replaced by a stranger's": {
			func(f *fixture) { f.signAs(f.mallory, "root/1.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.mallory },
		},
		"tampered release": {
			func(f *fixture) { f.edit(releaseFile, `"Tickets."`, `"Trickets"`) },
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"tampered index": {
			func(f *fixture) { f.edit(indexFile, `"stable"`, `"beta"`) },
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"tampered namespace": {
			func(f *fixture) {
				f.edit(spaceFile, string(f.publisher.Fingerprint()), string(f.mallory.Fingerprint()))
			},
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"tampered snapshot": {
			func(f *fixture) { f.edit("snapshot.json", `"main"`, `"mail"`) },
			abi.ReasonBadSignature, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"tampered revocations": {
			func(f *fixture) { f.edit("revocations.json", `"version":1`, `"version":2`) },
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"release tampered by the snapshot key": {
			func(f *fixture) { f.relist(func(r []byte) []byte { return edited(f.t, r, "Tickets.", "Trickets") }) },
			abi.ReasonBadSignature, func(p people) *signing.SecretKey { return p.publisher },
		},
		"publisher added by the snapshot key": {
			func(f *fixture) {
				f.resign(func(m map[string][]byte) {
					m[spaceFile] = edited(f.t, m[spaceFile], string(f.publisher.Fingerprint()), string(f.mallory.Fingerprint()))
				})
			},
			abi.ReasonBadSignature, func(p people) *signing.SecretKey { return p.owner },
		},
		"tampered module": {
			func(f *fixture) { f.swapArtifact([]byte("\x00asm module of 6.6.6")) },
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.publisher },
		},
		"oversized module": {
			func(f *fixture) { f.swapArtifact(make([]byte, 1<<20)) },
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.publisher },
		},
		"expired snapshot": {
			func(f *fixture) { f.now = f.now.Add(snapshotLife) },
			abi.ReasonSnapshotExpired, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"expired root": {
			func(f *fixture) {
				f.now = f.now.Add(rootLife)
				f.must(f.m.Refresh(f.t.Context(), f.keys))
			},
			abi.ReasonSnapshotExpired, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"snapshot from the future": {
			func(f *fixture) {
				f.keys.Snapshot = []Signer{signerAt{f.snapshot, f.now}}
				f.now = f.now.Add(maxIssueSkew + time.Second)
				f.resign(func(map[string][]byte) {})
				f.now = f.now.Add(-maxIssueSkew - time.Second)
			},
			abi.ReasonMalformed, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"older snapshot": {
			func(f *fixture) {
				old := f.files()
				f.publish("1.1.0")
				_, err := f.client.Refresh(f.t.Context(), "main")
				f.must(err)
				f.replace(old)
			},
			abi.ReasonSnapshotOlder, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"same version, other bytes": {
			func(f *fixture) {
				old := f.files()
				f.now = f.now.Add(time.Second)
				f.resign(func(map[string][]byte) {})
				_, err := f.client.Refresh(f.t.Context(), "main")
				f.must(err)
				f.replace(old)
				f.now = f.now.Add(time.Second)
				f.resign(func(map[string][]byte) {})
			},
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"mix and match": {
			func(f *fixture) {
				old := f.files()
				f.publish("1.1.0")
				f.tamper(func(m map[string][]byte) { m[indexFile] = old[indexFile] })
			},
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"another plugin's release": {
			func(f *fixture) {
				r := f.releaseOf("1.0.0")
				r.Name = "other"
				f.relistAs(f.submission(r, f.publisher))
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.publisher },
		},
		"another version's release": {
			func(f *fixture) { f.relistAs(f.submission(f.releaseOf("0.9.0"), f.publisher)) },
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.publisher },
		},
		"another registry's release": {
			func(f *fixture) {
				r := f.releaseOf("1.0.0")
				r.Registry = "other"
				f.relistAs(f.submission(r, f.publisher))
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.publisher },
		},
		"another namespace's file": {
			func(f *fixture) {
				f.must(f.m.AddPublisher(f.t.Context(), f.keys, "evil", f.mallory.Certificate()))
				f.resign(func(m map[string][]byte) {
					m[spaceFile], m[spaceFile+".asc"] = m["namespaces/evil.json"], m["namespaces/evil.json.asc"]
				})
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.owner },
		},
		"a signature for another purpose": {
			func(f *fixture) {
				f.resign(func(m map[string][]byte) {
					m[spaceFile], m[spaceFile+".asc"] = m["root/1.json"], m["root/1.json.asc"]
				})
			},
			abi.ReasonMalformed, nil,
		},
		"revoked module": {
			func(f *fixture) { f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf("1.0.0"))}, Reason: "evil"}) },
			abi.ReasonArtifactRevoked, func(p people) *signing.SecretKey { return p.publisher },
		},
		"revoked release": {
			func(f *fixture) {
				f.revoke(Revocation{Artifacts: []string{hashOf(f.files()[releaseFile])}, Reason: "evil"})
			},
			abi.ReasonArtifactRevoked, func(p people) *signing.SecretKey { return p.publisher },
		},
		"revoked publisher": {
			func(f *fixture) {
				f.revoke(Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen"})
			},
			abi.ReasonKeyRevoked, func(p people) *signing.SecretKey { return p.publisher },
		},
		"revoked snapshot key": {
			func(f *fixture) {
				f.revoke(Revocation{Keys: []signing.Fingerprint{f.snapshot.Fingerprint()}, Reason: "stolen"})
			},
			abi.ReasonKeyRevoked, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"revocation taken back": {
			func(f *fixture) {
				before := f.files()
				f.revoke(Revocation{Artifacts: []string{strings.Repeat("0", 64)}, Reason: "evil"})
				_, err := f.client.Refresh(f.t.Context(), "main")
				f.must(err)
				f.resign(func(m map[string][]byte) {
					m["revocations.json"], m["revocations.json.asc"] = before["revocations.json"], before["revocations.json.asc"]
				})
			},
			abi.ReasonSnapshotOlder, func(p people) *signing.SecretKey { return p.revoker },
		},
		"artifact missing from a newer list": {
			func(f *fixture) { f.shrink(Revocation{Artifacts: []string{strings.Repeat("0", 64)}, Reason: "evil"}) },
			abi.ReasonSnapshotOlder, func(p people) *signing.SecretKey { return p.revoker },
		},
		"key missing from a newer list": {
			func(f *fixture) {
				f.shrink(Revocation{Keys: []signing.Fingerprint{f.mallory.Fingerprint()}, Reason: "evil"})
			},
			abi.ReasonSnapshotOlder, func(p people) *signing.SecretKey { return p.revoker },
		},
		"no revocations": {
			func(f *fixture) { f.resign(func(m map[string][]byte) { delete(m, "revocations.json") }) },
			abi.ReasonMalformed, nil,
		},
		"publisher not in the namespace": {
			func(f *fixture) {
				f.must(f.m.AddPublisher(f.t.Context(), f.keys, "evil", f.mallory.Certificate()))
				f.relistAs(f.submission(f.releaseOf("1.0.0"), f.mallory))
			},
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.mallory },
		},
		"publisher whose time is over": {
			func(f *fixture) {
				f.now = f.now.Add(time.Minute)
				f.must(f.m.RemovePublisher(f.t.Context(), f.keys, "acme", f.publisher.Fingerprint()))
				f.now = f.now.Add(time.Minute)
				s := f.submission(f.releaseOf("1.1.0"), f.publisher)
				f.list(s)
			},
			abi.ReasonUnknownKey, nil,
		},
		"publisher removed and put back by the snapshot key": {
			func(f *fixture) {
				old := f.files()
				f.now = f.now.Add(time.Minute)
				f.must(f.m.RemovePublisher(f.t.Context(), f.keys, "acme", f.publisher.Fingerprint()))
				_, err := f.client.Install(f.t.Context(), tracker, InstallOptions{Consent: yes})
				f.must(err)
				f.must(f.client.Uninstall("acme/tracker"))
				f.resign(func(m map[string][]byte) {
					m[spaceFile], m[spaceFile+".asc"] = old[spaceFile], old[spaceFile+".asc"]
				})
			},
			abi.ReasonSnapshotOlder, func(p people) *signing.SecretKey { return p.owner },
		},
		"certificate swapped": {
			func(f *fixture) {
				f.tamper(func(m map[string][]byte) {
					m[keyPath(f.publisher.Fingerprint())] = f.mallory.Certificate().Armored()
				})
			},
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"snapshot key's certificate in other bytes": {
			func(f *fixture) {
				f.tamper(func(m map[string][]byte) { m[keyPath(f.snapshot.Fingerprint())] = f.snapshot.Certificate().Raw })
			},
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"two roots with one version": {
			func(f *fixture) {
				f.now = f.now.Add(time.Minute)
				f.rework(func(e *edit) error { return e.addRoot(f.id, 1, f.keys.Owners) })
			},
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.owner },
		},
		"snapshot for another root": {
			func(f *fixture) {
				f.rework(func(e *edit) error {
					e.root.Version = 2
					return nil
				})
			},
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"snapshot of another registry": {
			func(f *fixture) {
				f.rework(func(e *edit) error {
					e.root.Registry = "other"
					return nil
				})
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"revocations of another registry": {
			func(f *fixture) {
				f.rework(func(e *edit) error {
					r := &Revocations{typeRevocations, Format, "other", 9, []RevokedKey{}, []RevokedArtifact{}}
					return e.putSigned(revocationsPath, r, f.keys.Revocation)
				})
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.revoker },
		},
		"index of another plugin": {
			func(f *fixture) {
				f.resign(func(m map[string][]byte) {
					m[indexFile] = edited(f.t, m[indexFile], `"tracker"`, `"other"`)
				})
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"next root of another registry": {
			func(f *fixture) {
				f.rework(func(e *edit) error { return e.addRoot("other", 2, f.keys.Owners) })
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.owner },
		},
		"file below the deepest folder": {
			func(f *fixture) {
				f.tamper(func(m map[string][]byte) { m["connectors/acme/tracker/more/file.json"] = []byte("{}") })
			},
			abi.ReasonMalformed, nil,
		},
		"unexpected folder": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { m["hooks/post-checkout"] = []byte("id") }) },
			abi.ReasonMalformed, nil,
		},
		"not canonical": {
			func(f *fixture) {
				f.resign(func(m map[string][]byte) { m[indexFile] = append(m[indexFile], '\n') })
			},
			abi.ReasonMalformed, nil,
		},
		"duplicate keys": {
			func(f *fixture) {
				f.resign(func(m map[string][]byte) {
					m[indexFile] = edited(f.t, m[indexFile], `"format":1`, `"format":2,"format":1`)
				})
			},
			abi.ReasonMalformed, nil,
		},
	} {
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

func (f *fixture) revoke(r Revocation) {
	f.t.Helper()
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

// What is installed goes on when its registry turns bad, except where it is what
// was revoked.
func TestInstalledGoesOn(t *testing.T) {
	f := newFixture(t)
	f.mustInstall(tracker)
	f.now = f.now.Add(snapshotLife)
	l, err := f.client.Load("acme/tracker")
	if err != nil || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "expired") {
		t.Errorf("expired snapshot: %v, warnings %q", err, l.Warnings)
	}
	f.tamper(func(m map[string][]byte) { clear(m) })
	if _, err := f.client.Refresh(t.Context(), "main"); err == nil {
		t.Error("an empty registry is accepted")
	}
	f.wantActive("1.0.0")
}

func TestRevokedAfterInstall(t *testing.T) {
	for name, c := range map[string]struct {
		what   func(f *fixture) Revocation
		reason abi.Reason
	}{
		"module": {func(*fixture) Revocation { return Revocation{Artifacts: []string{hashOf(wasmOf("1.1.0"))}} }, abi.ReasonArtifactRevoked},
		"key": {func(f *fixture) Revocation {
			return Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}}
		}, abi.ReasonKeyRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mustInstall(tracker)
			f.publish("1.1.0")
			f.mustInstall(tracker)
			f.revoke(c.what(f))
			_, err := f.client.Refresh(t.Context(), "main")
			f.must(err)
			_, err = f.client.Load("acme/tracker")
			wantRefused(t, err, c.reason, f.publisher)
			_, err = f.client.Rollback(t.Context(), "acme/tracker", InstallOptions{Consent: yes})
			if name == "module" {
				f.must(err)
				f.wantActive("1.0.0")
				_, err = f.client.Rollback(t.Context(), "acme/tracker", InstallOptions{Consent: yes})
			}
			wantRefused(t, err, c.reason, f.publisher)
		})
	}
}

func TestDowngrade(t *testing.T) {
	f := newFixture(t)
	f.publish("1.1.0")
	f.mustInstall(tracker)
	older := Ref{Namespace: "acme", Name: "tracker", Constraint: "1.0.0"}
	_, err := f.install(older)
	wantRefused(t, err, abi.ReasonSnapshotOlder, f.publisher)
	f.wantActive("1.1.0")
	_, err = f.client.Install(t.Context(), older, InstallOptions{Consent: yes, AllowDowngrade: true})
	f.must(err)
	f.wantActive("1.0.0")
}

func TestInstalledVersionChangesItsBytes(t *testing.T) {
	f := newFixture(t)
	f.mustInstall(tracker)
	r := f.releaseOf("1.0.0")
	r.Title = "Another"
	f.relistAs(f.submission(r, f.publisher))
	_, err := f.install(tracker)
	wantRefused(t, err, abi.ReasonTampered, f.publisher)
	f.wantActive("1.0.0")
}

func TestTamperedAfterInstall(t *testing.T) {
	for name, change := range map[string]func(f *fixture, e Entry){
		"module":         func(f *fixture, e Entry) { f.damage(e.Module.SHA256 + extModule) },
		"release":        func(f *fixture, e Entry) { f.damage(e.Release.SHA256 + extRelease) },
		"module removed": func(f *fixture, e Entry) { f.must(os.Remove(f.client.store().path(e.Module.SHA256, extModule))) },
		"module longer": func(f *fixture, e Entry) {
			path := f.client.store().path(e.Module.SHA256, extModule)
			f.must(os.Chmod(path, 0o600))
			f.must(os.WriteFile(path, append(wasmOf("1.0.0"), 0), 0o600))
		},
		"module is a folder": func(f *fixture, e Entry) {
			path := f.client.store().path(e.Module.SHA256, extModule)
			f.must(os.Remove(path))
			f.must(os.Mkdir(path, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			change(f, f.mustInstall(tracker))
			_, err := f.client.Load("acme/tracker")
			wantRefused(t, err, abi.ReasonTampered, f.publisher)
		})
	}
}

func TestBadLock(t *testing.T) {
	f := newFixture(t)
	f.mustInstall(tracker)
	good, err := os.ReadFile(f.client.lockPath())
	f.must(err)
	for name, bad := range map[string]string{
		"empty":          "",
		"truncated":      string(good[:len(good)/2]),
		"last byte gone": string(good[:len(good)-1]),
		"two documents":  string(good) + string(good),
		"unknown key":    strings.Replace(string(good), `"format":1`, `"extra":1,"format":1`, 1),
		"other type":     strings.Replace(string(good), typeLock, typeState, 1),
		"short hash":     strings.Replace(string(good), `"sha256":"`, `"sha256":"00`, 1),
		"path as name":   strings.Replace(string(good), `"tracker"`, `"../../x"`, 1),
		"spaces":         strings.Replace(string(good), `,`, `, `, 1),
		"null":           "null",
	} {
		f.must(os.WriteFile(f.client.lockPath(), []byte(bad), 0o600))
		_, err := f.client.Load("acme/tracker")
		t.Log(name)
		wantRefused(t, err, abi.ReasonMalformed)
		_, err = f.install(tracker)
		wantRefused(t, err, abi.ReasonMalformed)
		if now, _ := os.ReadFile(f.client.lockPath()); string(now) != bad {
			t.Error("the damaged lock was overwritten")
		}
	}
	f.must(os.WriteFile(f.client.lockPath(), good, 0o600))
	f.wantActive("1.0.0")
}

// A failure before any step leaves the version that was active, and the next try
// succeeds.
func TestInterruptedInstall(t *testing.T) {
	for _, step := range []string{"state", "verified", "module", "release", "lock"} {
		t.Run(step, func(t *testing.T) {
			f := newFixture(t)
			f.mustInstall(tracker)
			f.publish("1.1.0")
			cut := errors.New("cut at " + step)
			f.client.step = func(name string) error {
				if name == step {
					return cut
				}
				return nil
			}
			if _, err := f.install(tracker); !errors.Is(err, cut) {
				t.Fatalf("got %v, want the failure at %q", err, step)
			}
			f.wantActive("1.0.0")
			f.client.step = nil
			f.mustInstall(tracker)
			f.wantActive("1.1.0")
			if n := len(f.onDisk()); n != 4 {
				t.Errorf("the store holds %v, want two versions", f.onDisk())
			}
		})
	}
}

// Tidying up comes after the change and doesn't undo it.
func TestInterruptedSweep(t *testing.T) {
	f := newFixture(t)
	warned := false
	f.client.cfg.Events.Warning = func(string, string) { warned = true }
	f.client.step = func(name string) error {
		if name == "sweep" {
			return errors.New("cut")
		}
		return nil
	}
	f.mustInstall(tracker)
	if !warned {
		t.Error("no warning")
	}
	f.wantActive("1.0.0")
}

func TestRotation(t *testing.T) {
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
	f.tamper(func(m map[string][]byte) { delete(m, "snapshot.json"); delete(m, "snapshot.json.asc") })

	fresh := Keys{[]Signer{f.owner2}, []Signer{f.owner2}, []Signer{f.revoker}}
	f.must(f.m.Rotate(t.Context(), f.keys.Owners, fresh))
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

func TestRotationWithoutTheOldOwner(t *testing.T) {
	f := newFixture(t)
	f.must(f.m.Rotate(t.Context(), []Signer{f.mallory}, Keys{[]Signer{f.mallory}, []Signer{f.mallory}, []Signer{f.mallory}}))
	_, err := f.client.Refresh(t.Context(), "main")
	wantRefused(t, err, abi.ReasonUnknownKey, f.owner, f.mallory)
}

func TestOwnerThreshold(t *testing.T) {
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

func TestPublishRefuses(t *testing.T) {
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
		"revoke":           func(k Keys) error { return f.m.Revoke(t.Context(), k, Revocation{Keys: nil, Reason: "stolen"}) },
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
