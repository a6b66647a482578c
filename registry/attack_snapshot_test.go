package registry

import (
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// The snapshot, the root or a namespace is not what the roles signed, or not the newest.
func TestAttacksOnSnapshot(t *testing.T) {
	t.Parallel()
	runAttacks(t, map[string]attack{
		"unsigned snapshot": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, "snapshot.json.asc") }) },
			abi.ReasonUnsigned, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"snapshot signed by somebody else": {
			func(f *fixture) { f.signAs(f.mallory, "snapshot.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.mallory },
		},
		"namespace signed by the snapshot key": {
			func(f *fixture) { f.signAs(f.snapshot, spaceFile) },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"root replaced by a stranger's": {
			func(f *fixture) { f.signAs(f.mallory, "root/1.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.mallory },
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
	})
}
