package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// An Update is what a newer version of an installed plugin would be.
type Update struct {
	Entry  Entry  // what is installed
	Review Review // what would take its place; the zero value if nothing would
	// Err is why there is no telling: its registry can't be reached or has expired,
	// or the newest version was refused.
	Err error

	proposal *proposal
}

// Newer reports whether there is something to update to.
func (u Update) Newer() bool { return u.proposal != nil }

// Updates fetches the newest snapshot of each registry that one of the plugins
// came from, once, and says what the newest version of each plugin is by its
// channel. No names are all that is installed. A pinned plugin is looked up like
// the others: whether it is left as it is, is the caller's to decide.
func (c *Client) Updates(ctx context.Context, plugins []string) ([]Update, error) {
	var list []Update
	err := c.exclusive(func() error {
		lock, err := readLock(c.lockPath())
		if err != nil {
			return err
		}
		for _, name := range plugins {
			if lock.find(name) == nil {
				return lock.missing(name)
			}
		}
		fetched := map[string]error{}
		for _, e := range lock.Plugins {
			if len(plugins) > 0 && !slices.Contains(plugins, e.Plugin()) {
				continue
			}
			if _, ok := fetched[e.Registry]; !ok {
				_, fetched[e.Registry] = c.refresh(ctx, e.Registry)
			}
			u := Update{Entry: e, Err: fetched[e.Registry]}
			if u.Err == nil {
				u.proposal, u.Err = c.newer(ctx, e, lock)
			}
			if u.proposal != nil {
				u.Review = u.proposal.review
			}
			list = append(list, u)
		}
		return ctx.Err()
	})
	return list, err
}

// newer is the proposal of a version above e, or nil if there is none.
func (c *Client) newer(ctx context.Context, e Entry, lock *Lock) (*proposal, error) {
	var p *proposal
	err := c.withCatalog(ctx, e.Registry, func(cat *catalog) (err error) {
		p, err = c.proposalOf(cat, Ref{Registry: e.Registry, Namespace: e.Namespace, Name: e.Name}, lock, InstallOptions{AllowDowngrade: true})
		return err
	})
	switch {
	case errors.Is(err, abi.ErrNotFound): // no version is left that anybody should have
		return nil, nil //nolint:nilnil // nothing is newer
	case err != nil:
		return nil, err
	case compareVersions(p.v.Version, e.Version) <= 0:
		return nil, nil //nolint:nilnil // nothing is newer
	}
	return p, nil
}

// Apply installs what an update proposed, which somebody agreed to at the time of
// the call. It is refused with confirmation_required if it is no longer what was
// proposed. Only Admit is read of opts.
func (c *Client) Apply(ctx context.Context, u Update, opts InstallOptions) (Entry, error) {
	if u.proposal == nil {
		return Entry{}, errors.New("applying an update that proposes nothing")
	}
	consented := At(c.cfg.Clock())
	var done Entry
	err := c.exclusive(func() (err error) {
		done, err = c.carryOut(ctx, u.proposal, consented, InstallOptions{Admit: opts.Admit})
		return err
	})
	return done, err
}

// Standing tells why an installed plugin must not run any more, by what was last
// seen of its registry's revocations. It reads none of the plugin's files.
func (c *Client) Standing(ctx context.Context, plugin string) error {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return err
	}
	e := lock.find(plugin)
	if e == nil {
		return lock.missing(plugin)
	}
	s, _, err := c.registryState(e.Registry)
	if err != nil {
		return err
	}
	return c.mended(ctx, *e, e.checkRevoked(s))
}

// Release reads the release of an installed plugin as the lock pins it, also of
// one that is revoked: to name what may not be used.
func (c *Client) Release(plugin string) (abi.Release, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return abi.Release{}, err
	}
	e := lock.find(plugin)
	if e == nil {
		return abi.Release{}, lock.missing(plugin)
	}
	return c.readRelease(*e)
}
