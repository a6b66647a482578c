package registry

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// state verifies the proposed state against the base: as the next snapshot, or,
// where the snapshot is the base's, as a proposal that adds releases alone.
func (c *checker) state(ctx context.Context) error {
	before, err := c.was.files.ReadFile(snapshotPath)
	if err != nil {
		c.refuse(snapshotPath, err)
		return nil
	}
	after, err := c.head.ReadFile(snapshotPath)
	if err != nil {
		c.refuse(snapshotPath, malformed(snapshotPath, "it is missing: %w", err))
		return nil
	}
	seen := c.was.state.clone()
	seen.Indexes = nil // compare says more of what differs
	if c.is, err = verifyCatalog(c.head, seen, c.now); err != nil {
		c.is = nil
		c.refuse(snapshotPath, err)
	}
	if bytes.Equal(before, after) {
		c.unsignedChanges()
	}
	if c.is == nil {
		return nil
	}
	expires := c.is.snapshot.Expires.Time
	c.report.Snapshot, c.report.Expires = c.is.snapshot.Version, &expires
	if c.is.expired != "" {
		c.refuse(snapshotPath, refuse(abi.ReasonSnapshotExpired, c.is.signers, "%s", c.is.expired))
	} else if c.is.ageing != "" {
		c.notice(snapshotPath, string(abi.ReasonSnapshotExpired), "%s", c.is.ageing)
	}
	if until := c.is.root.Expires; until.Sub(c.now) < rootWarning {
		c.notice(rootPath(c.is.root.Version), string(abi.ReasonSnapshotExpired), "the root expires at %s: drawbridge registry rotate renews it", until)
	}
	c.sealed()
	c.certificates()
	c.roots()
	c.isIndex = indexes(c.is, c.refuse)
	c.namespaces()
	c.versions()
	c.report.Changes = changesBetween(viewOf(c.was), viewOf(c.is))
	return c.chain(ctx, before)
}

// roots keeps the roots that there were, and whoever pinned any owner of them: a new
// client goes from that key to the newest root.
func (c *checker) roots() {
	same := true
	owners := map[signing.Fingerprint]bool{}
	for n := int64(1); n <= c.was.root.Version; n++ {
		path := rootPath(n)
		same = same && c.same(signaturePath(path))
		if !c.same(path) {
			c.refuse(path, coded(codeHistory, "root version %d is another one now", n))
			continue
		}
		var root Root
		if data, err := c.head.ReadFile(path); err != nil || decode(path, data, &root) != nil {
			continue // the chain was refused, or it is before the pinned key's
		}
		for _, k := range root.Roles.Owner.Keys {
			owners[k] = true
			_, there := c.base.files[keyPath(k)]
			same = same && (!there || c.same(keyPath(k)))
		}
	}
	if same && c.is.root.Version == c.was.root.Version {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(owners)) {
		if _, err := rootChain(c.base.ReadFile, k, c.now); err != nil {
			continue
		}
		if _, err := rootChain(c.head.ReadFile, k, c.now); err != nil {
			c.refuse(rootPath(c.is.root.Version), fmt.Errorf("for who pinned owner %s: %w", k, err))
		}
	}
}

// versions asks for another version, and time, of what has other bytes than before.
func (c *checker) versions() {
	for _, path := range slices.Sorted(maps.Keys(c.is.snapshot.Files)) {
		ns, isNamespace := namespaceOf(path)
		if c.was.snapshot.Files[path] == c.is.snapshot.Files[path] {
			continue
		}
		was, is := int64(0), int64(1)
		if path == revocationsPath {
			was, is = c.was.state.Revocations, c.is.state.Revocations
		} else if isNamespace {
			was, is = c.was.state.Namespaces[ns], c.is.state.Namespaces[ns]
		}
		if is <= was {
			c.refuse(path, coded(codeHistory, "%q is another one now, and its version %d isn't above %d", path, is, was))
		}
	}
	if is, was := c.is.snapshot.Issued, c.was.snapshot.Issued; is.Before(was.Add(-maxIssueSkew)) {
		c.refuse(snapshotPath, coded(codeDate, "the snapshot is issued at %s, and the one in force at %s", is, was))
	}
}

// rootWarning is how long before a root's end somebody is told.
const rootWarning = 30 * 24 * time.Hour

func viewOf(c *catalog) view { return view{c.snapshot.Files, c.root.Version, c.files.ReadFile} }

