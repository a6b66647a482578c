package registry

import (
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A release, its module or its publisher is not what it says.
func TestAttacksOnRelease(t *testing.T) {
	t.Parallel()
	runAttacks(t, map[string]attack{
		"unsigned release": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, releaseFile+".asc") }) },
			abi.ReasonUnsigned, func(p people) *signing.SecretKey { return p.publisher },
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
		"snapshot signed by the publisher": {
			func(f *fixture) { f.signAs(f.publisher, "snapshot.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.publisher },
		},
		"tampered release": {
			func(f *fixture) { f.edit(releaseFile, `"Tickets."`, `"Trickets"`) },
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
	})
}
