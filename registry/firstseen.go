package registry

import (
	"maps"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A seenIndex is what was seen of a plugin when it was last installed or updated.
type seenIndex struct {
	Newest string `json:"newest"` // version
	Issued Time   `json:"issued"` // of the snapshot that listed it as the newest
}

// compareIndex holds the dates of an index to what was seen before. A version that
// an earlier snapshot didn't list was published after that one, up to the clocks of
// two maintainers: with an older date, a snapshot key could lend an author's
// expired key the time in which it was good.
func (c *catalog) compareIndex(plugin string, x *Index) error {
	seen, ok := c.state.Indexes[plugin]
	for _, v := range x.Versions {
		if ok && compareVersions(v.Version, seen.Newest) > 0 && v.Published.Before(seen.Issued.Add(-maxIssueSkew)) {
			return refuse(abi.ReasonTampered, c.signers, "version %q of %q is listed as published at %s, and the snapshot of %s didn't list it",
				v.Version, plugin, v.Published, seen.Issued)
		}
	}
	if n := len(x.Versions); n > 0 && (!ok || compareVersions(x.Versions[n-1].Version, seen.Newest) >= 0) {
		indexes := maps.Clone(c.state.Indexes)
		if indexes == nil {
			indexes = map[string]seenIndex{}
		}
		indexes[plugin] = seenIndex{x.Versions[n-1].Version, c.snapshot.Issued}
		c.state.Indexes = indexes
	}
	return nil
}
