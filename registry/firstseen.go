package registry

import (
	"maps"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A seenIndex is what was seen of a plugin when it was last installed or updated.
type seenIndex struct {
	Issued   Time            `json:"issued"`   // of the snapshot that listed them
	Versions map[string]Time `json:"versions"` // when each was published
}

// compareIndex holds the dates of an index to what was seen before. A version that
// an earlier snapshot didn't list was published after that one, up to the clocks of
// two maintainers: with an older date, a snapshot key could lend an author's
// expired key the time in which it was good. The date of one that was listed stays.
func (c *catalog) compareIndex(plugin string, x *Index) error {
	seen, ok := c.state.Indexes[plugin]
	now := seenIndex{c.snapshot.Issued, map[string]Time{}}
	for _, v := range x.Versions {
		now.Versions[v.Version] = v.Published
		published, listed := seen.Versions[v.Version]
		switch {
		case listed && !published.Equal(v.Published.Time):
			return refuse(abi.ReasonTampered, c.signers, "version %q of %q is listed as published at %s, and was listed as published at %s",
				v.Version, plugin, v.Published, published)
		case ok && !listed && v.Published.Before(seen.Issued.Add(-maxIssueSkew)):
			return refuse(abi.ReasonTampered, c.signers, "version %q of %q is listed as published at %s, and the snapshot of %s didn't list it",
				v.Version, plugin, v.Published, seen.Issued)
		}
	}
	indexes := maps.Clone(c.state.Indexes)
	if indexes == nil {
		indexes = map[string]seenIndex{}
	}
	indexes[plugin] = now
	c.state.Indexes = indexes
	return nil
}
