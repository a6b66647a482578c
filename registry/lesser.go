package registry

import (
	"context"
	"errors"
	"reflect"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// maxLesser is how many versions Lesser looks at.
const maxLesser = 100

// Lesser looks for another update than u: the newest version that takes accepts,
// below the one that u proposes and above the one that is installed, on the channel
// that is followed. What was yanked is passed over, and so is what is refused, such
// as for a revocation. It needs no network; the update proposes nothing if there is
// no such version.
func (c *Client) Lesser(ctx context.Context, u Update, takes func(Review) bool) (Update, error) {
	other := Update{Entry: u.Entry}
	if u.proposal == nil {
		return other, nil
	}
	err := c.exclusive(func() error {
		lock, err := readLock(c.lockPath())
		if err != nil {
			return err
		}
		if e := lock.find(u.Entry.Plugin()); e == nil || !reflect.DeepEqual(*e, u.Entry) {
			return nil // what would be below is not known any more
		}
		return c.withCatalog(ctx, u.Entry.Registry, func(cat *catalog) error {
			other.proposal, err = c.lesser(ctx, cat, u, lock, takes)
			if other.proposal != nil {
				other.Review = other.proposal.review
			}
			return err
		})
	})
	return other, err
}

func (c *Client) lesser(ctx context.Context, cat *catalog, u Update, lock *Lock, takes func(Review) bool) (*proposal, error) {
	ref := Ref{Registry: u.Entry.Registry, Namespace: u.Entry.Namespace, Name: u.Entry.Name}
	x, err := cat.index(ref)
	if err != nil {
		return nil, err
	}
	list, err := eligible(x, ref.following(&u.Entry), "")
	if err != nil {
		return nil, err
	}
	looked := 0
	for _, v := range list {
		if compareVersions(v.Version, u.proposal.v.Version) >= 0 {
			continue
		}
		if looked++; compareVersions(v.Version, u.Entry.Version) <= 0 || looked > maxLesser || ctx.Err() != nil {
			break
		}
		ref.Constraint = "=" + v.Version
		p, err := c.proposalOf(cat, ref, lock, InstallOptions{})
		if _, ours := errors.AsType[*abi.Error](err); err != nil && !ours {
			return nil, err
		}
		if err == nil && takes(p.review) {
			return p, nil
		}
	}
	return nil, ctx.Err()
}
