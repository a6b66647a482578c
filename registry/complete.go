package registry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Complete gives a reference without a namespace the one that it must mean: the
// only plugin of that name in all registries, or in the one that ref names. It
// never chooses between two, and counts what a registry listed when it could be read.
// What is installed counts like what is offered. A name that no copy of a registry has
// is looked for once more in new ones.
func (c *Client) Complete(ctx context.Context, ref Ref) (Ref, error) {
	if ref.Namespace != "" {
		return ref, nil
	}
	l, err := c.named(ctx, ref)
	if err == nil && (len(l.found) == 0 || len(l.unread) > 0) {
		unreached := c.exclusive(func() error { return c.refreshEach(ctx) })
		if l, err = c.named(ctx, ref); len(l.found)+len(l.unread) == 0 {
			err = errors.Join(err, unreached)
		}
	}
	if err != nil {
		return Ref{}, err
	}
	if len(l.found) > 1 {
		return Ref{}, abi.Errorf(abi.ErrInvalidArgs, "", "%q may be any of %s", ref.Name, strings.Join(l.found, ", ")).
			WithHint("%s", installOne(l.found, ref))
	}
	if err := l.doubt(ref.Name, ref); err != nil {
		return Ref{}, err
	}
	if len(l.found) == 0 {
		return Ref{}, abi.Errorf(abi.ErrNotFound, "", "no registry has a plugin that is called %q%s", ref.Name, c.nearTo(ctx, ref.Registry, ref.Name)).
			WithHint("drawbridge search %s", ref.Name)
	}
	full, err := ParseRef(l.found[0])
	full.Constraint, full.Channel = ref.Constraint, ref.Channel
	if len(l.skipped) > 0 {
		full.Registry = "" // whoever installs it looks for it as well, and is told
	}
	return full, err
}

// installOne is the commands of which one is meant.
func installOne(found []string, ref Ref) string {
	suffix := cmp.Or(ref.Constraint, string(ref.Channel))
	if suffix != "" {
		suffix = "@" + suffix
	}
	commands := make([]string, len(found))
	for i, name := range found {
		commands[i] = "drawbridge install " + quoted(name+suffix)
	}
	return strings.Join(commands, ", or ")
}

// quoted is an argument as a shell takes it.
func quoted(arg string) string {
	if strings.ContainsAny(arg, " ~<>=!*,") {
		return "'" + arg + "'"
	}
	return arg
}

// named finds every plugin that ref can mean.
func (c *Client) named(ctx context.Context, ref Ref) (lookup, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return lookup{}, err
	}
	l, err := c.look(ctx, ref.Registry, func(r Ref) bool { return r.Name == ref.Name })
	for _, e := range lock.Plugins {
		if e.Name == ref.Name && (ref.Registry == "" || ref.Registry == e.Registry) {
			l.found = append(l.found, e.Registry+":"+e.Plugin())
		}
	}
	slices.Sort(l.found)
	l.found = slices.Compact(l.found)
	return l, err
}

// refreshEach fetches every registry's newest snapshot.
func (c *Client) refreshEach(ctx context.Context) error {
	registries, err := c.Registries()
	problems := []error{err}
	for _, r := range registries {
		_, err := c.refresh(ctx, r.ID)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Named returns the installed plugin that a name means: namespace/name, or the
// name alone if only one is called that. A registry and a version in it must be
// those of the plugin.
func (c *Client) Named(name string) (Entry, error) {
	ref, err := ParseName(name)
	if err != nil {
		return Entry{}, err
	}
	lock, err := readLock(c.lockPath())
	if err != nil {
		return Entry{}, err
	}
	var found []Entry
	for _, e := range lock.Plugins {
		if e.Name == ref.Name && (ref.Namespace == "" || ref.Namespace == e.Namespace) && (ref.Registry == "" || ref.Registry == e.Registry) {
			found = append(found, e)
		}
	}
	switch {
	case len(found) == 0:
		return Entry{}, lock.missing(name)
	case len(found) > 1:
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "%q may be %q or %q", name, found[0].Plugin(), found[1].Plugin()).
			WithHint("the same command with one of these names")
	}
	return found[0], ref.means(found[0])
}

// means refuses an installed plugin that isn't the version that a name asks for.
func (r Ref) means(e Entry) error {
	constraints, err := r.constraints()
	if err != nil {
		return abi.Errorf(abi.ErrInvalidArgs, "", "version constraint %q: %w", r.Constraint, err)
	}
	if r.Channel == "" && (constraints == nil || constraints.Check(version.Must(version.NewSemver(e.Version)))) {
		return nil
	}
	return abi.Errorf(abi.ErrInvalidArgs, "", "%q is installed as version %q, not %q", e.Plugin(), e.Version, cmp.Or(string(r.Channel), r.Constraint)).
		WithHint("the same command with %s; drawbridge install %s@VERSION gets another one", e.Plugin(), e.Plugin())
}
