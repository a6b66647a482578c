package registry

import (
	"context"
	"errors"
	"reflect"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Prepared is a version that passed every check and whose files are in the store.
// Nothing runs it before [Client.ActivateAll] has named it.
type Prepared struct {
	Review Review

	entry  Entry
	before *Entry // what was installed then; nil if nothing was
}

// Prepare does all of Install but its last step, in the copy of the registry that
// the last refresh left, which has to be named. What is installed stays as it is.
// Consent is asked while the directory is held: it must not wait for a person. A
// version that is installed already is prepared anew.
func (c *Client) Prepare(ctx context.Context, ref Ref, opts InstallOptions) (*Prepared, error) {
	if opts.Consent == nil {
		return nil, errors.New("preparing an install without asking for consent")
	}
	var ready *Prepared
	err := c.exclusive(func() error {
		lock, err := readLock(c.lockPath())
		if err != nil {
			return err
		}
		id, _, err := c.registryOf(ctx, ref, lock)
		if err != nil {
			return err
		}
		return c.withCatalog(ctx, id, func(cat *catalog) error {
			ready, err = c.prepare(ctx, cat, ref, lock, opts)
			return err
		})
	})
	return ready, err
}

func (c *Client) prepare(ctx context.Context, cat *catalog, ref Ref, lock *Lock, opts InstallOptions) (*Prepared, error) {
	p, err := c.proposalOf(cat, ref, lock, opts)
	if err != nil {
		return nil, err
	}
	if err := opts.Consent(ctx, p.review); err != nil {
		return nil, err
	}
	consented := At(c.cfg.Clock())
	wasm, err := c.fetchModule(ctx, cat, p.v)
	if err != nil {
		return nil, err
	}
	if err := opts.admit(ctx, p.review, wasm); err != nil {
		return nil, err
	}
	ready := &Prepared{Review: p.review, before: lock.find(ref.Plugin())}
	ready.entry = newEntry(cat, p.v, consented, ready.before)
	ready.entry.Channel = p.channel
	return ready, c.keepFiles(p.v, wasm)
}

// ActivateAll makes prepared versions the active ones and plugins inactive, all by
// one writing of the lock file: whatever ends it, everything is as it was or as it
// is to be. So names may go from one plugin to another. It is refused with
// confirmation_required if one of them is no longer what it was when it was
// prepared, and with the reason if one was revoked or damaged since.
func (c *Client) ActivateAll(ready []*Prepared, remove []string) error {
	return c.exclusive(func() error {
		lock, err := readLock(c.lockPath())
		if err != nil {
			return err
		}
		next := lock
		var entries []Entry
		for _, p := range ready {
			if err := c.unchanged(p, lock); err != nil {
				return err
			}
			switch _, err := c.load(p.entry); {
			case isMissing(err): // somebody else's change cleared it up, and another one took that back
				return p.changed()
			case err != nil:
				return err
			}
			next, entries = next.with(p.entry), append(entries, p.entry)
		}
		for _, plugin := range remove {
			next = next.without(plugin)
		}
		return c.enforce(next, entries...)
	})
}

// unchanged refuses what was prepared for another lock file, or from a registry that
// was another one, or stood elsewhere, than the one that has its id now.
func (c *Client) unchanged(p *Prepared, lock *Lock) error {
	s, _, err := c.registryState(p.entry.Registry)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(lock.find(p.entry.Plugin()), p.before) && s.registry().sameAs(p.Review.Registry) {
		return nil
	}
	return p.changed()
}

func (p *Prepared) changed() error {
	return abi.Errorf(abi.ErrConfirmationRequired, "install", "%q changed meanwhile: nothing was installed", p.entry.Plugin()).
		WithHint("the same command again")
}
