package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A RoleEdit changes who has one role.
type RoleEdit struct {
	Add       []signing.Certificate
	Remove    []signing.Fingerprint
	Threshold int // how many have to sign; 0 leaves it, but lowers it to the number of keys
}

// A RoleChange is a new root. The zero value renews the present one for a year.
type RoleChange struct {
	Owner, Snapshot, Revocation RoleEdit
	// Restart counts snapshots from 1 again. It is the way back from a thief of the
	// snapshot key who signed a version that can't be topped; clients accept it only
	// with other snapshot keys than before.
	Restart bool
}

// ChangeRoles signs a new root: the owners of the root before and of the new one
// have to sign, each by their threshold, and what owners and revokers sign is
// signed again if their keys are others now. keys are all that are at hand; see
// Partial for owners who sit in different places.
func (m *Maintainer) ChangeRoles(ctx context.Context, keys Keys, change RoleChange) error {
	return m.change(ctx, keys, "rotate", func(e *edit) error {
		before := e.root.Roles
		roles, err := e.applied(change)
		if err != nil {
			return err
		}
		if change.Restart {
			if slices.Equal(before.Snapshot.Keys, roles.Snapshot.Keys) {
				return abi.Errorf(abi.ErrInvalidArgs, "", "counting again needs other snapshot keys, or clients refuse the lower version")
			}
			delete(e.files, snapshotPath)
		}
		e.root.Version, e.root.Issued, e.root.Expires, e.root.Roles = e.root.Version+1, At(e.now), At(e.now.Add(rootLife)), roles
		e.roots = true
		if err := e.putSigned(rootPath(e.root.Version), &e.root, keys.Owners); err != nil {
			return err
		}
		return e.signAgain(keys)
	})
}

// applied makes the roles that a change leads to, and adds the certificates.
func (e *edit) applied(change RoleChange) (Roles, error) {
	roles := e.root.Roles
	for _, r := range []struct {
		name string
		role *Role
		edit RoleEdit
	}{{"owner", &roles.Owner, change.Owner}, {"snapshot", &roles.Snapshot, change.Snapshot}, {"revocation", &roles.Revocation, change.Revocation}} {
		if err := r.edit.apply(r.role); err != nil {
			return roles, abi.Errorf(abi.ErrInvalidArgs, "", "role %s: %w", r.name, err)
		}
		for _, c := range r.edit.Add {
			if _, err := signing.ReadCertificate(c.Raw, c.Fingerprint); err != nil {
				return roles, err
			}
			e.addKey(c)
		}
	}
	return roles, nil
}

func (c RoleEdit) apply(r *Role) error {
	keys := slices.Clone(r.Keys)
	for _, k := range c.Remove {
		i := slices.Index(keys, k)
		if i < 0 {
			return fmt.Errorf("key %s doesn't have it", k)
		}
		keys = slices.Delete(keys, i, i+1)
	}
	for _, a := range c.Add {
		if slices.Contains(keys, a.Fingerprint) {
			return fmt.Errorf("key %s has it already", a.Fingerprint)
		}
		keys = append(keys, a.Fingerprint)
	}
	slices.Sort(keys)
	threshold := c.Threshold
	if threshold == 0 {
		threshold = min(r.Threshold, len(keys))
	}
	*r = Role{Keys: keys, Threshold: threshold}
	return r.check()
}

// signAgain signs what is there already and isn't good any more under the new root.
func (e *edit) signAgain(keys Keys) error {
	for _, path := range e.toVouch() {
		if path == rootPath(e.root.Version) || e.vouchedFor(path) == nil {
			continue
		}
		signers := keys.Owners
		if path == revocationsPath {
			signers = keys.Revocation
		}
		if err := e.sign(path, e.files[path], signers); err != nil {
			return err
		}
	}
	return nil
}

// pendingRef holds a change that too few have signed yet. There is one at a time,
// since each is a whole next state of the registry.
const pendingRef = "refs/heads/drawbridge-pending"

// Partial returns a Maintainer that puts a change aside, on a branch of its own,
// where signatures of other keys are missing: Sign completes it. What is missing
// is in Pending.
func (m *Maintainer) Partial() *Maintainer {
	p := *m
	p.partial = true
	return &p
}

