package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A Review is what a person decides on before a version is installed.
type Review struct {
	Registry Registry
	Release  abi.Release
	Hash     string         // sha256 of the release's bytes
	Signer   signing.Signer // the publisher
	Channel  Channel        // what it will follow; empty for stable versions alone
	Previous *abi.Release   // what is installed now; nil if nothing is, or if it can't be read
	Entry    *Entry         // its lock entry
	// Unsound is why what is installed now isn't loaded, such as a revocation.
	Unsound error
	Notices []Notice // what deserves a second look
}

// InstallOptions are the caller's part of an install.
type InstallOptions struct {
	// Consent is asked before the module is fetched, without a lock. An error
	// stops the install and is returned. It must be set.
	Consent func(context.Context, Review) error
	// Admit is given the module before anything is written: to scan it, compile
	// it, and compare what it says with the release. It may be nil.
	Admit func(context.Context, Review, []byte) error
	// AllowDowngrade lets a version replace a higher one.
	AllowDowngrade bool
	// Locked says that a signed lock file names exactly this version, so that it is
	// chosen even if it was yanked since: who has it locked keeps it.
	Locked bool
	// Again asks for consent even if this very version is installed and whole,
	// because something else that was consented to changes.
	Again bool
}

// Install brings the version that ref means, after fetching the registry's newest
// snapshot, and makes it the active one. Nothing changes before the last step, the
// writing of the lock file; the version before stays for Rollback. A version that
// is installed and whole is only admitted again, so that the caller can mend what
// it made of the module.
//
// While Consent runs, which may take a person minutes, other changes go on. So
// everything is looked at once more after it, and the install is refused with
// confirmation_required if it is no longer what was agreed to.
func (c *Client) Install(ctx context.Context, ref Ref, opts InstallOptions) (Entry, error) {
	if opts.Consent == nil {
		return Entry{}, errors.New("installing without asking for consent")
	}
	var done Entry
	var p *proposal
	err := c.exclusive(func() (err error) {
		p, done, err = c.propose(ctx, ref, opts)
		return err
	})
	if err != nil || p == nil {
		return done, err
	}
	if err := opts.Consent(ctx, p.review); err != nil {
		return Entry{}, err
	}
	consented := At(c.cfg.Clock())
	err = c.exclusive(func() (err error) {
		done, err = c.carryOut(ctx, p, consented, opts)
		return err
	})
	return done, err
}

// A proposal is a verified version that a person is asked about.
type proposal struct {
	ref      Ref // this version, in this registry
	review   Review
	v        *verified
	replaces string // hash of the release that is installed; empty if none is
	channel  Channel
}

// propose finds and verifies the version that ref means. There is no proposal if
// it is installed and whole: the entry is the one that is there.
func (c *Client) propose(ctx context.Context, ref Ref, opts InstallOptions) (*proposal, Entry, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, Entry{}, err
	}
	id, unread, err := c.registryOf(ctx, ref, lock)
	if _, doubted := errors.AsType[unreadError](err); doubted || errors.Is(err, abi.ErrNotFound) {
		id, unread, err = c.registryOfNew(ctx, ref, lock)
	}
	if err != nil {
		return nil, Entry{}, err
	}
	if _, err := c.refresh(ctx, id); err != nil {
		return nil, Entry{}, err
	}
	var p *proposal
	var there Entry
	err = c.withCatalog(ctx, id, func(cat *catalog) error {
		p, err = c.proposalOf(cat, ref, lock, opts)
		if old := lock.find(ref.Plugin()); old != nil && ref.Channel == Stable && errors.Is(err, errBelow) {
			there, err = c.follow(lock, *old, "") // stable versions will come up to it
			return err
		}
		if err != nil {
			return err
		}
		p.review.Notices = append(p.review.Notices, unread...)
		l, whole := c.isThere(p, lock)
		if !whole || opts.Again || p.channel == Beta && l.Entry.Channel != Beta {
			return nil
		}
		if there, err = c.follow(lock, l.Entry, p.channel); err != nil {
			return err
		}
		review := p.review
		p = nil
		return opts.admit(ctx, review, l.Wasm)
	})
	return p, there, err
}

// errBelow is in the chain of an error about a version below the installed one.
var errBelow = errors.New("a higher version is installed")

// below is the error of a version below the installed one. Where the user asked for
// it by its version that is a choice, which another command carries out. Where not,
// the registry serves less than it did, which is refused like any other rewinding.
func below(ref Ref, version string, old *Entry) *abi.Error {
	if c := ref.Constraint; c == "" || c == "latest" || strings.HasPrefix(c, "=") {
		return refuseFor(errBelow, abi.ReasonSnapshotOlder, old.keys(), "version %q of %q is below the installed version %q",
			version, ref.Plugin(), old.Version)
	}
	hint := fmt.Sprintf("drawbridge remove %s --keep-data && drawbridge install %s@%s", ref.Plugin(), ref.Plugin(), version)
	if old.Previous != nil && old.Previous.Version == version {
		hint = "drawbridge rollback " + ref.Plugin()
	}
	e := abi.Errorf(abi.ErrInvalidArgs, "", "version %q of %q is below the installed version %q: an install never goes down", version, ref.Plugin(), old.Version)
	e.Err = errBelow
	return e.WithHint("%s", hint)
}

