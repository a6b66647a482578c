package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
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

// A CheckReport is what a check found. It is the JSON of the command.
type CheckReport struct {
	Verdict  string              `json:"verdict"` // "accept" or "reject"
	Registry string              `json:"registry,omitempty"`
	Commit   string              `json:"commit,omitempty"` // what was checked
	Base     string              `json:"base,omitempty"`   // against which commit
	Snapshot int64               `json:"snapshot,omitempty"`
	Expires  *time.Time          `json:"expires,omitempty"`
	Pinned   signing.Fingerprint `json:"pinned,omitempty"`
	Problems []CheckProblem      `json:"problems"`
	Notices  []CheckProblem      `json:"notices"` // worth a look, and no reason to refuse
	Changes  []Change            `json:"changes"` // that a new snapshot makes
	Proposed []ProposedRelease   `json:"proposed"`
	Growth   []Growth            `json:"growth"`
}

// A CheckProblem is one reason to refuse.
type CheckProblem struct {
	Path    string `json:"path,omitempty"`
	Code    string `json:"code"` // a reason of abi, or an error code
	Message string `json:"message"`
}

// A ProposedRelease is a release that no index lists yet.
type ProposedRelease struct {
	Plugin  string              `json:"plugin"`
	Version string              `json:"version"`
	Signer  signing.Fingerprint `json:"signer,omitempty"`
	Module  string              `json:"module,omitempty"` // sha256
	Path    string              `json:"path"`
}

// A Growth is what a new version may do that the one before, which users of its
// channel have, may not.
type Growth struct {
	Plugin  string   `json:"plugin"`
	From    string   `json:"from,omitempty"` // version; empty for the first one of its channel
	To      string   `json:"to"`
	Added   []string `json:"added"`   // sentences
	Removed []string `json:"removed"` // what it may not do any more
	Told    []string `json:"told"`    // what models or people are told otherwise
}

// The verdicts.
const (
	VerdictAccepted = "accept"
	VerdictRefused  = "reject"
)

// maxProblems bounds a report.
const maxProblems = 500

