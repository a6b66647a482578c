package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A catalog is one verified snapshot of a registry. Making one runs the checks of
// the whole registry (root chain, snapshot, revocations); the namespace, index and
// release of a plugin are verified when they are asked for, so that one that is
// bad doesn't stop the others.
type catalog struct {
	files    files
	now      time.Time
	root     *Root
	snapshot *Snapshot
	signers  []signing.Fingerprint // of the snapshot
	state    *state                // to be written before the catalog is used
	expired  string                // why nothing new may be installed; empty if it may
	ageing   string                // that this is near; empty if it isn't
	spaces   map[string]*Namespace // that were verified
}

// verifyCatalog verifies files against a pinned key and what was seen before. old
// isn't changed. The order matters: nothing is read before what vouches for it.
func verifyCatalog(f files, old *state, now time.Time) (*catalog, error) {
	c := &catalog{files: f, now: now, state: old.clone(), spaces: map[string]*Namespace{}}
	roots, err := rootChain(f.ReadFile, old.Pinned, now)
	if err != nil {
		return nil, err
	}
	if err := checkRootAgainst(old, roots.newest, hashOf(roots.data)); err != nil {
		return nil, err
	}
	c.root = roots.newest
	c.takeRoot(roots)
	if err := c.readSnapshot(); err != nil {
		return nil, err
	}
	if err := c.readRevocations(); err != nil {
		return nil, err
	}
	c.noteExpiry()
	return c, nil
}

// takeRoot records the root. New snapshot keys in a newer root start the count of
// snapshots again: it is how owners recover from a thief who signed a snapshot
// with a version that can't be topped.
func (c *catalog) takeRoot(roots *lineage) {
	s, keys := c.state, c.root.Roles.Snapshot.Keys
	if c.root.Version > s.Root && !slices.Equal(keys, s.SnapshotKeys) {
		s.Snapshot, s.SnapshotHash = 0, ""
	}
	s.Registry, s.Root, s.RootHash, s.SnapshotKeys = c.root.Registry, c.root.Version, hashOf(roots.data), keys
	s.Roots = roots.hashes
}

// readSnapshot verifies the snapshot and compares it with the newest one seen.
func (c *catalog) readSnapshot() error {
	data, err := c.files.ReadFile(snapshotPath)
	if isMissing(err) {
		return malformed(snapshotPath, "it is missing")
	}
	if err != nil {
		return err
	}
	verdict, err := judge{c.files.ReadFile, c.now}.verify(snapshotPath, data, c.root.Roles.Snapshot, signing.Install)
	if err != nil {
		return err
	}
	var s Snapshot
	if err := decode(snapshotPath, data, &s); err != nil {
		return err
	}
	c.snapshot, c.signers = &s, keysOf(verdict)
	if err := c.compareSnapshot(hashOf(data)); err != nil {
		return err
	}
	c.state.Snapshot, c.state.SnapshotHash, c.state.Expires = s.Version, hashOf(data), s.Expires
	return c.checkRoleKeys()
}

func (c *catalog) compareSnapshot(hash string) error {
	s, seen := c.snapshot, c.state
	switch {
	case s.Registry != c.root.Registry:
		return refuse(abi.ReasonWrongName, c.signers, "snapshot of registry %q, want %q", s.Registry, c.root.Registry)
	case s.Root != c.root.Version:
		return refuse(abi.ReasonTampered, c.signers, "snapshot for root version %d beside root version %d",
			s.Root, c.root.Version)
	case s.Version < seen.Snapshot:
		return refuse(abi.ReasonSnapshotOlder, c.signers, "snapshot version %d of registry %q, version %d was seen",
			s.Version, s.Registry, seen.Snapshot)
	case s.Version == seen.Snapshot && hash != seen.SnapshotHash:
		return refuse(abi.ReasonTampered, c.signers, "snapshot version %d of registry %q has two contents",
			s.Version, s.Registry)
	case s.Issued.After(c.now.Add(maxIssueSkew)):
		return refuse(abi.ReasonMalformed, c.signers, "snapshot of registry %q is issued in the future, %s",
			s.Registry, s.Issued)
	}
	return nil
}

