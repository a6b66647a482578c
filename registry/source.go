package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// mirrorsKey is the context key of what WithMirrors sets.
type mirrorsKey struct{}

// WithMirrors returns a context in which registries are fetched from a folder of
// this machine that the user named, in place of where they are: it is a mirror, or
// it holds mirrors named ID.git. Nothing else changes: what a mirror says is
// verified against the key that was pinned and what was seen before.
func WithMirrors(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, mirrorsKey{}, dir)
}

func mirrorsOf(ctx context.Context) string {
	dir, _ := ctx.Value(mirrorsKey{}).(string)
	return dir
}

// source says where a registry that is added is fetched from. What the program
// carries is where it always is, but in a folder that has a mirror of its name.
func (c *Client) source(ctx context.Context, s *state) (address, error) {
	if c.isCarried(s) && !isBare(filepath.Join(mirrorsOf(ctx), s.Registry+".git")) {
		return parseAddress(s.URL)
	}
	if s.Elsewhere && mirrorsOf(ctx) == "" {
		return address{}, abi.Errorf(abi.ErrForbidden, "fetch", "registry %q has no address on this machine: a lock file brought it, which has it at %q of another one", s.Registry, s.URL).
			WithHint("drawbridge registry set-url %s URL, or drawbridge sync FILE --from DIR", s.Registry)
	}
	return sourceOf(ctx, s.Registry, s.URL)
}

// sourceOf says where a registry is fetched from.
func sourceOf(ctx context.Context, id, url string) (address, error) {
	dir := mirrorsOf(ctx)
	if dir == "" {
		return parseAddress(url)
	}
	for _, path := range []string{filepath.Join(dir, id+".git"), dir} {
		if isBare(path) {
			return parseAddress(path)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return address{}, abi.Errorf(abi.ErrNotFound, "mirror", "there is no folder %q", dir).
			WithHint("drawbridge sync FILE --from DIR, with the folder that holds %s.git", id)
	}
	return address{}, abi.Errorf(abi.ErrNotFound, "mirror", "%q is no mirror, and has none of registry %q in it", dir, id).
		WithHint("drawbridge registry mirror %s %s", id, filepath.Join(dir, id+".git"))
}

// isBare reports whether a bare repository seems to stand there.
func isBare(path string) bool {
	info, err := os.Stat(filepath.Join(path, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}

// EnsureRegistry adds a registry that a team's lock file names, unless it is there.
// One that is there stays as it is; it has to be pinned to the same key, because
// another owner may hold another registry of that id. A lock file can't name a
// path of this machine: with mirrors, such a registry is fetched from one for this
// run, and has no address here until a person gives it one.
func (c *Client) EnsureRegistry(ctx context.Context, want TeamRegistry) error {
	return c.exclusive(func() error {
		known, err := c.isRegistry(want)
		if err != nil || known {
			return err
		}
		from, first, err := newSource(ctx, want)
		if err != nil {
			return err
		}
		_, err = c.addRegistry(ctx, from, first, &arrival{client: c, unattended: true})
		return err
	})
}

// CheckRegistry says why EnsureRegistry, or the fetch of a registry that is there,
// would fail. It changes nothing: one that is there is only asked whether it answers,
// and another is fetched and judged as if it were added.
func (c *Client) CheckRegistry(ctx context.Context, want TeamRegistry) error {
	known, err := c.isRegistry(want)
	if err != nil {
		return err
	}
	if known {
		return c.Reach(ctx, want.ID)
	}
	from, first, err := newSource(ctx, want)
	if err != nil {
		return err
	}
	_, err = c.probe(ctx, from, first, true)
	return err
}

// isRegistry reports whether a registry of a lock file is there, with the same key.
func (c *Client) isRegistry(want TeamRegistry) (bool, error) {
	s, _, err := c.registryState(want.ID)
	switch {
	case errors.Is(err, abi.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case s.Pinned != want.Pinned:
		return false, refuse(abi.ReasonUnknownKey, []signing.Fingerprint{s.Pinned, want.Pinned},
			"registry %q is pinned to another key here than in the lock file", want.ID).
			WithHint("drawbridge registry remove %s, then drawbridge registry add URL FINGERPRINT at a terminal, if the lock file is right", want.ID)
	}
	return true, nil
}

// newSource says where a registry of a lock file is fetched from now, and what is
// known of it: its own address may be a path of the machine on which the file was made.
func newSource(ctx context.Context, want TeamRegistry) (from address, first *state, err error) {
	first = newState(want.URL, want.Pinned)
	first.Registry = want.ID // another one is refused
	if want.URL == CarriedURL {
		first.Elsewhere = true
	} else {
		home, err := parseAddress(want.URL)
		if err != nil {
			return from, nil, err
		}
		first.Elsewhere = home.via == fromFile
	}
	switch {
	case mirrorsOf(ctx) != "" || !first.Elsewhere:
	case want.URL == CarriedURL:
		return from, nil, abi.Errorf(abi.ErrForbidden, "sync", "the lock file has registry %q from a drawbridge that carries it, and this one doesn't", want.ID).
			WithHint("drawbridge registry add URL %s, or the drawbridge of whoever wrote the lock file", want.Pinned)
	default:
		return from, nil, abi.Errorf(abi.ErrForbidden, "sync", "the lock file has registry %q at %q, a path of a machine, and you have not named it", want.ID, want.URL).
			WithHint("drawbridge registry add %s %s", want.URL, want.Pinned)
	}
	from, err = sourceOf(ctx, want.ID, want.URL)
	return from, first, err
}

// SetRegistryURL fetches a registry from another address from now on, such as a
// mirror. Whom it is pinned to and what was seen of it stay: an address whose
// snapshot doesn't pass, or is older, is refused, and nothing changes. shown is the
// registry as a person was told of it: one that has another address or owner by now
// is refused with confirmation_required.
func (c *Client) SetRegistryURL(ctx context.Context, shown Registry, url string) (Registry, error) {
	from, err := parseAddress(url)
	if err != nil {
		return Registry{}, err
	}
	var moved Registry
	err = c.exclusive(func() error {
		s, dir, err := c.registryState(shown.ID)
		if err != nil {
			return err
		}
		if !s.registry().sameAs(shown) {
			return changedMeanwhile(shown.ID)
		}
		next := s.clone()
		next.URL, next.Elsewhere = from.url, false
		if next, err = c.fetchRegistry(ctx, dir, from, next); err != nil {
			return err
		}
		moved = next.registry()
		return nil
	})
	return moved, err
}