// Check looks at a proposed state of a registry as a forge does before it lets a
// change in: at everything that a client would check, and at what clients can't
// see: that nothing published is changed or taken away, that new names don't
// imitate others, that modules are there and fit. It goes on after a problem where
// that is possible. The error says that nothing could be checked; what is bad about
// the state is in the report.
func Check(ctx context.Context, opts CheckOptions) (*CheckReport, error) {
	c := &checker{opts: opts, repos: map[string]repository{}, report: &CheckReport{
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
	source, base address
	ref, baseRef string
	modules      []address
	scratches    int
	repos        map[string]repository // by address: the base is mostly where the proposal is

	head  *tree
	is    *catalog // of the proposed state; nil if clients would refuse it
	was   *catalog // of the base
	whole bool     // both are one: everything is looked at, not what is new
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
	c.ref, c.base, c.baseRef = c.opts.Ref, c.source, c.opts.Base
	if c.ref == "" {
		c.ref = "HEAD"
	}
	if other, err := parseAddress(c.opts.Base); err == nil {
		c.base, c.baseRef = other, branch
	}
	if c.baseRef == "" {
		c.baseRef = branch
	}
	c.modules = []address{c.source}
	if c.base.url != c.source.url {
		c.modules = append(c.modules, c.base)
	}
	for _, m := range c.opts.Modules {
		a, err := parseAddress(m)
		if err != nil {
			return err
		}
		c.modules = append(c.modules, a)
	}
	return errors.Join(checkRefName(c.ref), checkRefName(c.baseRef))
}

func (c *checker) say(format string, args ...any) {
	if c.opts.Progress != nil {
		c.opts.Progress(fmt.Sprintf(format, args...))
	}
}

// refuse notes a problem.
func (c *checker) refuse(path string, err error) {
	if err == nil || len(c.report.Problems) >= maxProblems {
		return
	}
	c.report.Problems = append(c.report.Problems, problemOf(path, err))
}

func (c *checker) notice(path, code, format string, args ...any) {
	if len(c.report.Notices) < maxProblems {
		c.report.Notices = append(c.report.Notices, CheckProblem{path, code, fmt.Sprintf(format, args...)})
	}
}

// codeWord is what a code is made of.
var codeWord = regexp.MustCompile(`^[a-z_]+$`)

func problemOf(path string, err error) CheckProblem {
	p := CheckProblem{Path: path, Code: string(abi.ErrInternal), Message: err.Error()}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		if p.Code = string(e.Code); e.Reason != "" {
			p.Code = string(e.Reason)
		}
	}
	if e, ok := errors.AsType[codedError](err); ok && codeWord.MatchString(e.code) {
		p.Code = e.code
	}
	return p
}

// A codedError is a problem that only a check knows.
type codedError struct{ code, msg string }

func (e codedError) Error() string { return e.msg }

// Codes of problems that clients don't have.
const (
	codeName      = "confusable_name"
	codeHistory   = "published_changed" // something that was published is changed or gone
	codeUnknown   = "unknown_file"
	codeUnsigned  = "changed_without_snapshot"
	codeNotHigher = "version_not_higher"
	codeModule    = "module_missing"
	codeChain     = "chain_broken"
	codeDate      = "publish_date"
)

func coded(code, format string, args ...any) error {
	return codedError{code, fmt.Sprintf(format, args...)}
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
	c.files()
	c.say("verifying")
	if err := c.state(ctx); err != nil {
		return err
	}
	return c.releases(ctx)
}

// scratch makes a repository below the check's directory.
func (c *checker) scratch(ctx context.Context, via transport) (repository, error) {
	c.scratches++
	return create(ctx, filepath.Join(c.dir, fmt.Sprintf("git%d", c.scratches)), via)
}

// bring fetches a ref. What git itself refuses is a problem, and is then fetched
// without git's checks, so that the policy can say more: it is refused already.
func (c *checker) bring(ctx context.Context, from address, ref, to string) (*objects, error) {
	repo, have := c.repos[from.url]
	var err error
	if !have {
		if repo, err = c.scratch(ctx, from.via); err != nil {
			return nil, err
		}
		c.repos[from.url] = repo
	}
	err = repo.fetch(ctx, from, ref, to)
	if ge, ok := errors.AsType[*gitError](err); ok && rejected(ge.stderr) {
		c.refuse("", fetchError(err, from))
		if repo, err = c.scratch(ctx, from.via); err == nil {
			c.repos[from.url] = repo
			err = repo.fetchAs(ctx, from, []string{"+" + ref + ":" + to}, fetchHow{unchecked: true})
		}
		if err != nil {
			return nil, nil //nolint:nilerr // the report has a problem already
		}
	}
	if noSuchRef(err) {
		return nil, noRef(from, ref, repo.proposedAt(ctx, from))
	}
	if err != nil {
		return nil, fetchError(err, from)
	}
	return repo.open(ctx)
}

// noRef says that a ref isn't there, and which proposals are.
func noRef(from address, ref string, proposed []string) error {
	err := abi.Errorf(abi.ErrNotFound, "check", "%q has no %q", from.url, ref)
	if len(proposed) == 0 {
		return err.WithHint("drawbridge registry check DIR --ref REF --base REF; no branch there is called propose/…")
	}
	return err.WithHint("what is proposed there: %s", strings.Join(proposed, ", "))
}

// bringBase fetches the state in force. In a clone with a work tree, such as a
// forge's runner has, the branch may be there as origin's alone.
func (c *checker) bringBase(ctx context.Context) (*objects, error) {
	base, err := c.bring(ctx, c.base, c.baseRef, refBase)
	if errors.Is(err, abi.ErrNotFound) && c.opts.Base == "" && c.base.via == fromFile {
		return c.bring(ctx, c.base, "refs/remotes/origin/main", refBase)
	}
	return base, err
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
	baseTree, err := walkTree(base, refBase, func(path string, err error) { c.notice(path, problemOf("", err).Code, "the base: %v", err) })
	if err != nil {
		c.refuse("", fmt.Errorf("the base: %w", err))
		return nil
	}
	if c.report.Pinned = c.opts.Pinned; c.report.Pinned == "" {
		if c.report.Pinned, err = firstOwner(baseTree.ReadFile, c.now); err != nil {
			c.refuse("", fmt.Errorf("the base: %w", err))
			return nil
		}
	}
	if c.was, err = verifyCatalog(baseTree, newState(c.base.url, c.report.Pinned), c.now); err != nil {
		c.was = nil
		c.refuse("", fmt.Errorf("the base: %w", err))
		return nil
	}
	c.report.Registry = c.was.root.Registry
	return c.seeNamespaces()
}

// seeNamespaces takes in the version of every namespace of the base, as a client
// that used them all would have.
func (c *checker) seeNamespaces() error {
	for path := range c.was.snapshot.Files {
		if ns, ok := namespaceOf(path); ok {
			if _, err := c.was.namespace(ns); err != nil {
				c.notice(path, problemOf("", err).Code, "the base: %v", err)
			}
		}
	}
	return nil
}

func namespaceOf(path string) (string, bool) {
	name, dir := strings.CutPrefix(path, "namespaces/")
	name, file := strings.CutSuffix(name, ".json")
	return name, dir && file && validName(name)
}

// knownFile says whether a path is one that a registry has.
func knownFile(path string) bool {
	parts := strings.Split(strings.TrimSuffix(path, ".asc"), "/")
	switch {
	case slices.Contains(topFiles(), path):
		return true
	case len(parts) == 2 && parts[0] == "keys":
		return strings.HasSuffix(path, ".asc") && signing.Fingerprint(parts[1]).Valid()
	case len(parts) == 2 && parts[0] == "root":
		return rootFile.MatchString(parts[1])
	case len(parts) == 2 && parts[0] == "namespaces":
		name, json := strings.CutSuffix(parts[1], ".json")
		return json && validName(name) && !reservedName(name)
	case len(parts) == 4 && parts[0] == "connectors":
		name, json := strings.CutSuffix(parts[3], ".json")
		named := validName(parts[1]) && validName(parts[2]) && !reservedName(parts[1]) && !reservedName(parts[2])
		return json && named && (path == indexPath(parts[1], parts[2]) || validVersion(name))
	}
	return false
}

var rootFile = regexp.MustCompile(`^[1-9][0-9]{0,3}\.json$`)

// files looks at the names of what there is, and at what was taken away.
func (c *checker) files() {
	for path := range c.head.files {
		if !knownFile(path) {
			c.refuse(path, coded(codeUnknown, "%q is no file of a registry", path))
		}
	}
	base, ok := c.was.files.(*tree)
	if !ok {
		panic("BUG: the base isn't a tree")
	}
	for path := range base.files {
		if _, there := c.head.files[path]; !there && !slices.Contains(topFiles(), path) {
			c.refuse(path, coded(codeHistory, "%q was there before, and is gone", path))
		}
	}
	slices.SortStableFunc(c.report.Problems, func(a, b CheckProblem) int { return strings.Compare(a.Path, b.Path) })
}
