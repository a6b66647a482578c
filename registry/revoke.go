package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A RevocationPlan says what a revocation would do beyond what it names.
type RevocationPlan struct {
	// Shared are versions ("namespace/name@version") that use a module of a version
	// to be revoked, and stay: so does the module.
	Shared []string `json:"shared,omitempty"`
	// Stops are versions that nobody named and that stop too, since their module or
	// release is revoked.
	Stops []string `json:"stops,omitempty"`

	hashes []string // to be revoked
}

// PlanRevocation says what Revoke would do, and changes nothing.
func (m *Maintainer) PlanRevocation(ctx context.Context, rev Revocation) (RevocationPlan, error) {
	e, err := m.load(ctx, branch, Keys{})
	if err != nil {
		return RevocationPlan{}, err
	}
	if err := e.trusted(); err != nil {
		return RevocationPlan{}, err
	}
	return e.plan(rev)
}

// A use is a listed version that isn't revoked, with the hashes that stop it.
type use struct {
	name            string // namespace/name@version
	release, module string
}

// plan collects the hashes that a revocation names. The module of a version is
// among them unless another version that stays uses it.
func (e *edit) plan(rev Revocation) (RevocationPlan, error) {
	p := RevocationPlan{hashes: slices.Clone(rev.Artifacts)}
	all, err := e.uses()
	if err != nil {
		return p, err
	}
	named := map[string]bool{}
	var modules []string
	for _, ref := range rev.Versions {
		u, err := e.use(ref)
		if err != nil {
			return p, err
		}
		named[u.name] = true
		p.hashes = append(p.hashes, u.release)
		if u.module != "" {
			modules = append(modules, u.module)
		}
	}
	others := slices.DeleteFunc(all, func(u use) bool { return named[u.name] })
	for _, module := range modules {
		shared := sharing(others, module)
		if len(shared) == 0 || rev.Modules {
			p.hashes = append(p.hashes, module)
			continue
		}
		if !slices.Contains(p.hashes, module) {
			p.Shared = append(p.Shared, shared...)
		}
	}
	for _, u := range others {
		if slices.Contains(p.hashes, u.release) || slices.Contains(p.hashes, u.module) {
			p.Stops = append(p.Stops, u.name)
		}
	}
	slices.Sort(p.Shared)
	p.Shared = slices.Compact(p.Shared)
	return p, nil
}

func sharing(list []use, module string) (names []string) {
	for _, u := range list {
		if u.module == module {
			names = append(names, u.name)
		}
	}
	return names
}

// uses lists the versions that are listed and not revoked, by plugin.
func (e *edit) uses() (list []use, err error) {
	var r Revocations
	if err := e.get(revocationsPath, &r); err != nil && !errors.Is(err, abi.ErrNotFound) {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(e.files)) {
		if !strings.HasPrefix(path, "connectors/") || !inSnapshot(path) {
			continue
		}
		var x Index
		if err := e.get(path, &x); err != nil {
			return nil, err
		}
		for _, v := range x.Versions {
			u, err := e.use(Ref{Namespace: x.Namespace, Name: x.Name, Constraint: v.Version})
			if err != nil {
				return nil, err
			}
			if _, ok := r.artifact(u.release, u.module); !ok {
				list = append(list, u)
			}
		}
	}
	return list, nil
}

// use reads what stops the version that a ref has as its constraint.
func (e *edit) use(ref Ref) (use, error) {
	_, v, err := e.version(ref, ref.Constraint)
	if err != nil {
		return use{}, err
	}
	path := releasePath(ref.Namespace, ref.Name, v.Version)
	data, err := e.read(path)
	if err != nil {
		return use{}, err
	}
	r, err := decodeRelease(path, data)
	if err != nil {
		return use{}, err
	}
	return use{ref.Plugin() + "@" + v.Version, v.Release.SHA256, r.Module.SHA256}, nil
}

// artifact returns the entry that revokes one of the hashes.
func (r *Revocations) artifact(hashes ...string) (RevokedArtifact, bool) {
	i := slices.IndexFunc(r.Artifacts, func(a RevokedArtifact) bool { return slices.Contains(hashes, a.SHA256) })
	if i < 0 {
		return RevokedArtifact{}, false
	}
	return r.Artifacts[i], true
}

// usable refuses a release whose bytes or module are revoked: it would be listed,
// and every client would refuse it.
func (e *edit) usable(r abi.Release, data []byte) error {
	var list Revocations
	if err := e.get(revocationsPath, &list); err != nil && !errors.Is(err, abi.ErrNotFound) {
		return err
	}
	what, hash := "module", r.Module.SHA256
	a, ok := list.artifact(hash)
	if !ok || hash == "" {
		what, hash = "release", hashOf(data)
		a, ok = list.artifact(hash)
	}
	if !ok {
		return nil
	}
	return refuse(abi.ReasonArtifactRevoked, nil, "this %s is revoked: %q", what, a.Reason).
		WithHint("change the code, raise version in plugin.yaml, then drawbridge connector build again: what is revoked stays so")
}
