package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

const (
	typeNames = "drawbridge-registry-names"
	namesFile = "names.json"
)

// knownNames are the plugins that a registry's newest snapshot lists. They are kept
// beside our copy, for a time when that can't be read: whether an unqualified name
// could mean something in it is then still known.
type knownNames struct {
	Type     string   `json:"type"`
	Format   int      `json:"format"`
	Registry string   `json:"registry"`
	Issued   Time     `json:"issued"` // of that snapshot
	Names    []string `json:"names"`  // namespace/name, sorted
}

func (k *knownNames) check() error {
	if err := head(k.Type, typeNames, k.Format, k.Registry); err != nil {
		return err
	}
	return checkNames(k.Names)
}

func checkNames(names []string) error {
	for i, name := range names {
		namespace, plugin, _ := strings.Cut(name, "/")
		if !validName(namespace) || !validName(plugin) || i > 0 && names[i-1] >= name {
			return fmt.Errorf("name %q", name)
		}
	}
	return nil
}

// keepNames writes down what a registry lists. What doesn't fit is not known, which
// is said where it matters.
func keepNames(dir string, cat *catalog) error {
	k := &knownNames{typeNames, Format, cat.root.Registry, cat.snapshot.Issued, []string{}}
	for _, ref := range cat.plugins() {
		k.Names = append(k.Names, ref.Plugin())
	}
	path := filepath.Join(dir, namesFile)
	err := writeOwn(path, k, maxOwnFile)
	if errors.Is(err, abi.ErrLimitExceeded) {
		err = notMissing(os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("keeping the names in registry %q: %w", k.Registry, err)
	}
	return nil
}

func readNames(dir string) (*knownNames, error) {
	var k knownNames
	return &k, readOwn(filepath.Join(dir, namesFile), &k, maxOwnFile)
}

// A lookup is where plugins that a name can mean were found.
type lookup struct {
	found   []string // registry:namespace/name, sorted
	skipped []Notice // registries that can't be read, and are known not to have it; and removed ones that had it
	unread  []error  // those of which nobody knows; each names its registry
}

// look finds the plugins that fit in all registries, or in one. A registry that can't
// be read is taken to list what it listed last.
func (c *Client) look(ctx context.Context, only string, fits func(Ref) bool) (lookup, error) {
	var l lookup
	all, damaged := c.states()
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		id := all[dir].Registry
		if only != "" && only != id {
			continue
		}
		err := c.withCatalog(ctx, id, func(cat *catalog) error {
			l.add(id, cat.plugins(), fits)
			return nil
		})
		if ctx.Err() != nil {
			return l, fmt.Errorf("looking into registry %q: %w", id, ctx.Err())
		}
		if err != nil {
			l.recall(dir, id, fits, err)
		}
	}
	for _, d := range damagedIn(damaged) {
		if only == "" {
			l.recall(d.Dir, "", fits, d)
		}
	}
	if only == "" {
		l.removed(c, all, fits)
	}
	slices.Sort(l.found)
	l.found = slices.Compact(l.found)
	for _, n := range l.skipped {
		if c.cfg.Events.Warning != nil {
			c.cfg.Events.Warning("", n.Message)
		}
	}
	return l, nil
}

func (l *lookup) add(id string, plugins []Ref, fits func(Ref) bool) {
	for _, p := range plugins {
		if fits(p) {
			l.found = append(l.found, id+":"+p.Plugin())
		}
	}
}

// recall looks among the names that a registry listed when it could be read last. An
// empty id is a registry whose state can't be read either.
func (l *lookup) recall(dir, id string, fits func(Ref) bool, why error) {
	k, err := readNames(dir)
	if err != nil || id != "" && k.Registry != id {
		if id == "" {
			id = filepath.Base(dir)
		}
		l.unread = append(l.unread, fmt.Errorf("registry %q can't be read: %w", id, why))
		return
	}
	listed := refsOf(k.Registry, k.Names)
	l.add(k.Registry, listed, fits)
	if !slices.ContainsFunc(listed, fits) {
		l.skipped = append(l.skipped, Notice{NoticeUnread, fmt.Sprintf("registry %q can't be read now, and had nothing of this name when it could: %v", k.Registry, why)})
	}
}

// removed looks among what registries listed that were removed. They offer nothing any
// more, but a name that was theirs is told of when another registry has it.
func (l *lookup) removed(c *Client, there map[string]*state, fits func(Ref) bool) {
	all, _ := c.tombstones("") // a damaged one is told of elsewhere
	for _, t := range all {
		id := t.State.Registry
		listed := refsOf(id, t.Names)
		if i := slices.IndexFunc(listed, fits); i >= 0 && !t.outlived(there) {
			l.skipped = append(l.skipped, Notice{NoticeRemoved, fmt.Sprintf("registry %q had %q too, until it was removed here at %s", id, listed[i].Plugin(), t.Removed)})
		}
	}
}

func refsOf(id string, names []string) []Ref {
	refs := make([]Ref, len(names))
	for i, name := range names {
		namespace, plugin, _ := strings.Cut(name, "/")
		refs[i] = Ref{Registry: id, Namespace: namespace, Name: plugin}
	}
	return refs
}

// damagedIn takes an error of states apart.
func damagedIn(err error) []*DamagedError {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var list []*DamagedError
	for _, err := range joined.Unwrap() {
		if d, ok := errors.AsType[*DamagedError](err); ok {
			list = append(list, d)
		}
	}
	return list
}

// An unreadError is about a name that a registry may have which can't be read.
type unreadError []error

func (e unreadError) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e unreadError) Unwrap() []error { return e }

// doubt is the error about a name that may be in a registry, beside those that have it,
// which can't be read; nil if all are known.
func (l *lookup) doubt(name string, ref Ref) error {
	if len(l.unread) == 0 {
		return nil
	}
	e := abi.Errorf(abi.ErrInvalidArgs, "", "%q may be in a registry that can't be read: %w", name, unreadError(l.unread))
	if len(l.found) == 0 {
		return e.WithHint("drawbridge registry fetch, then drawbridge doctor")
	}
	return e.WithHint("%s, if that is the one that you mean; drawbridge doctor says what is wrong", installOne(l.found, ref))
}
