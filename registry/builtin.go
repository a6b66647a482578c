package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Builtin is a small registry that the program itself carries, so that there is
// something to install before any registry is added. It is verified like every
// other, against Pinned.
//
// One thing differs. No network can bring a newer snapshot of it, and whoever runs
// the program has taken it from the release that carries it: that stands where a
// registry's own word on its freshness stands otherwise. So the one snapshot that
// this program carries, known by its hash, doesn't expire with its own date, but
// with the owner's root at the latest. A warning says how old it is.
type Builtin struct {
	Bundle   []byte              // a Git bundle: the branch, and a ref for each module
	ID       string              // the registry's id
	Pinned   signing.Fingerprint // its owner's key
	Snapshot string              // sha256 of snapshot.json in it
}

// builtinPath is where the bundle stands for git to read; it is the URL of the
// registry, which no other can have.
func (c *Client) builtinPath() string {
	return filepath.Join(c.cfg.Dir, "builtin", c.cfg.Builtin.ID+".bundle")
}

// isCarried reports whether a registry is one that this program, or an older one,
// carried: it has no address but the bundle's. A path that a lock file brought is of
// another machine.
func (c *Client) isCarried(s *state) bool {
	return !s.Elsewhere && filepath.Dir(s.URL) == filepath.Join(c.cfg.Dir, "builtin") && filepath.Ext(s.URL) == ".bundle"
}

// EnsureBuiltin makes the registry that the program carries one of the client's,
// or brings it up to what this program carries. It does nothing if there is none,
// if the user has added another registry of that id, or has removed it: then it
// comes back as any other, by an add of its bundle.
func (c *Client) EnsureBuiltin(ctx context.Context) error {
	b := c.cfg.Builtin
	if b == nil {
		return nil
	}
	if !validID(b.ID) || !b.Pinned.Valid() || !validHash(b.Snapshot) {
		return fmt.Errorf("BUG: the registry that the program carries is named %q, key %q", b.ID, b.Pinned)
	}
	return c.exclusive(func() error {
		s, dir, err := c.registryState(b.ID)
		switch {
		case errors.Is(err, abi.ErrNotFound):
			if gone, err := c.takenAway(b.ID); gone || err != nil {
				return err
			}
			s = nil
		case err != nil:
			return err
		case s.URL != c.builtinPath() || s.SnapshotHash == b.Snapshot:
			return nil
		}
		if err := c.unpackBuiltin(); err != nil {
			return err
		}
		if err := c.dropOtherBuiltins(); err != nil {
			return err
		}
		from := address{c.builtinPath(), fromFile}
		if s == nil {
			first := newState(from.url, b.Pinned)
			first.Registry = b.ID // another one is refused
			_, err = c.addRegistry(ctx, from, first, &arrival{client: c, unattended: true})
			return err
		}
		_, err = c.fetchRegistry(ctx, dir, from, s)
		return err
	})
}

// takenAway reports whether a user removed the registry with an id, and it is
// remembered.
func (c *Client) takenAway(id string) (bool, error) {
	all, err := c.tombstones(id)
	return slices.ContainsFunc(all, func(t *tombstone) bool { return !t.Carried }), err
}

// dropOtherBuiltins removes what a build with another key carried, unless a plugin
// from it is installed.
func (c *Client) dropOtherBuiltins() error {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return err
	}
	all, _ := c.states() // a damaged one is told of elsewhere
	for dir, s := range all {
		from := func(e Entry) bool { return e.Registry == s.Registry }
		if !c.isCarried(s) || s.Registry == c.cfg.Builtin.ID || slices.ContainsFunc(lock.Plugins, from) {
			continue
		}
		if err := c.bury(s, dir, true); err != nil {
			return err
		}
		if err := errors.Join(c.drop(dir), os.RemoveAll(s.URL)); err != nil {
			return fmt.Errorf("removing what an older build carried: %w", err)
		}
	}
	return nil
}

// unpackBuiltin puts the bundle where git can read it.
func (c *Client) unpackBuiltin() error {
	path := c.builtinPath()
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, c.cfg.Builtin.Bundle) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("unpacking the connectors that the program carries: %w", err)
	}
	if err := atomicfile.Write(path, c.cfg.Builtin.Bundle, 0o600); err != nil {
		return fmt.Errorf("unpacking the connectors that the program carries: %w", err)
	}
	return nil
}

// carries reports whether a state is of the very snapshot that the program carries.
func (c *Client) carries(s *state) bool {
	b := c.cfg.Builtin
	return b != nil && s.Registry == b.ID && s.URL == c.builtinPath() && s.Pinned == b.Pinned && s.SnapshotHash == b.Snapshot
}

// freshen lets the snapshot that the program carries last as long as its root.
func (c *Client) freshen(cat *catalog) {
	if cat.ageing == "" || !c.carries(cat.state) || !cat.now.Before(cat.root.Expires.Time) {
		return
	}
	cat.ageing = fmt.Sprintf("the connectors that this program carries are as of %s: a newer drawbridge has newer ones, and knows what was revoked since",
		cat.snapshot.Issued.Format("2006-01-02"))
	cat.expired = ""
}
