package registry

import (
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// files is a registry's metadata: the tree of one commit, or a map in a test.
type files interface {
	// ReadFile returns a file's bytes, at most abi.MaxMetadata, or an error that
	// wraps fs.ErrNotExist.
	ReadFile(path string) ([]byte, error)
}

// A reader reads one metadata file.
type reader func(path string) ([]byte, error)

// A judge verifies signatures with the certificates that a registry hands out.
// A certificate counts only under the fingerprint that was asked for.
type judge struct {
	read reader
	now  time.Time
}

// verify checks the detached signature of a file against keys that may sign it.
func (j judge) verify(path string, data []byte, role Role, mode signing.Mode) (signing.Verdict, error) {
	sig, err := j.read(signaturePath(path))
	if isMissing(err) {
		return signing.Verdict{}, refuse(abi.ReasonUnsigned, role.Keys, "%q isn't signed", path)
	}
	if err != nil {
		return signing.Verdict{}, err
	}
	certs, err := j.certificates(role.Keys)
	if err != nil {
		return signing.Verdict{}, err
	}
	verdict, err := signing.Verify(data, sig, signing.Trust{
		Certificates: certs, Fingerprints: role.Keys, Threshold: role.Threshold, Mode: mode, Now: j.now,
	})
	if err != nil {
		return signing.Verdict{}, because(err, path, role.Keys)
	}
	return verdict, nil
}

// certificates collects the certificates of keys. One that is missing or can't be
// read is left out: its owner's signature then counts for nothing.
func (j judge) certificates(keys []signing.Fingerprint) ([]byte, error) {
	var all []byte
	for _, f := range keys {
		data, err := j.read(keyPath(f))
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if cert, err := signing.ReadCertificate(data, f); err == nil {
			all = append(all, cert.Raw...)
		}
	}
	return all, nil
}

// A lineage is the roots from the first that a pinned key owns and signed to the
// newest.
type lineage struct {
	newest *Root
	data   []byte   // of the newest
	hashes []string // of all of them, the oldest first
}

// rootChain follows the roots. Older ones may rest on keys that have expired since; the
// newest may not.
func rootChain(r reader, pinned signing.Fingerprint, now time.Time) (*lineage, error) {
	l, err := followRoots(r, pinned, now)
	if err != nil {
		return nil, err
	}
	if _, err := (judge{r, now}).verify(rootPath(l.newest.Version), l.data, l.newest.Roles.Owner, signing.Install); err != nil {
		return nil, err
	}
	return l, nil
}

// followRoots goes from the first root that the pinned key owns and signed to the
// newest.
func followRoots(r reader, pinned signing.Fingerprint, now time.Time) (*lineage, error) {
	var l lineage
	for n := int64(1); n <= maxRoots; n++ {
		data, err := r(rootPath(n))
		if isMissing(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		next, err := nextRoot(judge{r, now}, l.newest, pinned, n, data)
		if err != nil {
			return nil, err
		}
		if next != nil {
			l.newest, l.data, l.hashes = next, data, append(l.hashes, hashOf(data))
		}
	}
	if l.newest == nil {
		return nil, refuse(abi.ReasonUnknownKey, []signing.Fingerprint{pinned},
			"no root of this registry is signed by the pinned key")
	}
	return &l, nil
}

// firstOwner returns a key that owns and signed the first root: what stands for the
// pin of somebody who trusts these files already.
func firstOwner(r reader, now time.Time) (signing.Fingerprint, error) {
	var root Root
	data, err := r(rootPath(1))
	if isMissing(err) {
		return "", malformed(rootPath(1), "it is missing")
	}
	if err == nil {
		err = decode(rootPath(1), data, &root)
	}
	if err != nil {
		return "", err
	}
	verdict, err := judge{r, now}.verify(rootPath(1), data, root.Roles.Owner, signing.Archive)
	return verdict.Signer().Primary, err
}

// nextRoot verifies root n. Before the first trusted one it returns nil for a
// root that the pinned key didn't sign.
func nextRoot(j judge, trusted *Root, pinned signing.Fingerprint, n int64, data []byte) (*Root, error) {
	path := rootPath(n)
	var root Root
	if err := decode(path, data, &root); err != nil {
		return nil, err
	}
	if root.Version != n {
		return nil, malformed(path, "it says version %d", root.Version)
	}
	if trusted == nil && !slices.Contains(root.Roles.Owner.Keys, pinned) {
		return nil, nil
	}
	verdict, err := j.verify(path, data, root.Roles.Owner, signing.Archive)
	if err != nil {
		return nil, err
	}
	if trusted == nil {
		if !slices.ContainsFunc(verdict.Signers, func(s signing.Signer) bool { return s.Primary == pinned }) {
			return nil, nil
		}
		return &root, nil
	}
	if root.Registry != trusted.Registry {
		return nil, refuse(abi.ReasonWrongName, trusted.Roles.Owner.Keys,
			"%q is of registry %q, not %q", path, root.Registry, trusted.Registry)
	}
	if _, err := j.verify(path, data, trusted.Roles.Owner, signing.Archive); err != nil {
		return nil, err
	}
	return &root, nil
}

// checkRootAgainst compares the newest root with what was seen before.
func checkRootAgainst(old *state, root *Root, hash string) error {
	keys := root.Roles.Owner.Keys
	switch {
	case old.Registry != "" && old.Registry != root.Registry:
		return refuse(abi.ReasonWrongName, keys, "registry %q, want %q", root.Registry, old.Registry)
	case root.Version < old.Root:
		return refuse(abi.ReasonSnapshotOlder, keys, "root version %d, version %d was seen", root.Version, old.Root)
	case root.Version == old.Root && hash != old.RootHash:
		return refuse(abi.ReasonTampered, keys, "root version %d has two contents", root.Version)
	}
	return nil
}

// keysOf lists who signed.
func keysOf(v signing.Verdict) (list []signing.Fingerprint) {
	for _, s := range v.Signers {
		list = append(list, s.Primary)
	}
	return list
}
