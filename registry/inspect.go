package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// An Inspection is one look at what is installed.
type Inspection struct {
	What string // "release", "module", "revocations", "signature", "previous version"
	Err  error  // *abi.Error where something is wrong; nil if all is well
}

// An Inspected is a plugin whose every installed byte was looked at.
type Inspected struct {
	Entry  Entry
	Checks []Inspection
}

// OK reports whether every check passed.
func (k Inspected) OK() bool {
	return !slices.ContainsFunc(k.Checks, func(c Inspection) bool { return c.Err != nil })
}

// Inspect looks at every installed byte again: the bytes in the store against the
// lock file, the revocations, and the release's signature against the registry's
// verified state. It changes nothing and needs no network. Without plugins
// ("namespace/name") it looks at all. The error is that of the lock file, or that a
// plugin isn't installed.
func (c *Client) Inspect(ctx context.Context, plugins ...string) ([]Inspected, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, err
	}
	for _, p := range plugins {
		if lock.find(p) == nil {
			return nil, lock.missing(p)
		}
	}
	list := []Inspected{}
	for _, e := range lock.Plugins {
		if len(plugins) == 0 || slices.Contains(plugins, e.Plugin()) {
			list = append(list, c.inspect(ctx, e))
		}
	}
	return list, nil
}

func (c *Client) inspect(ctx context.Context, e Entry) Inspected {
	k := Inspected{Entry: e}
	add := func(what string, err error) { k.Checks = append(k.Checks, Inspection{what, err}) }
	_, err := c.readRelease(e)
	add("release", err)
	add("module", c.checkModule(e))
	s, _, err := c.registryState(e.Registry)
	if err == nil {
		err = c.mended(ctx, e, e.checkRevoked(s))
	}
	add("revocations", err)
	add("signature", c.checkSignature(ctx, e))
	if p := e.Previous; p != nil {
		_, err := c.readRelease(*p)
		if err == nil {
			err = c.checkModule(*p)
		}
		add("previous version", e.withoutIt(err))
	}
	return k
}

// withoutIt gives what is wrong with the version before e's a command that works:
// an install never goes down, and one of e itself leaves what is behind it.
func (e Entry) withoutIt(err error) error {
	bad, ok := errors.AsType[*abi.Error](err)
	if !ok {
		return err
	}
	said := *bad
	return said.WithHint("drawbridge remove %s --keep-data && drawbridge install %s@%s", e.Plugin(), e.Plugin(), e.Version)
}

func (c *Client) checkModule(e Entry) error {
	if _, ok, err := c.store().get(e.Module, extModule); err != nil || !ok {
		return e.tampered("module", err)
	}
	return nil
}

// checkSignature verifies the installed release as an install would: the registry
// lists exactly these bytes under this version, and the publisher that the lock
// names has signed them.
func (c *Client) checkSignature(ctx context.Context, e Entry) error {
	return c.withCatalog(ctx, e.Registry, func(cat *catalog) error {
		ref := Ref{Registry: e.Registry, Namespace: e.Namespace, Name: e.Name}
		x, err := cat.index(ref)
		if err != nil && !errors.Is(err, abi.ErrNotFound) {
			return err
		}
		if err == nil {
			for _, v := range x.Versions {
				if v.Version == e.Version {
					return cat.checkInstalled(ref, v, e)
				}
			}
		}
		return refuse(abi.ReasonUnsigned, e.keys(), "registry %q doesn't list %q version %q any more: nothing vouches for it", e.Registry, e.Plugin(), e.Version).
			WithHint("drawbridge install %s, or drawbridge remove %s", e.Plugin(), e.Plugin())
	})
}

func (c *catalog) checkInstalled(ref Ref, v Version, e Entry) error {
	if v.Release != e.Release {
		return refuse(abi.ReasonTampered, e.keys(), "registry %q lists another release of %q version %q than is installed", e.Registry, e.Plugin(), e.Version).
			WithHint("drawbridge remove %s && drawbridge install %s", e.Plugin(), e.Plugin())
	}
	good, err := c.release(ref, v)
	if err != nil {
		return err
	}
	if good.signer.Primary != e.Signer || good.signer.Key != e.Key {
		return refuse(abi.ReasonUnknownKey, []signing.Fingerprint{good.signer.Primary, good.signer.Key},
			"the lock file says that %q was signed by key %s", e.Plugin(), e.Key).
			WithHint("drawbridge remove %s && drawbridge install %s", e.Plugin(), e.Plugin())
	}
	return nil
}
