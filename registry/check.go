package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// CheckOptions say what a check looks at.
type CheckOptions struct {
	// Source is the repository with the proposed state: an address, or the path of
	// a repository, bare or with a work tree.
	Source string
	Ref    string // in Source; empty means HEAD
	// Base is the state in force: a ref in Source, or another repository, whose
	// main branch it is. Empty means Source's branch main.
	Base string
	// Pinned is an owner's key. Empty takes the base's first root at its word.
	Pinned signing.Fingerprint
	// Modules are further repositories in which a proposed module may be, such as
	// the fork of who proposes it.
	Modules []string
	// Admit looks at a module that is new: its imports, and what it says of itself.
	// It may be nil.
	Admit func(context.Context, abi.Release, []byte) error
	// Allow are names ("namespace/name") that somebody looked at and found to be
	// no imitation.
	Allow []string
	// Channel is the one for which proposed releases are meant; empty means Stable.
	Channel  Channel
	Clock    Clock
	Progress func(string) // what is done next; may be nil
}

// Check looks at a proposed state of a registry as a forge does before it lets a
// change in: at everything that a client would check, and at what clients can't
// see: that nothing published is changed or taken away, that new names don't
// imitate others, that modules are there and fit. It goes on after a problem where
// that is possible. The error says that nothing could be checked; what is bad about
// the state is in the report.
func Check(ctx context.Context, opts CheckOptions) (*CheckReport, error) {
	c := &checker{opts: opts, repos: map[string]repository{}, sameSpaces: map[string]bool{}, report: &CheckReport{
		Verdict: VerdictRefused, Problems: []CheckProblem{}, Notices: []CheckProblem{}, Changes: []Change{}, Proposed: []ProposedRelease{}, Growth: []Growth{},
	}}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	err := inScratch(func(dir string) error {
		c.dir = dir
		return c.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	if len(c.report.Problems) == 0 {
		c.report.Verdict = VerdictAccepted
	}
	return c.report, nil
}

// Refs in the scratch repository of a check.
const (
	refHead = "refs/drawbridge/head"
	refBase = "refs/drawbridge/base"
)

// A checker is one check under way.
type checker struct {
	opts         CheckOptions
	report       *CheckReport
	now          time.Time
	dir          string
	source, home address // home is where the base is
	ref, baseRef string
	from         []address // where modules may be
	baseAt       int       // which of them the base is
	scratches    int
	repos        map[string]repository // by address: the base is mostly where the proposal is

	head, base *tree
	is         *catalog          // of the proposed state; nil if clients would refuse it
	was        *catalog          // of the base
	isIndex    map[string]*Index // by plugin; without those that clients would refuse
	wasIndex   map[string]*Index
	whole      bool            // both are one: everything is looked at, not what is new
	sameSpaces map[string]bool // by namespace, see untouched
	wanted     []wanted
}

// prepare reads the options.
func (c *checker) prepare() (err error) {
	if c.opts.Clock == nil {
		c.opts.Clock = time.Now
	}
	c.now = c.opts.Clock()
	if c.source, err = parseAddress(c.opts.Source); err != nil {
		return err
	}
	c.ref, c.home, c.baseRef = c.opts.Ref, c.source, c.opts.Base
	if c.ref == "" {
		c.ref = "HEAD"
	}
	if other, err := parseAddress(c.opts.Base); err == nil {
		c.home, c.baseRef = other, branch
	}
	if c.baseRef == "" {
		c.baseRef = branch
	}
	c.from = []address{c.source}
	if c.home.url != c.source.url {
		c.from, c.baseAt = append(c.from, c.home), 1
	}
	for _, m := range c.opts.Modules {
		a, err := parseAddress(m)
		if err != nil {
			return err
		}
		c.from = append(c.from, a)
	}
	return errors.Join(checkRefName(c.ref), checkRefName(c.baseRef))
}

func (c *checker) say(format string, args ...any) {
	if c.opts.Progress != nil {
		c.opts.Progress(fmt.Sprintf(format, args...))
	}
}

// run is the check itself.
func (c *checker) run(ctx context.Context) error {
	c.say("fetching %s", c.ref)
	objects, err := c.bring(ctx, c.source, c.ref, refHead)
	if err != nil || objects == nil {
		return err
	}
	defer objects.close()
	base, err := c.bringBase(ctx)
	if err != nil || base == nil {
		return err
	}
	defer base.close()
	if err := c.open(objects, base); err != nil || c.was == nil {
		return err
	}
	merged, err := c.catchUp(ctx)
	if err != nil {
		return err
	}
	if merged != nil {
		defer merged.close()
	}
	c.files()
	c.say("verifying")
	if err := c.state(ctx); err != nil {
		return err
	}
	if err := c.releases(ctx); err != nil {
		return err
	}
	return c.modules(ctx)
}

// open reads both trees and verifies the base as a client would.
func (c *checker) open(objects, base *objects) error {
	head, err := objects.stat(refHead + "^{commit}")
	if err != nil {
		c.refuse("", malformed(c.ref, "%w", err))
		return nil
	}
	was, err := base.stat(refBase + "^{commit}")
	if err != nil {
		c.refuse("", malformed(c.baseRef, "%w", err))
		return nil
	}
	c.report.Commit, c.report.Base, c.whole = head.id, was.id, head.id == was.id
	if c.head, err = walkTree(objects, refHead, c.refuse); err != nil {
		c.refuse("", err)
		return nil
	}
	c.base, err = walkTree(base, refBase, func(path string, err error) { c.notice(path, problemOf("", err).Code, "the base: %v", err) })
	if err != nil {
		c.refuse("", fmt.Errorf("the base: %w", err))
		return nil
	}
	if c.report.Pinned = c.opts.Pinned; c.report.Pinned == "" {
		if c.report.Pinned, err = firstOwner(c.base.ReadFile, c.now); err != nil {
			c.refuse("", fmt.Errorf("the base: %w", err))
			return nil
		}
	}
	if c.was, err = verifyCatalog(c.base, newState(c.home.url, c.report.Pinned), c.now); err != nil {
		c.was = nil
		c.refuse("", fmt.Errorf("the base: %w", err))
		return nil
	}
	c.report.Registry = c.was.root.Registry
	c.wasIndex = indexes(c.was, func(path string, err error) { c.notice(path, problemOf("", err).Code, "the base: %v", err) })
	c.seeNamespaces()
	return nil
}

// seeNamespaces takes in the version of every namespace of the base, as a client
// that used them all would have.
func (c *checker) seeNamespaces() {
	for path := range c.was.snapshot.Files {
		if ns, ok := namespaceOf(path); ok {
			if _, err := c.was.namespace(ns); err != nil {
				c.notice(path, problemOf("", err).Code, "the base: %v", err)
			}
		}
	}
}

func namespaceOf(path string) (string, bool) {
	name, dir := strings.CutPrefix(path, "namespaces/")
	name, file := strings.CutSuffix(name, ".json")
	return name, dir && file && validName(name)
}
