package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
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
	if c.is, err = verifyCatalog(c.head, c.was.state, c.now); err != nil {
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
	c.namespaces()
	c.report.Changes = changesBetween(viewOf(c.was), viewOf(c.is))
	return c.chain(ctx, before)
}

// rootWarning is how long before a root's end somebody is told.
const rootWarning = 30 * 24 * time.Hour

func viewOf(c *catalog) view { return view{c.snapshot.Files, c.root.Version, c.files.ReadFile} }

// unsignedChanges refuses whatever differs beside an unchanged snapshot, but for
// files that no snapshot vouches for: new releases, and what is there for people.
func (c *checker) unsignedChanges() {
	for _, path := range slices.Sorted(maps.Keys(c.head.files)) {
		old, err := c.was.files.ReadFile(path)
		added := isMissing(err)
		if added && strings.HasPrefix(path, "connectors/") && !strings.HasSuffix(path, "/index.json") {
			continue // releases looks at it
		}
		if strings.HasSuffix(path, ".md") || path == "LICENSE" {
			continue
		}
		now, nowErr := c.head.ReadFile(path)
		if err = errors.Join(nowErr, notMissing(err)); err != nil {
			c.refuse(path, err)
		} else if added || !bytes.Equal(old, now) {
			c.refuse(path, coded(codeUnsigned, "%q changes beside a snapshot that doesn't", path))
		}
	}
}

func notMissing(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}

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
	if err := repo.fetchAs(ctx, c.source, []string{"+" + c.ref + ":" + refIncoming}, fetchHow{whole: true}); err != nil {
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
	}
}

// releases looks at what is new: versions that an index lists, and releases that
// none lists yet.
func (c *checker) releases(ctx context.Context) error {
	listed := map[string]bool{}
	for _, cat := range []*catalog{c.was, c.is} {
		if cat == nil {
			continue
		}
		for _, ref := range cat.plugins() {
			x, err := cat.index(ref)
			if err != nil {
				if cat == c.is {
					c.refuse(indexPath(ref.Namespace, ref.Name), err)
				}
				continue
			}
			for _, v := range x.Versions {
				listed[releasePath(x.Namespace, x.Name, v.Version)] = true
			}
		}
	}
	if err := c.listedReleases(ctx); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(c.head.files)) {
		if !strings.HasPrefix(path, "connectors/") || !knownFile(path) || strings.HasSuffix(path, "/index.json") {
			continue
		}
		if release, sig := strings.CutSuffix(path, ".asc"); sig {
			if _, ok := c.head.files[release]; !ok {
				c.refuse(path, coded(codeUnknown, "%q is a signature of nothing", path))
			}
			continue
		}
		if listed[path] {
			continue
		}
		c.say("checking %s", path)
		if err := c.proposal(ctx, path); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// listedReleases compares every index with the base's, and verifies what is new in
// it; where both are one, everything.
func (c *checker) listedReleases(ctx context.Context) error {
	if c.is == nil {
		return nil
	}
	for _, ref := range c.is.plugins() {
		x, err := c.is.index(ref)
		if err != nil {
			continue // it was said
		}
		old, err := c.was.index(ref)
		if errors.Is(err, abi.ErrNotFound) {
			old = &Index{Namespace: ref.Namespace, Name: ref.Name}
			c.name(ref.Plugin(), indexPath(ref.Namespace, ref.Name))
		} else if err != nil {
			c.refuse(indexPath(ref.Namespace, ref.Name), fmt.Errorf("the base: %w", err))
			continue
		}
		c.compare(old, x)
		for _, v := range x.Versions {
			if !c.whole && slices.ContainsFunc(old.Versions, func(o Version) bool {
				return o.Version == v.Version && (o.Channel == v.Channel || v.Channel != Stable)
			}) {
				continue // known, and offered to nobody new
			}
			c.say("checking %s@%s", ref.Plugin(), v.Version)
			if err := c.listed(ctx, ref, old, v); err != nil {
				return err
			}
		}
	}
	return nil
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