// chain holds the new snapshot to the hash of the one in force; where it is not the
// very next one, through those between.
func (c *checker) chain(ctx context.Context, before []byte) error {
	is, was := c.is.snapshot, c.was.snapshot
	between := false
	if is.Version > was.Version+1 {
		var err error
		if between, err = c.linked(ctx, is.Version-was.Version, hashOf(before)); err != nil {
			return err
		}
	}
	switch {
	case is.Version == was.Version || is.Previous == hashOf(before) || between:
	case is.Previous == "" && is.Root > was.Root && !slices.Equal(c.is.root.Roles.Snapshot.Keys, c.was.root.Roles.Snapshot.Keys):
		c.notice(snapshotPath, codeChain, "snapshots are counted from 1 again, under other keys")
	default:
		c.refuse(snapshotPath, coded(codeChain, "snapshot version %d follows another one than version %d, which is in force", is.Version, was.Version))
	}
	return nil
}

// linked goes back through at most n snapshots of the proposed branch, each of which
// has to name the one before it, until one names the hash.
func (c *checker) linked(ctx context.Context, n int64, hash string) (bool, error) {
	repo, err := c.scratch(ctx, c.source.via)
	if err != nil {
		return false, err
	}
	if _, err := repo.fetchNamed(ctx, c.source, c.ref, refIncoming, fetchHow{whole: true}); err != nil {
		c.refuse("", fetchError(err, c.source))
		return false, nil
	}
	objects, err := repo.open(ctx)
	if err != nil {
		return false, err
	}
	defer objects.close()
	list, _, err := snapshotsOf(objects, int(min(n, maxVersions)))
	if err != nil {
		c.refuse(snapshotPath, err)
		return false, nil
	}
	if now, err := c.head.ReadFile(snapshotPath); err != nil || len(list) == 0 || !bytes.Equal(now, list[0].bytes) {
		return false, nil // the ref is another one by now
	}
	for i, p := range list {
		switch {
		case p.snapshot.Previous == hash:
			return true, nil
		case i+1 == len(list) || p.snapshot.Previous != hashOf(list[i+1].bytes):
			return false, nil
		}
	}
	return false, nil
}

// namespaces verifies every namespace, and refuses new ones that imitate others.
func (c *checker) namespaces() {
	var old []string
	for path := range c.was.snapshot.Files {
		if ns, ok := namespaceOf(path); ok {
			old = append(old, ns)
		}
	}
	slices.Sort(old)
	for _, path := range slices.Sorted(maps.Keys(c.is.snapshot.Files)) {
		ns, ok := namespaceOf(path)
		if !ok {
			continue
		}
		if _, err := c.is.namespace(ns); err != nil {
			c.refuse(path, err)
		}
		if slices.Contains(old, ns) || slices.Contains(c.opts.Allow, ns) {
			continue
		}
		for _, o := range old {
			if why, ok := near(ns, o, minNearNamespace); ok {
				c.refuse(path, coded(codeName, "namespace %q looks like %q: they %s", ns, o, why))
			}
		}
		old = append(old, ns) // of two that are new, one may imitate the other
	}
}

// compare holds an index to the one in force: versions only grow, at the end, on
// the day on which they are listed.
func (c *checker) compare(old, x *Index) {
	path := indexPath(x.Namespace, x.Name)
	for i, o := range old.Versions {
		j := slices.IndexFunc(x.Versions, func(v Version) bool { return v.Version == o.Version })
		switch {
		case j < 0:
			c.refuse(path, coded(codeHistory, "version %q was published, and is gone", o.Version))
		case x.Versions[j].Release != o.Release || !x.Versions[j].Published.Equal(o.Published.Time):
			c.refuse(path, coded(codeHistory, "version %q was published, and is another one now", o.Version))
		case j != i:
			c.refuse(path, coded(codeNotHigher, "a version is put in below %q, which was published", o.Version))
		}
	}
	for _, v := range x.Versions {
		known := slices.ContainsFunc(old.Versions, func(o Version) bool { return o.Version == v.Version })
		early, late := v.Published.Before(c.was.snapshot.Issued.Time), v.Published.After(c.is.snapshot.Issued.Time)
		if !known && !c.whole && (early || late) {
			c.refuse(path, coded(codeDate, "version %q is dated %s, and comes between the snapshots of %s and %s",
				v.Version, v.Published, c.was.snapshot.Issued, c.is.snapshot.Issued))
		}
	}
}