// isThere reports whether a proposal is what is installed, and whole.
func (c *Client) isThere(p *proposal, lock *Lock) (Loaded, bool) {
	old := lock.find(p.ref.Plugin())
	if old == nil || p.replaces != p.v.sha256 {
		return Loaded{}, false
	}
	l, err := c.load(*old)
	return l, err == nil
}

// follow makes an installed version follow a channel.
func (c *Client) follow(lock *Lock, e Entry, channel Channel) (Entry, error) {
	if e.Channel == channel {
		return e, nil
	}
	e.Channel = channel
	return e, lock.with(e).write(c.lockPath())
}

// proposalOf verifies the version that ref means in a verified snapshot.
func (c *Client) proposalOf(cat *catalog, ref Ref, lock *Lock, opts InstallOptions) (*proposal, error) {
	old := lock.find(ref.Plugin())
	ref = ref.following(old)
	v, err := c.verifyVersion(cat, ref, lock, opts)
	if err != nil {
		return nil, err
	}
	p := &proposal{review: c.review(cat, v, lock), v: v, channel: channelOf(ref, v.entry, old)}
	p.review.Channel = p.channel
	p.review.Notices = append(p.review.Notices, cat.passedOver(ref, v.entry)...)
	p.ref = Ref{Registry: cat.root.Registry, Namespace: v.Namespace, Name: v.Name, Constraint: "=" + v.Version}
	if old != nil {
		p.replaces = old.Release.SHA256
	}
	return p, nil
}

// channelOf is what a version follows once it is installed: the channel that was
// asked for, else its own if that is beta, else what was followed before.
func channelOf(ref Ref, v Version, old *Entry) Channel {
	switch {
	case ref.Channel == Stable:
		return ""
	case ref.Channel == Beta, v.Channel == Beta:
		return Beta
	case old != nil:
		return old.Channel
	}
	return ""
}

// carryOut installs what was agreed to, if it is still that. The order is the one
// in which each step is vouched for by those before it.
func (c *Client) carryOut(ctx context.Context, agreed *proposal, consented Time, opts InstallOptions) (Entry, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return Entry{}, err
	}
	var entry Entry
	err = c.withCatalog(ctx, agreed.ref.Registry, func(cat *catalog) error {
		now, err := c.proposalOf(cat, agreed.ref, lock, opts)
		if err != nil {
			return err
		}
		if !now.same(agreed) {
			return abi.Errorf(abi.ErrConfirmationRequired, "install", "%q changed while the question was open: nothing was installed", agreed.ref.Plugin()).
				WithHint("drawbridge install %s", agreed.ref.Plugin())
		}
		wasm, err := c.fetchModule(ctx, cat, now.v)
		if err != nil {
			return err
		}
		if err := opts.admit(ctx, now.review, wasm); err != nil {
			return err
		}
		entry = newEntry(cat, now.v, consented, lock.find(agreed.ref.Plugin()))
		entry.Channel = agreed.channel
		return c.activate(lock, entry, now.v, wasm)
	})
	if err != nil {
		return Entry{}, err
	}
	return entry, nil
}

// same reports whether two proposals ask a person the same.
func (p *proposal) same(o *proposal) bool {
	return p.v.sha256 == o.v.sha256 && p.v.signer.Primary == o.v.signer.Primary && p.replaces == o.replaces &&
		p.review.Registry.Pinned == o.review.Registry.Pinned && p.review.Registry.URL == o.review.Registry.URL
}

func (o *InstallOptions) admit(ctx context.Context, r Review, wasm []byte) error {
	if o.Admit == nil {
		return nil
	}
	return o.Admit(ctx, r, wasm)
}

// verifyVersion verifies the release of the version that ref means.
func (c *Client) verifyVersion(cat *catalog, ref Ref, lock *Lock, opts InstallOptions) (*verified, error) {
	if err := cat.requireFresh(); err != nil {
		return nil, err
	}
	old := lock.find(ref.Plugin())
	locked := lockedVersion(lock, ref)
	if opts.Locked {
		locked = strings.TrimPrefix(ref.Constraint, "=")
	}
	candidate, err := cat.resolve(ref, locked)
	if err != nil {
		return nil, err
	}
	if old != nil && !opts.AllowDowngrade && compareVersions(candidate.Version.Version, old.Version) < 0 {
		return nil, below(ref, candidate.Version.Version, old)
	}
	v, err := cat.release(ref, candidate.Version)
	if err != nil {
		return nil, err
	}
	if old != nil && old.Version == v.Version && old.Release.SHA256 != v.sha256 {
		return nil, refuse(abi.ReasonTampered, old.keys(), "version %q of %q has two contents", old.Version, ref.Plugin())
	}
	if err := c.runnable(v); err != nil {
		return nil, err
	}
	_, dir, err := c.registryState(cat.root.Registry)
	if err != nil {
		return nil, err
	}
	return v, cat.state.write(filepath.Join(dir, stateFile)) // the namespace's version is new
}

