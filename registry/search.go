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
	id, err := c.registryOf(ctx, ref, lock)
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
	v, ok, err := choose(x, ref, locked)
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

// registryOf decides which registry a reference is looked up in.
func (c *Client) registryOf(ctx context.Context, ref Ref, lock *Lock) (string, error) {
	if e := lock.find(ref.Plugin()); e != nil {
		if ref.Registry != "" && ref.Registry != e.Registry {
			return "", refuse(abi.ReasonWrongName, e.keys(), "plugin %q is installed from registry %q, not %q",
				ref.Plugin(), e.Registry, ref.Registry)
		}
		return e.Registry, nil
	}
	if ref.Registry != "" {
		return ref.Registry, nil
	}
	registries, err := c.Registries()
	if err != nil {
		return "", err
	}
	var having []string
	for _, r := range registries {
		err := c.withCatalog(ctx, r.ID, func(cat *catalog) error {
			_, err := cat.index(ref)
			return err
		})
		switch {
		case err == nil:
			having = append(having, r.ID)
		case !errors.Is(err, abi.ErrNotFound):
			return "", fmt.Errorf("looking for %q in registry %q: %w", ref.Plugin(), r.ID, err)
		}
	}
	return onlyOne(having, ref)
}

// registryOfNew is registryOf for a plugin that no copy has: it may have been
// published since they were fetched. A registry that can't be reached doesn't
// hide what another one has.
func (c *Client) registryOfNew(ctx context.Context, ref Ref, lock *Lock) (string, error) {
	registries, err := c.Registries()
	if err != nil {
		return "", err
	}
	var problems []error
	for _, r := range registries {
		if _, err := c.refresh(ctx, r.ID); err != nil {
			problems = append(problems, err)
		}
	}
	id, err := c.registryOf(ctx, ref, lock)
	if errors.Is(err, abi.ErrNotFound) && len(problems) > 0 {
		return "", errors.Join(problems...)
	}
	return id, err
}

func onlyOne(having []string, ref Ref) (string, error) {
	switch len(having) {
	case 0:
		return "", abi.Errorf(abi.ErrNotFound, "", "no registry has a plugin %q", ref.Plugin()).
			WithHint("drawbridge search")
	case 1:
		return having[0], nil
	}
	return "", abi.Errorf(abi.ErrInvalidArgs, "", "plugin %q is in the registries %q", ref.Plugin(), having).
		WithHint("%s", installOne(inEach(having, ref), ref))
}

// inEach names a plugin once for each registry that has it.
func inEach(registries []string, ref Ref) []string {
	names := make([]string, len(registries))
	for i, id := range registries {
		names[i] = id + ":" + ref.Plugin()
	}
	return names
}