// A PendingChange is one that was put aside.
type PendingChange struct {
	Changes  []Change  `json:"changes"`          // what differs from the state in force
	Missing  []Missing `json:"missing"`          // signatures
	Complete bool      `json:"complete"`         // it isn't pending any more: the branch has it
	Commit   string    `json:"commit,omitempty"` // what was put aside
}

// ErrNothingPending says that no change was put aside.
var ErrNothingPending = errors.New("no change waits for signatures")

// Pending says what was put aside. The error is [ErrNothingPending] if nothing was.
func (m *Maintainer) Pending(ctx context.Context) (PendingChange, error) {
	e, before, err := m.pending(ctx)
	if err != nil {
		return PendingChange{}, err
	}
	return PendingChange{Changes: changesBetween(before.view(), e.view()), Missing: e.missing(), Commit: e.pending}, nil
}

// Sign adds the signatures of keys to the pending change and, when no others are
// missing, puts it into force. shown is the commit of the change that whoever signs
// has seen; if another one is pending by now, nothing is signed.
func (m *Maintainer) Sign(ctx context.Context, keys Keys, shown string) (PendingChange, error) {
	e, before, err := m.pending(ctx)
	if err != nil {
		return PendingChange{}, err
	}
	if e.pending != shown {
		return PendingChange{}, abi.Errorf(abi.ErrConfirmationRequired, "", "another change is pending than the one that was shown: nothing was signed").
			WithHint("the same command again, and look at what it shows")
	}
	all := slices.Concat(keys.Owners, keys.Snapshot, keys.Revocation)
	added := 0
	for _, missing := range e.missing() {
		for _, s := range all {
			if !slices.Contains(missing.Keys, s.Certificate().Fingerprint) || e.signedBy(missing.Path, s.Certificate().Fingerprint) {
				continue
			}
			if err := e.addSignature(missing.Path, s); err != nil {
				return PendingChange{}, err
			}
			added++
		}
	}
	left := e.missing()
	if added == 0 && len(left) > 0 {
		return PendingChange{}, abi.Errorf(abi.ErrInvalidArgs, "", "no signature of this key is missing").
			WithHint("give --key the secret key of %s", nameKeys("", left[0].Keys))
	}
	change := PendingChange{Changes: changesBetween(before.view(), e.view()), Missing: left, Complete: len(left) == 0}
	if !change.Complete {
		return change, m.write(ctx, e, pendingRef, "pending")
	}
	if err := e.vouched(); err != nil {
		return PendingChange{}, err
	}
	return change, m.write(ctx, e, branch, "signed by several")
}

// addSignature puts one more signature beside those that a file has.
func (e *edit) addSignature(path string, s Signer) error {
	sig, err := s.Sign(e.files[path], e.now)
	if err != nil {
		return fmt.Errorf("signing %q: %w", path, err)
	}
	if old, ok := e.files[signaturePath(path)]; ok {
		if sig, err = signing.Join(old, sig); err != nil {
			return err
		}
	}
	e.files[signaturePath(path)] = sig
	return nil
}

// pending reads the change that was put aside, and the state that it is made for.
func (m *Maintainer) pending(ctx context.Context) (e, before *edit, err error) {
	if err := m.repo.exists(); err != nil {
		return nil, nil, err
	}
	if !m.repo.hasRef(ctx, branch) {
		return nil, nil, noRegistry(m.repo.dir)
	}
	if !m.repo.hasRef(ctx, pendingRef) {
		return nil, nil, abi.Errorf(abi.ErrNotFound, "", "%w", ErrNothingPending).WithHint("git fetch origin drawbridge-pending:drawbridge-pending, if somebody pushed one")
	}
	if before, err = m.load(ctx, branch, Keys{}); err != nil {
		return nil, nil, err
	}
	if err := before.trusted(); err != nil {
		return nil, nil, err
	}
	if e, err = m.load(ctx, pendingRef, Keys{}); err != nil {
		return nil, nil, err
	}
	e.pending, e.base = e.base, before.base
	return e, before, e.follows(before)
}
