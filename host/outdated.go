package host

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// An OutdatedPlugin compares what is installed of a plugin with what its registry
// has.
type OutdatedPlugin struct {
	Name      string     `json:"plugin"`
	Installed string     `json:"installed"`
	Newest    string     `json:"newest"`           // on its channel
	Channel   string     `json:"channel"`          // that it follows
	Pinned    bool       `json:"pinned,omitempty"` // updates leave it as it is
	Outdated  bool       `json:"outdated"`         // there is a newer version
	Published *time.Time `json:"published,omitempty"`
	Wider     bool       `json:"wider,omitempty"`        // the newer version may do more
	Asks      bool       `json:"asks,omitempty"`         // a person has to agree to it
	Changes   int        `json:"change_count,omitempty"` // how many things differ
	Yanked    string     `json:"yanked,omitempty"`       // why the installed version was taken back
	Revoked   *Refusal   `json:"revoked,omitempty"`      // why it is not run any more
	Problem   *Refusal   `json:"error,omitempty"`        // why the newest version is not known
}

// Outdated compares every installed plugin with its registry, after asking the
// registries for what is new. One that can't be reached is looked at as it was: a
// newer version that is known already is told, and else that nobody knows.
func (h *Host) Outdated(ctx context.Context, progress func(string)) ([]OutdatedPlugin, error) {
	h.fetchForSearch(ctx, progress)
	standings, err := h.opts.Registry.Standings(ctx)
	if err != nil {
		return nil, err
	}
	list := []OutdatedPlugin{}
	for _, s := range standings {
		values, err := h.settings.get(s.Entry.Plugin())
		if err != nil {
			return nil, err
		}
		o := outdated(s, values)
		if o.Problem == nil && !o.Outdated {
			o.Problem = refusal(h.silent.why(s.Entry.Registry))
		}
		list = append(list, o)
	}
	return list, nil
}

func outdated(s registry.Standing, values map[string]string) OutdatedPlugin {
	e := s.Entry
	o := OutdatedPlugin{
		Name: e.Plugin(), Installed: e.Version, Newest: e.Version, Channel: cmp.Or(string(e.Channel), string(registry.Stable)),
		Pinned: e.Pinned, Yanked: s.Yanked, Revoked: refusal(s.Revoked), Problem: refusal(s.Problem),
	}
	if s.Newest == nil {
		return o
	}
	o.Outdated, o.Newest, o.Published = true, s.Newest.Version, &s.Newest.Published.Time
	if s.Release == nil || s.Installed == nil {
		return o
	}
	changes := release.Compare(*s.Installed, *s.Release, values)
	o.Asks, o.Changes = release.Asks(changes), len(changes)
	o.Wider = slices.ContainsFunc(changes, func(c release.Change) bool { return c.Kind == release.Wider })
	return o
}
