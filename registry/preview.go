package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A Previewed registry is one that a person can be asked about.
type Previewed struct {
	Registry
	Before []Removed // what was added under its id before and removed, the last one first
}

// Preview fetches and verifies a registry as [Client.AddRegistry] does, and keeps
// nothing of it: a person can be asked about what would be added, and isn't asked
// about what would be refused.
func (c *Client) Preview(ctx context.Context, address string, pinned signing.Fingerprint) (Previewed, error) {
	from, err := parseAddress(address)
	if err != nil {
		return Previewed{}, err
	}
	if !pinned.Valid() {
		return Previewed{}, abi.Errorf(abi.ErrInvalidArgs, "", "fingerprint %q isn't a full one", pinned)
	}
	if err := c.refuseAgain(from.url); err != nil {
		return Previewed{}, err
	}
	s, err := c.probe(ctx, from, newState(from.url, pinned), false)
	if err != nil {
		return Previewed{}, askAgain(err)
	}
	seen := Previewed{Registry: s.registry()}
	seen.Before, err = c.before(seen.ID)
	return seen, err
}

// probe judges a registry as if it were added, and keeps nothing of it.
func (c *Client) probe(ctx context.Context, from address, first *state, unattended bool) (s *state, err error) {
	err = c.apart(func(quiet *Client, dir string) (err error) {
		s, err = quiet.fetchInto(ctx, dir, from, first, (&arrival{client: quiet, unattended: unattended}).hold)
		return err
	})
	return s, err
}

// apart gives f a client that tells nobody anything, and a directory for what it
// fetches, which goes afterwards.
func (c *Client) apart(f func(quiet *Client, dir string) error) error {
	dir, err := os.MkdirTemp("", "drawbridge-registry-")
	if err != nil {
		return fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	quiet := &Client{cfg: c.cfg} // it writes into dir alone
	quiet.cfg.Builtin, quiet.cfg.Events = nil, Events{}
	return f(quiet, dir)
}

// PreviewMove judges what stands at another address of a registry as
// [Client.SetRegistryURL] would, and keeps nothing of it.
func (c *Client) PreviewMove(ctx context.Context, shown Registry, url string) error {
	from, err := parseAddress(url)
	if err != nil {
		return err
	}
	known, _, err := c.registryState(shown.ID)
	if err != nil {
		return err
	}
	return c.apart(func(quiet *Client, dir string) error {
		_, err := quiet.fetchOnce(ctx, dir, from, known, func(cat *catalog) (*catalog, error) { return cat, nil })
		return err
	})
}

// before tells what was added under an id before and removed.
func (c *Client) before(id string) ([]Removed, error) {
	all, err := c.tombstones(id)
	list := []Removed{}
	for _, t := range all {
		list = append(list, t.told())
	}
	return list, err
}

// AddPreviewed is [Client.AddRegistry] for what [Client.Preview] returned: another
// registry that stands at its address by now is refused, and so is one about which
// more or less is remembered than was told.
func (c *Client) AddPreviewed(ctx context.Context, seen Previewed) (Registry, error) {
	from, err := parseAddress(seen.URL)
	if err != nil {
		return Registry{}, err
	}
	var added Registry
	err = c.exclusive(func() error {
		before, err := c.before(seen.ID)
		if err != nil {
			return err
		}
		if !slices.Equal(before, seen.Before) {
			return changedMeanwhile(seen.ID)
		}
		first := newState(from.url, seen.Pinned)
		first.Registry = seen.ID
		added, err = c.addRegistry(ctx, from, first, &arrival{client: c})
		return err
	})
	return added, err
}

// changedMeanwhile refuses an answer to a question about what is no longer so.
func changedMeanwhile(id string) error {
	return abi.Errorf(abi.ErrConfirmationRequired, "registry", "registry %q changed while the question was open: nothing was done", id).
		WithHint("drawbridge registry list, and the same command again")
}

// refuseAgain refuses an address that a registry was added with.
func (c *Client) refuseAgain(url string) error {
	all, err := c.states()
	for _, s := range all {
		if s.URL == url && !s.Elsewhere {
			return abi.Errorf(abi.ErrInvalidArgs, "", "registry %q is added already", url).WithHint("drawbridge registry list")
		}
	}
	return err // what was seen and revoked is in a damaged state
}

// askAgain adds to the refusal of a pin what its user can do.
func askAgain(err error) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Reason != abi.ReasonUnknownKey || e.Hint != "" {
		return err
	}
	return e.WithHint("ask the owner for the fingerprint again, all of it, and compare the address: drawbridge registry add URL FINGERPRINT")
}
