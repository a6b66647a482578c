package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// mended gives a refusal of a revoked version the command that helps, by the copy
// of its registry that the last refresh left: an update if there is a version to
// update to, else the version before, else another one, else that it be removed.
func (c *Client) mended(ctx context.Context, e Entry, err error) error {
	refused, ok := errors.AsType[*abi.Error](err)
	if !ok || refused.Reason != abi.ReasonArtifactRevoked && refused.Reason != abi.ReasonKeyRevoked {
		return err
	}
	var update bool
	var other Version
	looked := c.withCatalog(ctx, e.Registry, func(cat *catalog) (err error) {
		update, other, err = cat.runnableBeside(e)
		return err
	})
	said := *refused
	switch plugin := e.Plugin(); {
	case looked != nil || update:
		return err // an update says more
	case e.Previous != nil && other.Version == e.Previous.Version:
		return said.WithHint("drawbridge rollback %s", plugin)
	case other.Version != "":
		if other.Channel == Beta && e.Channel != Beta {
			said.Msg += "; of its other versions only beta ones may run"
		}
		return said.WithHint("drawbridge remove %s && drawbridge install %s@%s", plugin, plugin, other.Version)
	default:
		said.Msg += "; no version of it may run any more"
		return said.WithHint("drawbridge remove %s, and ask the owner of registry %s", plugin, e.Registry)
	}
}

// hinted is err with what helps against another error about the same plugin.
func (e Entry) hinted(err, other error) error {
	bad, ok := errors.AsType[*abi.Error](err)
	why, has := errors.AsType[*abi.Error](other)
	if !ok || !has {
		return err
	}
	said := *bad
	return said.WithHint("%s", why.Hint)
}

// runnableBeside looks for versions that may run in place of an installed one: what
// an update would bring, and the newest of the others, of the channel that it
// follows if there is one.
func (c *catalog) runnableBeside(e Entry) (update bool, other Version, err error) {
	ref := Ref{Registry: e.Registry, Namespace: e.Namespace, Name: e.Name}
	x, err := c.index(ref)
	if errors.Is(err, abi.ErrNotFound) {
		return false, Version{}, nil
	}
	if err != nil {
		return false, Version{}, err
	}
	newest, ok, err := c.choose(x, ref.following(&e), "")
	if err != nil {
		return false, Version{}, err
	}
	followed, err := eligible(x, ref.following(&e), "")
	if err != nil {
		return false, Version{}, err
	}
	all := slices.Clone(x.Versions)
	slices.Reverse(all)
	for _, v := range append(followed, all...) {
		if v.Version == e.Version || v.Yanked != "" {
			continue
		}
		if _, err := c.release(ref, v); err != nil {
			continue
		}
		if ok && v.Version == newest.Version && compareVersions(v.Version, e.Version) > 0 {
			return true, Version{}, nil
		}
		if other.Version == "" {
			other = v
		}
	}
	return false, other, nil
}
