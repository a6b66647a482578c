package registry

import (
	"context"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Rollback makes the version before the installed one active again, after
// checking it like Load: one that is revoked or damaged is refused. The plugin is
// pinned, so that the next update doesn't undo it. Rolling back twice ends at the
// version where it began. Consent and Admit are asked as Install asks them, and
// Consent must be set; the other options mean nothing here.
func (c *Client) Rollback(ctx context.Context, plugin string, opts InstallOptions) (Entry, error) {
	if opts.Consent == nil {
		return Entry{}, errors.New("rolling back without asking for consent")
	}
	var agreed *retreat
	err := c.exclusive(func() (err error) {
		agreed, err = c.retreat(ctx, plugin)
		return err
	})
	if err != nil {
		return Entry{}, err
	}
	if err := opts.Consent(ctx, agreed.review); err != nil {
		return Entry{}, err
	}
	var back Entry
	err = c.exclusive(func() error {
		now, err := c.retreat(ctx, plugin)
		if err != nil {
			return err
		}
		if now.from != agreed.from || now.to.Release != agreed.to.Release {
			return abi.Errorf(abi.ErrConfirmationRequired, "rollback", "%q changed while the question was open: nothing was changed", plugin).
				WithHint("drawbridge rollback %s", plugin)
		}
		if err := opts.admit(ctx, now.review, now.wasm); err != nil {
			return err
		}
		if err := c.at("lock"); err != nil {
			return err
		}
		back = now.to
		return now.lock.with(back).write(c.lockPath())
	})
	if err != nil {
		return Entry{}, err
	}
	return back, nil
}

// A retreat is a rollback that could be done now.
type retreat struct {
	lock   *Lock
	from   string // sha256 of the active release
	to     Entry
	wasm   []byte
	review Review
}

func (c *Client) retreat(ctx context.Context, plugin string) (*retreat, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, err
	}
	current := lock.find(plugin)
	switch {
	case current == nil:
		return nil, lock.missing(plugin)
	case current.Previous == nil:
		return nil, abi.Errorf(abi.ErrNotFound, "", "there is no version of %q to go back to", plugin).
			WithHint("drawbridge list")
	}
	l, err := c.load(*current.Previous)
	if errors.Is(err, abi.ErrUntrusted) {
		if _, now := c.load(*current); now != nil {
			return nil, current.hinted(err, c.mended(ctx, *current, now))
		}
		return nil, current.withoutIt(err)
	}
	if err != nil {
		return nil, err
	}
	s, _, err := c.registryState(current.Registry)
	if err != nil {
		return nil, err
	}
	r := &retreat{lock: lock, from: current.Release.SHA256, to: *current.Previous, wasm: l.Wasm}
	r.to.Channel, r.to.Pinned, r.to.Previous = current.Channel, true, current.withoutPrevious()
	r.review = Review{
		Registry: s.registry(), Release: l.Release, Hash: r.to.Release.SHA256, Channel: r.to.Channel,
		Signer: signing.Signer{Primary: r.to.Signer, Key: r.to.Key, Created: r.to.Signed.Time},
	}
	if active, err := c.readRelease(*current); err == nil {
		kept := *current
		r.review.Previous, r.review.Entry = &active, &kept
	}
	_, r.review.Unsound = c.load(*current)
	return r, nil
}

// Pin makes updates leave a plugin as it is, or ends that.
func (c *Client) Pin(plugin string, pinned bool) (Entry, error) {
	var e Entry
	err := c.exclusive(func() error {
		lock, err := readLock(c.lockPath())
		if err != nil {
			return err
		}
		old := lock.find(plugin)
		if old == nil {
			return lock.missing(plugin)
		}
		e = *old
		e.Pinned = pinned
		return lock.with(e).write(c.lockPath())
	})
	return e, err
}

// Uninstall makes a plugin inactive and removes its files.
func (c *Client) Uninstall(plugin string) error {
	return c.exclusive(func() error {
		lock, err := readLock(c.lockPath())
		if err != nil {
			return err
		}
		if lock.find(plugin) == nil {
			return lock.missing(plugin)
		}
		if err := c.at("lock"); err != nil {
			return err
		}
		next := lock.without(plugin)
		if err := next.write(c.lockPath()); err != nil {
			return err
		}
		c.tidy(next)
		return nil
	})
}
