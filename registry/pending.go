package registry

import (
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// follows checks that a pending change is the next state after before, and marks
// what it has to be vouched for: everything that differs.
func (e *edit) follows(before *edit) error {
	var s Snapshot
	if err := e.get(snapshotPath, &s); err != nil {
		return err
	}
	e.roots = e.root.Version > before.root.Version
	restarted := s.Previous == "" && e.roots && !slices.Equal(e.root.Roles.Snapshot.Keys, before.root.Roles.Snapshot.Keys)
	var last Snapshot
	if err := before.get(snapshotPath, &last); err != nil {
		return err
	}
	next := s.Previous == hashOf(before.files[snapshotPath]) && s.Version == last.Version+1
	if !next && !restarted {
		return abi.Errorf(abi.ErrInvalidArgs, "", "the pending change was made for another state of the registry than the one in force").
			WithHint("git branch -D drawbridge-pending, and make the change again")
	}
	if path, ok := e.strange(&s); ok {
		return refuse(abi.ReasonTampered, nil, "%q isn't what the pending snapshot lists", path)
	}
	all := maps.Clone(before.files)
	maps.Copy(all, e.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if string(before.files[path]) == string(e.files[path]) {
			continue
		}
		if err := e.followsAt(strings.TrimSuffix(path, ".asc"), path, before); err != nil {
			return err
		}
	}
	return nil
}

// followsAt looks at one file that differs, or whose signature at path does. What no
// snapshot vouches for has to be good already.
func (e *edit) followsAt(signed, path string, before *edit) error {
	switch {
	case isRelease(signed):
		if e.lists(signed) {
			return e.releaseSigned(signed)
		}
	case strings.HasPrefix(signed, "root/") && before.files[signed] != nil:
		return refuse(abi.ReasonTampered, nil, "the pending change rewrites %q", path)
	case strings.HasPrefix(path, "keys/"):
		return e.certificateFollows(path, before)
	case signed == snapshotPath, signed == revocationsPath, signed == rootPath(e.root.Version), strings.HasPrefix(signed, "namespaces/"):
		e.signed = append(e.signed, signed)
	}
	return nil
}

// certificateFollows keeps a key's own revocation in its certificate.
func (e *edit) certificateFollows(path string, before *edit) error {
	fpr := signing.Fingerprint(strings.TrimSuffix(strings.TrimPrefix(path, "keys/"), ".asc"))
	is, err := signing.ReadCertificate(e.files[path], fpr)
	if err != nil {
		return refuseFor(err, abi.ReasonMalformed, []signing.Fingerprint{fpr}, "the pending %q isn't the certificate of that key: %v", path, err)
	}
	was, err := signing.ReadCertificate(before.files[path], fpr)
	if err == nil && !is.KeepsRevocationsOf(was) {
		return refuse(abi.ReasonKeyRevoked, []signing.Fingerprint{fpr}, "certificate %s was revoked, and the pending copy of it lacks the revocation", fpr)
	}
	return nil
}

// releaseSigned verifies the publisher's signature of a release that is listed, which
// no snapshot vouches for.
func (e *edit) releaseSigned(path string) error {
	parts := strings.Split(strings.TrimSuffix(path, ".json"), "/")
	_, v, err := e.version(Ref{Namespace: parts[1], Name: parts[2]}, parts[3])
	if err != nil {
		return err
	}
	n, err := e.namespace(parts[1])
	if err != nil {
		return err
	}
	_, err = judge{e.read, v.Published.Time}.verify(path, e.files[path], Role{Keys: n.publishersAt(v.Published), Threshold: 1}, signing.Install)
	return err
}
