package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Refs in our copy of a registry.
const (
	branch      = "refs/heads/main"          // where a registry keeps its metadata
	refIncoming = "refs/drawbridge/incoming" // what was fetched and isn't verified
	refVerified = "refs/drawbridge/verified" // what passed every check
	refArtifact = "refs/drawbridge/artifact" // in a scratch repository
)

// maxPacks is how many fetches may pile up in our copy before it is repacked.
const maxPacks = 20

// A Registry is one that the user added.
type Registry struct {
	ID       string
	URL      string
	Pinned   signing.Fingerprint // the owner's key that the user typed
	Snapshot int64               // the newest version seen
	Expires  time.Time           // of that snapshot; after it nothing new is installed
	Builtin  bool                // the program carries this very snapshot: it doesn't expire with Expires
}

// AddRegistry fetches and verifies a registry and remembers it. address is an
// https or ssh URL, or a path that the user typed; pinned is the full fingerprint
// of one of its owners, from a channel that the registry doesn't control.
func (c *Client) AddRegistry(ctx context.Context, address string, pinned signing.Fingerprint) (Registry, error) {
	from, err := parseAddress(address)
	if err != nil {
		return Registry{}, err
	}
	if !pinned.Valid() {
		return Registry{}, abi.Errorf(abi.ErrInvalidArgs, "", "fingerprint %q isn't a full one", pinned)
	}
	var added Registry
	err = c.exclusive(func() error {
		added, err = c.addRegistry(ctx, from, from, pinned, "")
		return err
	})
	return added, askAgain(err)
}

// addRegistry adds a registry at home, which is fetched from another address now.
// If id isn't empty, it has to be the registry's. The caller holds the directory.
func (c *Client) addRegistry(ctx context.Context, home, from address, pinned signing.Fingerprint, id string) (Registry, error) {
	dir := c.registryDir(home.url)
	if err := c.refuseAgain(home); err != nil {
		return Registry{}, err
	}
	first := newState(home.url, pinned)
	first.Registry = id // another one is refused
	s, err := c.fetchRegistry(ctx, dir, from, first)
	if err != nil {
		_ = os.RemoveAll(dir)
		return Registry{}, err
	}
	return s.registry(), nil
}

// registryDir is named by the URL, because the id is known only after the fetch.
func (c *Client) registryDir(url string) string {
	return filepath.Join(c.cfg.Dir, "registries", hashOf([]byte(url))[:32])
}

// NotBefore is a time at which the newest snapshot can't have been signed yet: a
// clock that shows an earlier one is wrong.
func (r Registry) NotBefore() time.Time { return r.Expires.Add(-maxSnapshotLife - maxIssueSkew) }

func (s *state) registry() Registry {
	return Registry{ID: s.Registry, URL: s.URL, Pinned: s.Pinned, Snapshot: s.Snapshot, Expires: s.Expires.Time}
}

// fetchRegistry brings our copy up to date, verifies it, and writes the state
// before it marks the copy as verified.
func (c *Client) fetchRegistry(ctx context.Context, dir string, from address, old *state) (*state, error) {
	if c.cfg.Events.Fetching != nil {
		c.cfg.Events.Fetching(old.Registry, from.url)
	}
	repo, err := create(ctx, filepath.Join(dir, "git"), from.via)
	if err != nil {
		return nil, err
	}
	if err := repo.clearInterrupted(); err != nil {
		return nil, err
	}
	if err := repo.fetch(ctx, from, branch, refIncoming); err != nil {
		return nil, fetchError(err, from)
	}
	var fresh *state
	err = c.verifyRef(ctx, repo, refIncoming, old, func(cat *catalog) error {
		fresh = cat.state
		if old.Registry == "" {
			if err := c.refuseSecond(fresh.Registry); err != nil {
				return err
			}
		}
		return c.keep(ctx, repo, dir, fresh)
	})
	if err != nil {
		return nil, err
	}
	if c.cfg.Events.Verified != nil {
		c.cfg.Events.Verified(fresh.Registry, fresh.Snapshot)
	}
	return fresh, nil
}

