package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Candidate is one version of a plugin that a registry offers. Its release
// isn't verified yet.
type Candidate struct {
	Registry  string
	Namespace string
	Name      string
	Version
}

// Plugin returns "namespace/name".
func (c Candidate) Plugin() string { return c.Namespace + "/" + c.Name }

// Resolve finds the version that a reference means. A plugin that is installed is
// looked up in the registry that it came from; one that several registries have
// is refused unless ref names one. There is no falling through from one registry
// to the next.
func (c *Client) Resolve(ctx context.Context, ref Ref) (Candidate, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return Candidate{}, err
	}
	id, _, err := c.registryOf(ctx, ref, lock)
	if err != nil {
		return Candidate{}, err
	}
	var found Candidate
	err = c.withCatalog(ctx, id, func(cat *catalog) error {
		found, err = cat.resolve(ref.following(lock.find(ref.Plugin())), lockedVersion(lock, ref))
		return err
	})
	return found, err
}

func lockedVersion(lock *Lock, ref Ref) string {
	if e := lock.find(ref.Plugin()); e != nil {
		return e.Version
	}
	return ""
}

// resolve chooses a version of a plugin in this registry.
func (c *catalog) resolve(ref Ref, locked string) (Candidate, error) {
	x, err := c.index(ref)
	if err != nil {
		return Candidate{}, err
	}
	v, ok, err := c.choose(x, ref, locked)
	if err != nil {
		return Candidate{}, err
	}
	if !ok {
		return Candidate{}, abi.Errorf(abi.ErrNotFound, "", "no version of %q in registry %q matches %q",
			ref.Plugin(), c.root.Registry, ref.Constraint).WithHint("%s", hintVersions(x, locked))
	}
	return Candidate{c.root.Registry, x.Namespace, x.Name, v}, nil
}

// hintVersions says which versions there are to ask for, the newest first.
func hintVersions(x *Index, locked string) string {
	const most = 8
	var names []string
	for _, v := range slices.Backward(x.Versions) {
		if v.Yanked != "" && v.Version != locked {
			continue
		}
		name := v.Version
		if v.Channel != Stable {
			name += " (" + string(v.Channel) + ")"
		}
		names = append(names, name)
	}
	plugin := x.Namespace + "/" + x.Name
	switch {
	case len(names) == 0:
		return "drawbridge info " + plugin + ", for why there is none to have"
	case len(names) > most:
		names = append(names[:most], fmt.Sprintf("and %d older", len(names)-most))
	}
	return "the same command with " + plugin + "@VERSION: there is " + strings.Join(names, ", ")
}

// registryOf decides which registry a reference is looked up in. The notices are
// about registries that could not be read, and are known not to have it.
func (c *Client) registryOf(ctx context.Context, ref Ref, lock *Lock) (string, []Notice, error) {
	if e := lock.find(ref.Plugin()); e != nil {
		if ref.Registry != "" && ref.Registry != e.Registry {
			return "", nil, refuse(abi.ReasonWrongName, e.keys(), "plugin %q is installed from registry %q, not %q",
				ref.Plugin(), e.Registry, ref.Registry)
		}
		return e.Registry, nil, nil
	}
	if ref.Registry != "" {
		return ref.Registry, nil, nil
	}
	l, err := c.look(ctx, "", func(r Ref) bool { return r.Plugin() == ref.Plugin() })
	if err != nil {
		return "", nil, err
	}
	id, err := l.onlyOne(ref)
	return id, l.skipped, err
}

// registryOfNew is registryOf for a plugin that no copy has: it may have been
// published since they were fetched; or for one that a registry may have which can't
// be read, and may be once it is fetched again. A registry that can't be reached
// doesn't hide what another one has.
func (c *Client) registryOfNew(ctx context.Context, ref Ref, lock *Lock) (string, []Notice, error) {
	registries, _ := c.Registries() // a damaged one is told of by registryOf
	var problems []error
	for _, r := range registries {
		if _, err := c.refresh(ctx, r.ID); err != nil {
			problems = append(problems, err)
		}
	}
	id, notices, err := c.registryOf(ctx, ref, lock)
	if errors.Is(err, abi.ErrNotFound) && len(problems) > 0 {
		return "", nil, errors.Join(problems...)
	}
	if none, ok := errors.AsType[*abi.Error](err); ok && none.Code == abi.ErrNotFound {
		none.Msg += c.nearTo(ctx, "", ref.Plugin())
	}
	return id, notices, err
}

// onlyOne is the registry that has a plugin.
func (l *lookup) onlyOne(ref Ref) (string, error) {
	if len(l.found) > 1 {
		return "", abi.Errorf(abi.ErrInvalidArgs, "", "plugin %q is in more than one registry: %s", ref.Plugin(), strings.Join(l.found, ", ")).
			WithHint("%s", installOne(l.found, ref))
	}
	if err := l.doubt(ref.Plugin(), ref); err != nil {
		return "", err
	}
	if len(l.found) == 0 {
		return "", abi.Errorf(abi.ErrNotFound, "", "no registry has a plugin %q", ref.Plugin()).
			WithHint("drawbridge search")
	}
	id, _, _ := strings.Cut(l.found[0], ":")
	return id, nil
}
