package registry

import (
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// growth compares a release with the newest one below it that users of its channel
// have: a beta that widened is none of those who follow stable versions.
func (c *checker) growth(x *Index, r abi.Release, channel Channel) {
	g := Growth{Plugin: r.Namespace + "/" + r.Name, To: r.Version, Added: []string{}, Removed: []string{}, Told: []string{}}
	before, ok := c.offeredBelow(x, r.Version, channel)
	if ok {
		g.From = before.Version
	}
	if g.From == "" {
		g.Added = release.Explain(r, nil)
	} else {
		g.compare(before, r)
	}
	c.report.Growth = append(c.report.Growth, g)
}

// compare fills in what a person is asked about when they update, and what not.
func (g *Growth) compare(before, after abi.Release) {
	for _, c := range release.Compare(before, after, nil) {
		switch c.Kind {
		case release.Wider:
			g.Added = append(g.Added, c.String())
		case release.Narrower:
			g.Removed = append(g.Removed, c.String())
		case release.Told, release.Noted:
			g.Told = append(g.Told, c.String())
		}
	}
}

// offeredBelow is the newest release below a version that a channel offers: neither
// yanked nor revoked, and for any channel but beta a stable one.
func (c *checker) offeredBelow(x *Index, version string, channel Channel) (abi.Release, bool) {
	for _, v := range slices.Backward(x.Versions) {
		if compareVersions(v.Version, version) >= 0 || v.Yanked != "" || (channel != Beta && v.Channel != Stable) {
			continue
		}
		path := releasePath(x.Namespace, x.Name, v.Version)
		data, err := c.was.files.ReadFile(path)
		if err != nil || !v.Release.matches(data) {
			return abi.Release{}, false
		}
		r, err := decodeRelease(path, data)
		if err != nil {
			return abi.Release{}, false
		}
		if _, revoked := c.was.state.revokedArtifact(v.Release.SHA256, r.Module.SHA256); !revoked {
			return r, true
		}
	}
	return abi.Release{}, false
}
