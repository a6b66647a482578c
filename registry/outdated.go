package registry

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Standing compares what is installed of a plugin with what its registry has.
type Standing struct {
	Entry     Entry
	Channel   Channel      // of the installed version; empty if the registry lists it no more
	Installed *abi.Release // nil if it is damaged
	Yanked    string       // why the installed version was taken back; empty if it wasn't
	Revoked   error        // *abi.Error: why it isn't run any more; nil if it is
	Newest    *Version     // on the channel that is followed; nil if what is installed is the newest
	Release   *abi.Release // of Newest; nil if it is refused
	Problem   error        // why the registry, or the newest version, can't be looked up or be installed
}

// Standings compares every installed plugin with the copy of its registry that the
// last refresh left. It needs no network.
func (c *Client) Standings(ctx context.Context) ([]Standing, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, err
	}
	list := []Standing{}
	by := map[string][]Entry{}
	for _, e := range lock.Plugins {
		by[e.Registry] = append(by[e.Registry], e)
	}
	for id, entries := range by {
		first := len(list)
		for _, e := range entries {
			list = append(list, c.standing(ctx, e))
		}
		err := c.withCatalog(ctx, id, func(cat *catalog) error {
			for i := range entries {
				list[first+i].compare(cat)
			}
			return nil
		})
		for i := range entries {
			if err != nil {
				list[first+i].Problem = err
			}
		}
	}
	slices.SortFunc(list, func(a, b Standing) int { return strings.Compare(a.Entry.Plugin(), b.Entry.Plugin()) })
	return list, nil
}

// Yanked says of each installed version that was taken back why, by its plugin, as
// the registries' copies tell that the last refresh left. A copy that can't be read
// tells nothing.
func (c *Client) Yanked(ctx context.Context) (map[string]string, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, err
	}
	by := map[string][]Standing{}
	for _, e := range lock.Plugins {
		by[e.Registry] = append(by[e.Registry], Standing{Entry: e})
	}
	yanked := map[string]string{}
	for id, list := range by {
		_ = c.withCatalog(ctx, id, func(cat *catalog) error { // whatever is wrong with it is told elsewhere
			for _, s := range list {
				if s.compare(cat); s.Yanked != "" {
					yanked[s.Entry.Plugin()] = s.Yanked
				}
			}
			return nil
		})
	}
	return yanked, nil
}

// standing is what is known without the registry's copy.
func (c *Client) standing(ctx context.Context, e Entry) Standing {
	s := Standing{Entry: e}
	if r, err := c.readRelease(e); err == nil {
		s.Installed = &r
	}
	if st, _, err := c.registryState(e.Registry); err == nil {
		s.Revoked = c.mended(ctx, e, e.checkRevoked(st))
	}
	return s
}

func (s *Standing) compare(cat *catalog) {
	ref := Ref{Registry: s.Entry.Registry, Namespace: s.Entry.Namespace, Name: s.Entry.Name}
	x, err := cat.index(ref)
	if err != nil {
		s.Problem = err
		return
	}
	for _, v := range x.Versions {
		if v.Version == s.Entry.Version {
			s.Channel, s.Yanked = v.Channel, v.Yanked
		}
	}
	v, ok, err := cat.choose(x, ref.following(&s.Entry), "")
	if err != nil || !ok || compareVersions(v.Version, s.Entry.Version) <= 0 {
		s.Problem = cmp.Or(err, cat.requireFresh())
		return
	}
	s.Newest = &v
	good, err := cat.release(ref, v)
	if err != nil {
		s.Problem = err
		return
	}
	s.Release, s.Problem = &good.Release, cat.requireFresh()
}
