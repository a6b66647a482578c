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
	// Elsewhere says that URL is a path of the machine on which a lock file was made:
	// nothing is fetched from it here.
	Elsewhere bool
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
		added, err = c.addRegistry(ctx, from, newState(from.url, pinned), &arrival{client: c})
		return err
	})
	return added, askAgain(err)
}

// addRegistry adds a registry, which is fetched from an address now. If first names
// an id, it has to be the registry's. What was seen of it before it was removed holds.
// The caller holds the directory.
func (c *Client) addRegistry(ctx context.Context, from address, first *state, a *arrival) (Registry, error) {
	if err := c.refuseAgain(first.URL); err != nil {
		return Registry{}, err
	}
	dir, err := c.newRegistryDir()
	if err != nil {
		return Registry{}, err
	}
	s, err := c.fetchInto(ctx, dir, from, first, a.hold)
	if err != nil {
		if _, there := os.Lstat(filepath.Join(dir, stateFile)); isMissing(there) {
			_ = os.RemoveAll(dir)
		}
		return Registry{}, err
	}
	return s.registry(), a.settle()
}

// newRegistryDir makes the directory of a registry that is added. Its name means
// nothing: the id is known only after the fetch, and the URL may change. What an add
// that was killed has left goes.
func (c *Client) newRegistryDir() (string, error) {
	parent := filepath.Join(c.cfg.Dir, "registries")
	all, err := os.ReadDir(parent)
	if err != nil {
		return "", fmt.Errorf("making a registry's directory: %w", err)
	}
	for _, e := range all {
		dir := filepath.Join(parent, e.Name())
		if _, err := os.Lstat(filepath.Join(dir, stateFile)); e.IsDir() && isMissing(err) {
			_ = os.RemoveAll(dir) // a git that outlived its maker may still write there: the next time then
		}
	}
	dir, err := os.MkdirTemp(parent, "r-*")
	if err != nil {
		return "", fmt.Errorf("making a registry's directory: %w", err)
	}
	return dir, nil
}

// NotBefore is a time at which the newest snapshot can't have been signed yet: a
// clock that shows an earlier one is wrong.
func (r Registry) NotBefore() time.Time { return r.Expires.Add(-maxSnapshotLife - maxIssueSkew) }

// sameAs reports whether two answers tell a person of one registry, at one address.
// What was seen of it may be more by now.
func (r Registry) sameAs(o Registry) bool {
	return r.ID == o.ID && r.URL == o.URL && r.Elsewhere == o.Elsewhere && r.Pinned == o.Pinned
}

func (s *state) registry() Registry {
	return Registry{ID: s.Registry, URL: s.URL, Pinned: s.Pinned, Snapshot: s.Snapshot, Expires: s.Expires.Time, Elsewhere: s.Elsewhere}
}

// fetchRegistry brings our copy up to date, verifies it, and writes the state
// before it marks the copy as verified.
func (c *Client) fetchRegistry(ctx context.Context, dir string, from address, old *state) (*state, error) {
	return c.fetchInto(ctx, dir, from, old, func(cat *catalog) (*catalog, error) { return cat, nil })
}

// fetchInto is fetchRegistry with a last judgement on what passed every check. Our
// copy is only that: one that can't be read is made anew.
func (c *Client) fetchInto(ctx context.Context, dir string, from address, old *state, hold func(*catalog) (*catalog, error)) (*state, error) {
	s, err := c.fetchOnce(ctx, dir, from, old, hold)
	if err == nil || old.Root == 0 || ctx.Err() != nil || c.readable(ctx, dir, old) {
		return s, err
	}
	if os.RemoveAll(filepath.Join(dir, "git")) != nil {
		return nil, err
	}
	return c.fetchOnce(ctx, dir, from, old, hold)
}

// readable reports whether our copy of a registry can be read, whatever is in it.
func (c *Client) readable(ctx context.Context, dir string, s *state) bool {
	err := c.verifyRef(ctx, repository{filepath.Join(dir, "git"), fromFile}, refVerified, s, func(*catalog) error { return nil })
	e, ok := errors.AsType[*abi.Error](err)
	return err == nil || ok && e.Code == abi.ErrUntrusted && e.Reason != abi.ReasonMalformed
}

func (c *Client) fetchOnce(ctx context.Context, dir string, from address, old *state, hold func(*catalog) (*catalog, error)) (*state, error) {
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
		cat, err := hold(cat)
		if err != nil {
			return err
		}
		fresh = cat.state
		if err := keepNames(dir, cat); err != nil {
			return err
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
		WithHint("drawbridge registry set-url %s URL for another address of it, or drawbridge registry remove %s", id, id)
}

// keep makes what was verified the current copy.
func (c *Client) keep(ctx context.Context, repo repository, dir string, s *state) error {
	if err := c.at("state"); err != nil {
		return err
	}
	if err := s.write(filepath.Join(dir, stateFile)); err != nil {
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
		s, err := readState(filepath.Join(dir, stateFile))
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
	ids := []string{}
	for _, s := range all {
		ids = append(ids, s.Registry)
	}
	slices.Sort(ids)
	return nil, "", abi.Errorf(abi.ErrNotFound, "", "no registry %q is added%s", id, didYouMean(id, ids)).
		WithHint("drawbridge registry list")
}

// Registry returns the registry with an id. The error is abi.ErrNotFound if none is
// added.
func (c *Client) Registry(id string) (Registry, error) {
	s, _, err := c.registryState(id)
	if err != nil {
		return Registry{}, err
	}
	r := s.registry()
	r.Builtin = c.carries(s)
	return r, nil
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

// RemoveRegistry trusts a registry no longer. What was seen of it is remembered: it
// counts if the registry is added again, until somebody has [Client.ForgetRegistry]
// forget it. It is refused while a plugin from it is installed.
func (c *Client) RemoveRegistry(id string) error {
	return c.exclusive(func() error {
		s, dir, err := c.unused(id)
		if err != nil {
			return err
		}
		if err := c.bury(s, dir, false); err != nil {
			return err
		}
		return c.drop(dir)
	})
}

// unused finds a registry that no installed plugin is from.
func (c *Client) unused(id string) (*state, string, error) {
	s, dir, err := c.registryState(id)
	if err != nil {
		return nil, "", err
	}
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, "", err
	}
	for _, e := range lock.Plugins {
		if e.Registry == id {
			return nil, "", abi.Errorf(abi.ErrInvalidArgs, "", "plugin %q from registry %q is installed", e.Plugin(), id).
				WithHint("drawbridge remove %s", e.Plugin())
		}
	}
	return s, dir, nil
}

// drop removes a registry's directory, the state first: without it the registry is
// not there, whatever else is left.
func (c *Client) drop(dir string) error {
	for _, path := range []string{filepath.Join(dir, stateFile), dir} {
		if err := c.at("drop"); err != nil {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing a registry: %w", err)
		}
	}
	return nil
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
	from, err := c.source(ctx, s)
	if err != nil {
		return nil, err
	}
	return c.fetchRegistry(ctx, dir, from, s)
}
