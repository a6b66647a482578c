package registry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Complete gives a reference without a namespace the one that it must mean: the
// only plugin of that name in all registries, or in the one that ref names. It
// never chooses between two. What is installed counts like what is offered. A
// name that no copy of a registry has is looked for once more in new ones.
func (c *Client) Complete(ctx context.Context, ref Ref) (Ref, error) {
	if ref.Namespace != "" {
		return ref, nil
	}
	found, err := c.named(ctx, ref)
	if err == nil && len(found) == 0 {
		unreached := c.exclusive(func() error { return c.refreshEach(ctx) })
		if found, err = c.named(ctx, ref); len(found) == 0 {
			err = errors.Join(err, unreached)
		}
	}
	switch {
	case err != nil:
		return Ref{}, err
	case len(found) == 0:
		return Ref{}, abi.Errorf(abi.ErrNotFound, "", "no registry has a plugin that is called %q", ref.Name).
			WithHint("drawbridge search %s", ref.Name)
	case len(found) > 1:
		return Ref{}, abi.Errorf(abi.ErrInvalidArgs, "", "%q may be any of %s", ref.Name, strings.Join(found, ", ")).
			WithHint("%s", installOne(found, ref))
	}
	full, err := ParseRef(found[0])
	full.Constraint, full.Channel = ref.Constraint, ref.Channel
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

// named lists "registry:namespace/name" of every plugin that ref can mean.
func (c *Client) named(ctx context.Context, ref Ref) ([]string, error) {
	var found []string
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, err
	}
	for _, e := range lock.Plugins {
		if e.Name == ref.Name && (ref.Registry == "" || ref.Registry == e.Registry) {
			found = append(found, e.Registry+":"+e.Plugin())
		}
	}
	registries, err := c.Registries()
	if err != nil {
		return nil, err
	}
	for _, r := range registries {
		if ref.Registry != "" && ref.Registry != r.ID {
			continue
		}
		err := c.withCatalog(ctx, r.ID, func(cat *catalog) error {
			for _, p := range cat.plugins() {
				if p.Name == ref.Name {
					found = append(found, r.ID+":"+p.Plugin())
				}
			}
			return nil
		})
		if err != nil { // what can't be read may have the same name
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
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
		return Entry{}, notInstalled(name)
	case len(found) > 1:
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "%q may be %q or %q", name, found[0].Plugin(), found[1].Plugin()).
			WithHint("the same command with one of these names")
	}
	return found[0], nil
}
