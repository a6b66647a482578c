package registry

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Something is revoked, or a revocation is kept back.
func TestAttacksOnRevocation(t *testing.T) {
	t.Parallel()
	runAttacks(t, map[string]attack{
		"unsigned revocations": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, "revocations.json.asc") }) },
			abi.ReasonUnsigned, func(p people) *signing.SecretKey { return p.revoker },
		},
		"revocations signed by the snapshot key": {
			func(f *fixture) { f.signAs(f.snapshot, "revocations.json") },
			abi.ReasonUnknownKey, func(p people) *signing.SecretKey { return p.snapshot },
		},
		"tampered revocations": {
			func(f *fixture) { f.edit("revocations.json", `"version":1`, `"version":2`) },
			abi.ReasonTampered, func(p people) *signing.SecretKey { return p.snapshot },
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
				f.revokeUnchecked(f.snapshot.Fingerprint())
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
		"revocations of another registry": {
			func(f *fixture) {
				f.rework(func(e *edit) error {
					r := &Revocations{typeRevocations, Format, "other", 9, []RevokedKey{}, []RevokedArtifact{}}
					return e.putSigned(revocationsPath, r, f.keys.Revocation)
				})
			},
			abi.ReasonWrongName, func(p people) *signing.SecretKey { return p.revoker },
		},
	})
}
