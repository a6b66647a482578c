package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Preview fetches and verifies a registry as [Client.AddRegistry] does, and keeps
// nothing of it: a person can be asked about what would be added, and isn't asked
// about what would be refused.
func (c *Client) Preview(ctx context.Context, address string, pinned signing.Fingerprint) (Registry, error) {
	from, err := parseAddress(address)
	if err != nil {
		return Registry{}, err
	}
	if err := c.refuseAgain(from); err != nil {
		return Registry{}, err
	}
	dir, err := os.MkdirTemp("", "drawbridge-registry-")
	if err != nil {
		return Registry{}, fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := c.cfg
	cfg.Dir, cfg.Builtin, cfg.Events = dir, nil, Events{}
	probe, err := New(cfg)
	if err != nil {
		return Registry{}, err
	}
	r, err := probe.AddRegistry(ctx, address, pinned)
	if err != nil {
		return Registry{}, err
	}
	return r, c.refuseSecond(r.ID)
}

// AddPreviewed is [Client.AddRegistry] for what [Client.Preview] returned: another
// registry that stands at its address by now is refused.
func (c *Client) AddPreviewed(ctx context.Context, seen Registry) (Registry, error) {
	from, err := parseAddress(seen.URL)
	if err != nil {
		return Registry{}, err
	}
	var added Registry
	err = c.exclusive(func() error {
		added, err = c.addRegistry(ctx, from, from, seen.Pinned, seen.ID)
		return err
	})
	return added, err
}

// refuseAgain refuses an address that a registry was added with.
func (c *Client) refuseAgain(home address) error {
	dir := c.registryDir(home.url)
	_, err := readState(filepath.Join(dir, "state.json"))
	if isMissing(err) {
		return nil
	}
	if err != nil { // what was seen and revoked is in there
		return &DamagedError{Dir: dir, Err: err}
	}
	return abi.Errorf(abi.ErrInvalidArgs, "", "registry %q is added already", home.url).WithHint("drawbridge registry list")
}

// askAgain adds to the refusal of a pin what its user can do.
func askAgain(err error) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Reason != abi.ReasonUnknownKey || e.Hint != "" {
		return err
	}
	return e.WithHint("ask the owner for the fingerprint again, all of it, and compare the address: drawbridge registry add URL FINGERPRINT")
}
