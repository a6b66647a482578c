package registry

import (
	"errors"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Two maintainers at once, such as a person and a timer: what one has signed while
// the other was at it is not undone.
func TestTwoMaintainersAtOnce(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]func(f *fixture, m *Maintainer) error{
		"refresh": func(f *fixture, m *Maintainer) error { return m.Refresh(t.Context(), f.keys) },
		"sign": func(f *fixture, m *Maintainer) error {
			_, err := m.Sign(t.Context(), Keys{Revocation: []Signer{f.owner2}}, f.shown())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			e := f.mustInstall(tracker)
			f.must(f.m.Partial().ChangeRoles(t.Context(), Keys{Owners: f.keys.Owners, Snapshot: f.keys.Snapshot},
				RoleChange{Revocation: RoleEdit{Add: certs(f.owner2), Remove: []signing.Fingerprint{f.revoker.Fingerprint()}}}))
			f.now = f.now.Add(time.Minute)
			revoked := false
			m := OpenMaintainer(f.origin, func() time.Time {
				if !revoked { // the state has been read: now the other one writes
					revoked = true
					f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Artifacts: []string{e.Module.SHA256}, Reason: "stolen"}))
				}
				return f.now
			})
			err := slow(f, m)
			if !revoked || !errors.Is(err, abi.ErrConfirmationRequired) && !errors.Is(err, abi.ErrInvalidArgs) {
				t.Errorf("revoked meanwhile: %v; the second one ends with %v", revoked, err)
			}
			_, err = f.install(tracker)
			wantRefused(t, err, abi.ReasonArtifactRevoked)
			f.must(f.m.Refresh(t.Context(), f.keys)) // the same command again
		})
	}
}