// checkRoleKeys compares the certificates that were used before there was a
// snapshot with what the snapshot says about them.
func (c *catalog) checkRoleKeys() error {
	for _, r := range []Role{c.root.Roles.Owner, c.root.Roles.Snapshot, c.root.Roles.Revocation} {
		for _, k := range r.Keys {
			if _, err := c.read(keyPath(k)); err != nil && !errors.Is(err, abi.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

// read returns a file that the snapshot lists, with the bytes that it lists.
// The error for a file that isn't listed is abi.ErrNotFound.
func (c *catalog) read(path string) ([]byte, error) {
	want, ok := c.snapshot.Files[path]
	if !ok {
		return nil, abi.Errorf(abi.ErrNotFound, "", "registry %q has no %q", c.root.Registry, path)
	}
	data, err := c.files.ReadFile(path)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	if err != nil || !want.matches(data) {
		return nil, refuse(abi.ReasonTampered, c.signers, "%q isn't what snapshot version %d lists",
			path, c.snapshot.Version)
	}
	return data, nil
}

// readBeside is read for what a judge asks for: certificates are in the snapshot,
// signatures aren't, because they can be changed without becoming invalid.
func (c *catalog) readBeside(path string) ([]byte, error) {
	if !strings.HasPrefix(path, "keys/") {
		return c.files.ReadFile(path)
	}
	data, err := c.read(path)
	if errors.Is(err, abi.ErrNotFound) {
		return nil, missingError{path}
	}
	return data, err
}

func (c *catalog) judge() judge { return judge{c.readBeside, c.now} }

// readRevocations takes the revocation list in, before anything else is looked at.
func (c *catalog) readRevocations() error {
	data, err := c.read(revocationsPath)
	if errors.Is(err, abi.ErrNotFound) {
		return malformed(revocationsPath, "it is missing")
	}
	if err != nil {
		return err
	}
	role := c.root.Roles.Revocation
	verdict, err := c.judge().verify(revocationsPath, data, role, signing.Install)
	if err != nil {
		return err
	}
	var r Revocations
	if err := decode(revocationsPath, data, &r); err != nil {
		return err
	}
	if r.Registry != c.root.Registry {
		return refuse(abi.ReasonWrongName, keysOf(verdict), "revocations of registry %q, want %q", r.Registry, c.root.Registry)
	}
	if err := c.state.takeRevocations(&r); err != nil {
		return refuseFor(err, abi.ReasonSnapshotOlder, keysOf(verdict), "%v", err)
	}
	return c.checkNotRevoked(c.signers, snapshotPath)
}

// checkNotRevoked refuses what one of the keys signed if that key is revoked.
func (c *catalog) checkNotRevoked(keys []signing.Fingerprint, path string) error {
	for _, k := range keys {
		if r, ok := c.state.revokedKey(k); ok {
			return refuse(abi.ReasonKeyRevoked, []signing.Fingerprint{k},
				"%q is signed by a key that is revoked: %q", path, r.Reason)
		}
	}
	return nil
}

// noteExpiry records whether the snapshot has expired, or is past half of its life,
// which is when a registry that is kept up has a newer one.
func (c *catalog) noteExpiry() {
	s := c.snapshot
	half := s.Issued.Add(s.Expires.Sub(s.Issued.Time) / 2)
	if !c.now.Before(half) {
		c.ageing = fmt.Sprintf("snapshot version %d of registry %q expires at %s and wasn't renewed",
			s.Version, s.Registry, s.Expires)
	}
	switch {
	case !c.now.Before(s.Expires.Time):
		c.expired = fmt.Sprintf("snapshot version %d of registry %q expired at %s", s.Version, s.Registry, s.Expires)
	case !c.now.Before(c.root.Expires.Time):
		c.expired = fmt.Sprintf("root version %d of registry %q expired at %s",
			c.root.Version, c.root.Registry, c.root.Expires)
	}
}

// requireFresh refuses new installs from an expired registry.
func (c *catalog) requireFresh() error {
	if c.expired == "" {
		return nil
	}
	return refuse(abi.ReasonSnapshotExpired, c.signers, "%s", c.expired).WithHint("%s", RenewHint(c.root.Registry))
}

// RenewHint says what helps where nothing new of a registry is trusted, because what
// its owners signed has expired: nobody else can.
func RenewHint(id string) string {
	return fmt.Sprintf("ask the owner of registry %s for a newer snapshot (drawbridge registry refresh), then drawbridge registry fetch %s", id, id)
}

// plugins lists every plugin that the snapshot has an index of.
func (c *catalog) plugins() (list []Ref) {
	for path := range c.snapshot.Files {
		parts := strings.Split(path, "/")
		if len(parts) == 4 && parts[0] == "connectors" && parts[3] == "index.json" &&
			validName(parts[1]) && validName(parts[2]) {
			list = append(list, Ref{Registry: c.root.Registry, Namespace: parts[1], Name: parts[2]})
		}
	}
	slices.SortFunc(list, func(a, b Ref) int { return strings.Compare(a.Plugin(), b.Plugin()) })
	return list
}

// A missingError says that a file isn't there.
type missingError struct{ path string }

func (e missingError) Error() string      { return fmt.Sprintf("%q: file does not exist", e.path) }
func (missingError) Is(target error) bool { return isMissing(target) }
