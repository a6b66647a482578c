package registry

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// trusted holds what a change builds on to its own signatures: a snapshot signs
// whatever stands beside it, so what somebody else put on the branch, by a merge or
// on the server, would be vouched for by the next signature. Releases that no index
// lists are let be: they are proposals, see [Maintainer.Accept].
func (e *edit) trusted() error {
	pinned, err := firstOwner(e.read, e.now)
	if err != nil {
		return err
	}
	roots, err := followRoots(e.read, pinned, e.now)
	if err != nil {
		return err
	}
	data, err := e.read(snapshotPath)
	if err != nil {
		return malformed(snapshotPath, "it is missing")
	}
	if _, err := (judge{e.read, e.now}).verify(snapshotPath, data, roots.newest.Roles.Snapshot, signing.Archive); err != nil {
		return err
	}
	var s Snapshot
	if err := decode(snapshotPath, data, &s); err != nil {
		return err
	}
	if path, ok := e.strange(&s); ok {
		return refuse(abi.ReasonTampered, roots.newest.Roles.Snapshot.Keys, "%q isn't what snapshot version %d lists, and signing would vouch for it", path, s.Version).
			WithHint("git log -- %s, and go back to a state that was signed; drawbridge registry check says more", path)
	}
	return nil
}

// strange finds a file that a snapshot should list and doesn't, or lists otherwise.
func (e *edit) strange(s *Snapshot) (string, bool) {
	for _, path := range slices.Sorted(maps.Keys(e.files)) {
		if want, listed := s.Files[path]; inSnapshot(path) && (!listed || !want.matches(e.files[path])) {
			return path, true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		if _, ok := e.files[path]; !ok {
			return path, true
		}
		if strings.HasSuffix(path, "/index.json") {
			if release, ok := e.strangeRelease(path); ok {
				return release, true
			}
		}
	}
	return "", false
}

// strangeRelease finds a release that isn't what its index lists.
func (e *edit) strangeRelease(index string) (string, bool) {
	var x Index
	if decode(index, e.files[index], &x) != nil {
		return index, true
	}
	for _, v := range x.Versions {
		if path := releasePath(x.Namespace, x.Name, v.Version); !v.Release.matches(e.files[path]) {
			return path, true
		}
	}
	return "", false
}

// rolesFor are the roles that have to sign a file, each by its threshold.
func (e *edit) rolesFor(path string) []Role {
	switch {
	case path == snapshotPath:
		return []Role{e.root.Roles.Snapshot}
	case path == revocationsPath:
		return []Role{e.root.Roles.Revocation}
	case path == rootPath(e.root.Version) && e.root.Version > 1:
		var before Root
		if decode(rootPath(e.root.Version-1), e.files[rootPath(e.root.Version-1)], &before) != nil {
			return nil // load has read it
		}
		return []Role{e.root.Roles.Owner, before.Roles.Owner}
	}
	return []Role{e.root.Roles.Owner}
}

// keysFor are all keys whose signature of a file counts.
func (e *edit) keysFor(path string) (keys []signing.Fingerprint) {
	for _, r := range e.rolesFor(path) {
		keys = append(keys, r.Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// toVouch are the paths whose signatures this edit answers for: what it signed,
// and with a new root everything that the roles sign.
func (e *edit) toVouch() []string {
	paths := slices.Clone(e.signed)
	if e.roots {
		paths = append(paths, revocationsPath)
		for path := range e.files {
			if strings.HasPrefix(path, "namespaces/") && strings.HasSuffix(path, ".json") {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// vouched holds what this edit signed to the keys that clients will ask for. With
// another key, or too few, all of them would refuse the registry from now on.
func (e *edit) vouched() error {
	for _, path := range e.toVouch() {
		if err := e.vouchedFor(path); err != nil {
			return err
		}
	}
	return nil
}

func (e *edit) vouchedFor(path string) error {
	for _, role := range e.rolesFor(path) {
		verdict, err := judge{e.read, e.now}.verify(path, e.files[path], role, signing.Install)
		if err == nil && path == snapshotPath {
			err = e.notRevoked(verdict, "the key that signs the snapshot is revoked")
		}
		if err == nil {
			continue
		}
		refused := refuseFor(err, reasonOf(err), role.Keys, "clients of registry %q would refuse what this key signs: %v", e.root.Registry, err)
		if refused.Reason == abi.ReasonKeyRevoked {
			return refused.WithHint("drawbridge registry rotate, to give the role to another key first")
		}
		return refused.WithHint("give --key the secret key of %s", nameKeys("", role.Keys))
	}
	return nil
}

// reasonOf keeps a revocation's reason; whatever else is wrong with a signature of
// one's own comes of the wrong key.
func reasonOf(err error) abi.Reason {
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Reason == abi.ReasonKeyRevoked {
		return e.Reason
	}
	return abi.ReasonUnknownKey
}

// notRevoked refuses what somebody signed whom the revocation list names.
func (e *edit) notRevoked(v signing.Verdict, why string) error {
	var r Revocations
	if err := e.get(revocationsPath, &r); err != nil && !errors.Is(err, abi.ErrNotFound) {
		return err
	}
	for _, s := range v.Signers {
		if slices.ContainsFunc(r.Keys, func(k RevokedKey) bool { return k.Key == s.Primary || k.Key == s.Key }) {
			return refuse(abi.ReasonKeyRevoked, []signing.Fingerprint{s.Primary}, "%s", why)
		}
	}
	return nil
}

// A Missing is a file that too few of its keys have signed yet.
type Missing struct {
	Path   string                `json:"path"`
	Keys   []signing.Fingerprint `json:"keys"`   // that may sign it and have not
	Signed int                   `json:"signed"` // how many of the role's keys have
	Need   int                   `json:"need"`
}

// missing lists what an edit still needs.
func (e *edit) missing() []Missing {
	list := []Missing{}
	for _, path := range e.toVouch() {
		for _, role := range e.rolesFor(path) {
			var left []signing.Fingerprint
			for _, k := range role.Keys {
				if !e.signedBy(path, k) {
					left = append(left, k)
				}
			}
			if n := len(role.Keys) - len(left); n < role.Threshold {
				list = append(list, Missing{path, left, n, role.Threshold})
			}
		}
	}
	return list
}

// partialHint says how several sign, where the keys given were right and others are
// missing too.
func (e *edit) partialHint(err error) error {
	told, ok := errors.AsType[*abi.Error](err)
	if !ok || told.Reason == abi.ReasonKeyRevoked {
		return err
	}
	for _, m := range e.missing() {
		some := slices.ContainsFunc(e.rolesFor(m.Path), func(r Role) bool {
			return slices.ContainsFunc(r.Keys, func(k signing.Fingerprint) bool { return e.signedBy(m.Path, k) })
		})
		if some && len(m.Keys) > 0 {
			return told.WithHint("the same with --partial, then drawbridge registry sign DIR --key %s", m.Keys[0])
		}
	}
	return err
}

func (e *edit) signedBy(path string, key signing.Fingerprint) bool {
	_, err := judge{e.read, e.now}.verify(path, e.files[path], Role{Keys: []signing.Fingerprint{key}, Threshold: 1}, signing.Install)
	return err == nil
}