// runnable refuses a release that this host can't install. Plugins of another kind
// than connectors are installed like them, to be listed.
func (c *Client) runnable(v *verified) error {
	switch {
	case v.Module == (abi.Module{}):
		return abi.Errorf(abi.ErrInvalidArgs, "", "%q is of category %q and has no module: there is nothing to install",
			v.Name, v.Category)
	case v.ABI.Min > abi.Version || v.ABI.Max < abi.Version:
		return abi.Errorf(abi.ErrInvalidArgs, "", "%q version %q needs an ABI from %d to %d, this host has %d",
			v.Name, v.Version, v.ABI.Min, v.ABI.Max, abi.Version)
	case v.Module.Size > c.cfg.MaxModule:
		return abi.Errorf(abi.ErrLimitExceeded, "", "the module of %q has %d bytes, the limit is %d",
			v.Name, v.Module.Size, c.cfg.MaxModule)
	}
	return nil
}

// review says what is to be installed, and what it would take the place of. If
// what is installed is damaged, the release is reviewed as if it were new.
func (c *Client) review(cat *catalog, v *verified, lock *Lock) Review {
	r := Review{Registry: cat.state.registry(), Release: v.Release, Hash: v.sha256, Signer: v.signer}
	r.Notices = cat.notices(v, lock, c.cfg.Clock())
	if c.carries(cat.state) && cat.ageing != "" {
		r.Notices = append(r.Notices, Notice{NoticeOld, cat.ageing})
	}
	old := lock.find(v.Namespace + "/" + v.Name)
	if old == nil {
		return r
	}
	if previous, err := c.readRelease(*old); err == nil {
		kept := *old
		r.Previous, r.Entry = &previous, &kept
	}
	_, r.Unsound = c.load(*old)
	return r
}

func newEntry(cat *catalog, v *verified, consented Time, old *Entry) Entry {
	e := Entry{
		Registry: cat.root.Registry, Namespace: v.Namespace, Name: v.Name, Version: v.Version,
		Snapshot: cat.snapshot.Version, Release: fileHash(v.bytes),
		Module: FileHash{v.Module.SHA256, v.Module.Size},
		Signer: v.signer.Primary, Key: v.signer.Key, Signed: At(v.signer.Created), Consented: consented,
	}
	if old != nil {
		e.Pinned, e.Previous = old.Pinned, old.withoutPrevious()
		if old.Release == e.Release {
			e.Previous = old.Previous
		}
	}
	return e
}

// withoutPrevious is what is kept of e behind the version that takes its place.
func (e Entry) withoutPrevious() *Entry {
	e.Previous, e.Channel, e.Pinned = nil, "", false
	return &e
}

// activate writes module, release and, as the one step that counts, the lock.
func (c *Client) activate(lock *Lock, e Entry, v *verified, wasm []byte) error {
	if err := c.keepFiles(v, wasm); err != nil {
		return err
	}
	return c.enforce(lock.with(e), e)
}

// keepFiles puts what the lock file will name into the store.
func (c *Client) keepFiles(v *verified, wasm []byte) error {
	if err := c.at("module"); err != nil {
		return err
	}
	if err := c.store().put(wasm, extModule); err != nil {
		return err
	}
	if err := c.at("release"); err != nil {
		return err
	}
	return c.store().put(v.bytes, extRelease)
}

// enforce writes a lock file in which entries are new, and clears up after it.
func (c *Client) enforce(next *Lock, entries ...Entry) error {
	if err := c.at("lock"); err != nil {
		return err
	}
	if err := next.write(c.lockPath()); err != nil {
		return err
	}
	if c.cfg.Events.Installed != nil {
		for _, e := range entries {
			c.cfg.Events.Installed(e)
		}
	}
	c.tidy(next)
	return nil
}

// tidy removes what a lock that was just written doesn't name any more. Failing
// to is a warning: the change itself has happened.
func (c *Client) tidy(lock *Lock) {
	err := c.at("sweep")
	if err == nil {
		err = c.store().sweep(lock.hashes())
	}
	if err != nil && c.cfg.Events.Warning != nil {
		c.cfg.Events.Warning("", fmt.Sprintf("old files stay in the store: %v", err))
	}
}

// Installed lists the active version of every plugin.
func (c *Client) Installed() ([]Entry, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, err
	}
	return slices.Clone(lock.Plugins), nil
}

// missing is the error for a plugin that isn't installed.
func (l *Lock) missing(plugin string) error {
	names := make([]string, len(l.Plugins))
	for i, e := range l.Plugins {
		names[i] = e.Plugin()
	}
	return abi.Errorf(abi.ErrNotFound, "", "plugin %q isn't installed%s", plugin, didYouMean(plugin, names)).WithHint("drawbridge list")
}
