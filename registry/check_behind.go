package registry

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// catchUp looks whether the proposal was made on an older state than the base's: a
// refresh, or another proposal, came between. If so, it goes on with what a merge
// into the base makes of it, file by file. The caller closes what comes back, which
// may be nil.
func (c *checker) catchUp(ctx context.Context) (*objects, error) {
	data, err := c.head.ReadFile(snapshotPath)
	var s Snapshot
	if err != nil || decode(snapshotPath, data, &s) != nil || s.Registry != c.was.root.Registry || s.Version >= c.was.snapshot.Version {
		return nil, nil //nolint:nilerr // a snapshot that can't be read is refused later
	}
	repo, err := c.scratch(ctx, c.source.via)
	if err != nil {
		return nil, err
	}
	ancestor, err := c.ancestor(ctx, repo)
	if ancestor == c.report.Commit {
		return nil, err // an older state of the base itself
	}
	if err != nil || ancestor == "" {
		c.notice(snapshotPath, codeConflict, "it was made on snapshot version %d, and what it has in common with version %d isn't there: git fetch --unshallow, or propose again", s.Version, c.was.snapshot.Version)
		return nil, err
	}
	objects, err := repo.open(ctx)
	if err != nil {
		return nil, err
	}
	old, err := walkTree(objects, ancestor, func(string, error) {})
	if err != nil {
		c.refuse("", err)
		return objects, nil
	}
	c.notice(snapshotPath, codeConflict, "it was made on snapshot version %d: what is checked is a merge into version %d", s.Version, c.was.snapshot.Version)
	c.head = &tree{objects: objects, files: c.merge(old.files)}
	return objects, nil
}

// ancestor fetches both histories and finds the commit that they have in common;
// empty if there is none, or more than one.
func (c *checker) ancestor(ctx context.Context, repo repository) (string, error) {
	for _, f := range []struct {
		from        address
		ref, to, id string
	}{{c.source, c.ref, refHead, c.report.Commit}, {c.home, c.baseRef, refBase, c.report.Base}} {
		if _, err := repo.fetchNamed(ctx, f.from, f.ref, f.to, fetchHow{whole: true}); err != nil {
			return "", fetchError(err, f.from)
		}
		if now, err := repo.commitOf(ctx, f.to); err != nil || now != f.id {
			return "", err // it is another one by now
		}
	}
	out, err := repo.run(ctx, nil, "merge-base", "--all", c.report.Commit, c.report.Base)
	if ids := strings.Fields(out); err == nil && len(ids) == 1 {
		return ids[0], nil
	}
	return "", ctx.Err()
}

// merge makes the base's files those that a merge of the proposal leads to. Both may
// not have changed one file.
func (c *checker) merge(old map[string]string) map[string]string {
	merged := maps.Clone(c.base.files)
	all := maps.Clone(old)
	maps.Copy(all, c.head.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		was, theirs, ours := old[path], c.base.files[path], c.head.files[path]
		switch {
		case ours == was || ours == theirs:
		case theirs != was:
			c.refuse(path, coded(codeConflict, "%q was changed here and in the base", path))
		case ours == "":
			delete(merged, path)
		default:
			merged[path] = ours
		}
	}
	return merged
}