// refuseSecond keeps two registries from having one id.
func (c *Client) refuseSecond(id string) error {
	_, _, err := c.registryState(id)
	switch {
	case errors.Is(err, abi.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return abi.Errorf(abi.ErrInvalidArgs, "", "a registry with the id %q is added already", id).
		WithHint("drawbridge registry remove %s", id)
}

// keep makes what was verified the current copy.
func (c *Client) keep(ctx context.Context, repo repository, dir string, s *state) error {
	if err := c.at("state"); err != nil {
		return err
	}
	if err := s.write(filepath.Join(dir, "state.json")); err != nil {
		return err
	}
	if err := c.at("verified"); err != nil {
		return err
	}
	if _, err := repo.run(ctx, nil, "update-ref", refVerified, refIncoming); err != nil {
		return fmt.Errorf("keeping the verified copy: %w", err)
	}
	packs, err := filepath.Glob(filepath.Join(repo.dir, "objects", "pack", "*.pack"))
	if err == nil && len(packs) > maxPacks {
		_, err = repo.run(ctx, nil, "gc", "--quiet", "--prune=now")
	}
	if err != nil {
		return fmt.Errorf("repacking the copy: %w", err)
	}
	return nil
}

// states reads the state of every registry, by directory. One that is damaged
// comes back as an error beside the others.
func (c *Client) states() (map[string]*state, error) {
	dirs, err := filepath.Glob(filepath.Join(c.cfg.Dir, "registries", "*"))
	if err != nil {
		return nil, fmt.Errorf("listing registries: %w", err)
	}
	found := map[string]*state{}
	var bad []error
	for _, dir := range dirs {
		s, err := readState(filepath.Join(dir, "state.json"))
		switch {
		case isMissing(err): // an add that was interrupted
		case err != nil:
			bad = append(bad, &DamagedError{Dir: dir, Err: err})
		default:
			found[dir] = s
		}
	}
	return found, errors.Join(bad...)
}

// A DamagedError says that what was kept of a registry can't be read. Until its
// directory is out of the way the registry can't be added again.
type DamagedError struct {
	Dir string // all that is kept of it
	Err error
}

// Error implements error.
func (e *DamagedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DamagedError) Unwrap() error { return e.Err }

// registryState finds a registry by its id.
func (c *Client) registryState(id string) (*state, string, error) {
	all, err := c.states()
	for dir, s := range all {
		if s.Registry == id {
			return s, dir, nil
		}
	}
	if err != nil {
		return nil, "", err
	}
	return nil, "", abi.Errorf(abi.ErrNotFound, "", "no registry %q is added", id).
		WithHint("drawbridge registry list")
}

// Registries lists the registries, sorted by id. The error joins a
// *[DamagedError] for each whose state is damaged; the others are listed.
func (c *Client) Registries() ([]Registry, error) {
	all, err := c.states()
	list := []Registry{}
	for _, s := range all {
		r := s.registry()
		r.Builtin = c.carries(s)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Registry) int { return strings.Compare(a.ID, b.ID) })
	return list, err
}

// RemoveRegistry forgets a registry and what was seen of it. It is refused while
// a plugin from it is installed.
func (c *Client) RemoveRegistry(id string) error {
	return c.exclusive(func() error {
		_, dir, err := c.registryState(id)
		if err != nil {
			return err
		}
		lock, err := readLock(c.lockPath())
		if err != nil {
			return err
		}
		for _, e := range lock.Plugins {
			if e.Registry == id {
				return abi.Errorf(abi.ErrInvalidArgs, "", "plugin %q from registry %q is installed", e.Plugin(), id).
					WithHint("drawbridge remove %s", e.Plugin())
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing registry %q: %w", id, err)
		}
		return nil
	})
}

// Refresh fetches and verifies a registry's newest snapshot. On an error what was
// there before stays in use.
func (c *Client) Refresh(ctx context.Context, id string) (Registry, error) {
	var r Registry
	err := c.exclusive(func() error {
		s, err := c.refresh(ctx, id)
		if err == nil {
			r = s.registry()
		}
		return err
	})
	return r, err
}

func (c *Client) refresh(ctx context.Context, id string) (*state, error) {
	s, dir, err := c.registryState(id)
	if err != nil {
		return nil, err
	}
	from, err := sourceOf(ctx, s.Registry, s.URL)
	if err != nil {
		return nil, err
	}
	return c.fetchRegistry(ctx, dir, from, s)
}
