package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// A moving is one plugin on its way to what a lock file says. What can't be brought
// there has an error and stays as it is.
type moving struct {
	step   SyncStep
	want   *registry.TeamPlugin // nil: the lock file does not name it
	ready  *registry.Prepared   // the version that takes its place; nil if its own stays
	gone   bool                 // it is removed
	before map[string]string    // its settings
	err    error                // why it stays as it is
	late   error                // what to tell of it all the same

	moves    bool     // its connectors become others
	had, has []string // ids of its connectors, and those that it is to have
}

// ids are the connectors that m has in the end.
func (m *moving) ids() []string {
	if m.moves && m.err == nil {
		return m.has
	}
	return m.had
}

// plan looks at every plugin and brings what it needs into the store. Nothing that
// is installed changes.
func (s *syncing) plan(ctx context.Context) []*moving {
	var all []*moving
	for _, p := range s.lock.Plugins {
		all = append(all, s.toward(ctx, p))
	}
	for _, e := range s.installed {
		if !s.lock.Has(e.Plugin()) {
			all = append(all, s.extra(e))
		}
	}
	settle(all)
	return all
}

// toward plans how one plugin becomes what the lock file says.
func (s *syncing) toward(ctx context.Context, p registry.TeamPlugin) *moving {
	m := &moving{want: &p, step: SyncStep{Action: SyncInstall, Subject: p.Plugin(), Version: p.Version}}
	if m.before, m.err = s.host.settings.get(p.Plugin()); m.err != nil {
		return m
	}
	m.step.Settings = s.host.settingChanges(m.before, p.Settings)
	i := slices.IndexFunc(s.installed, func(e registry.Entry) bool { return e.Plugin() == p.Plugin() })
	if i >= 0 {
		m.step.Action, m.step.From, m.had = SyncChange, s.installed[i].Version, s.connectorsOf(p.Plugin())
	}
	if i >= 0 && p.Pins(s.installed[i]) {
		if l, err := s.host.opts.Registry.Load(p.Plugin()); err == nil {
			s.keep(m, l.Release)
			return m
		}
	}
	if m.err = s.broken[p.Registry]; m.err == nil && s.req.DryRun {
		m.err = s.foresee(ctx, m)
	} else if m.err == nil {
		m.err = s.prepare(ctx, m)
	}
	return m
}

// keep is toward for one whose version is right and whole already.
func (s *syncing) keep(m *moving, rel abi.Release) {
	m.step.Action, m.step.From = SyncKeep, ""
	if len(m.step.Settings) > 0 {
		m.step.Action, m.err = SyncSettings, fits(rel, m.want.Settings)
	}
	id := m.want.Registry
	switch why := s.broken[id]; {
	case why == nil:
	case s.good(id, why):
		s.spared[id] = true
	default:
		m.late = why // it runs, and nobody knows whether it still may
	}
}

// good reports whether what was last seen of a registry still counts although it can't
// be fetched for this reason: it is silent, rather than wrong, and hasn't expired.
func (s *syncing) good(id string, why error) bool {
	r, err := s.host.opts.Registry.Registry(id)
	return err == nil && !errors.Is(why, abi.ErrUntrusted) && !s.host.isExpired(r.Expires, r.Builtin)
}

// warn tells of the registries that nothing was needed of.
func (s *syncing) warn() {
	for _, id := range slices.Sorted(maps.Keys(s.spared)) {
		s.report.Warnings = append(s.report.Warnings, fmt.Sprintf("registry %q was not fetched, and what it has revoked since is not known: %s",
			id, Safe(s.broken[id]).Error()))
	}
}

// prepare fetches and checks the very bytes that the lock file pins. The signature
// on it stands where a person's yes stands otherwise; every other check is the same.
func (s *syncing) prepare(ctx context.Context, m *moving) (err error) {
	s.progress("installing " + m.want.Plugin() + " " + m.want.Version)
	m.ready, err = s.host.opts.Registry.Prepare(ctx, m.want.Ref(), registry.InstallOptions{
		AllowDowngrade: true, Locked: true,
		Consent: func(_ context.Context, r registry.Review) error { return s.acceptable(m, r) },
		Admit:   s.host.examine,
	})
	return err
}

// acceptable refuses what isn't the version that the lock file pins, or could not
// be loaded with its settings.
func (s *syncing) acceptable(m *moving, r registry.Review) error {
	if err := m.want.Check(r); err != nil {
		return err
	}
	m.moves, m.has = true, connectorIDs(r.Release)
	return fits(r.Release, m.want.Settings)
}

// foresee is prepare without fetching anything: what the last copy of the registry
// doesn't have yet is not looked at.
func (s *syncing) foresee(ctx context.Context, m *moving) error {
	d, err := s.host.opts.Registry.Details(ctx, m.want.Ref())
	if errors.Is(err, abi.ErrNotFound) {
		return nil
	}
	if err = cmp.Or(err, d.Refused); err != nil {
		return err
	}
	return s.acceptable(m, registry.Review{Registry: d.Registry, Release: d.Release, Hash: d.Version.Release.SHA256, Signer: d.Signer})
}

// extra plans what becomes of a plugin that the lock file doesn't name.
func (s *syncing) extra(e registry.Entry) *moving {
	m := &moving{step: SyncStep{Action: SyncExtra, Subject: e.Plugin(), From: e.Version}, had: s.connectorsOf(e.Plugin())}
	if s.req.Prune {
		m.step.Action, m.gone, m.moves = SyncRemove, true, true
	}
	return m
}

// connectorsOf are the connectors of an installed plugin. One that is damaged is
// not loaded and has none.
func (s *syncing) connectorsOf(plugin string) []string {
	rel, err := s.host.opts.Registry.Release(plugin)
	if err != nil {
		return nil
	}
	return connectorIDs(rel)
}

func connectorIDs(rel abi.Release) []string {
	ids := []string{}
	for _, c := range rel.Connectors {
		ids = append(ids, c.ID)
	}
	return ids
}

// settle refuses every plugin that would get a connector which another one has in
// the end. One that is refused keeps its own, which may refuse a third. A connector
// that one plugin gives up is free for another.
func settle(all []*moving) {
	for again := true; again; {
		again = false
		owners := map[string][]*moving{}
		for _, m := range all {
			for _, id := range m.ids() {
				owners[id] = append(owners[id], m)
			}
		}
		for _, m := range all {
			if err := m.taken(owners); err != nil && m.err == nil {
				m.err, again = err, true
			}
		}
	}
}

// taken says which connector m would get that another plugin has, or nil.
func (m *moving) taken(owners map[string][]*moving) error {
	if !m.moves || m.err != nil {
		return nil //nolint:nilerr // a run that fetches will know
	}
	for _, id := range m.has {
		i := slices.IndexFunc(owners[id], func(o *moving) bool { return o != m })
		if i < 0 || slices.Contains(m.had, id) {
			continue
		}
		other := owners[id][i]
		e := abi.Errorf(abi.ErrInvalidArgs, "sync", "connector %q is %q's in the end: its tools would be called the same", id, other.step.Subject)
		switch {
		case other.want == nil:
			return e.WithHint("drawbridge sync FILE --prune, or drawbridge remove %s", other.step.Subject)
		case slices.Contains(other.had, id):
			return e.WithHint("drawbridge sync FILE again, once %s can be changed", other.step.Subject)
		}
		return e.WithHint("whoever signs the lock file has to leave one of the two out")
	}
	return nil
}

// act does all that can be done. The lock file of this machine is written once, so
// that a connector may go from one plugin to another and nothing is ever half done.
// What a version needs to be set is there before it is, and what is to go stays
// until then: wherever this ends, what is active works.
func (s *syncing) act(all []*moving) error {
	var ready []*registry.Prepared
	var gone []string
	for _, m := range all {
		switch {
		case m.err != nil:
		case m.ready != nil:
			ready = append(ready, m.ready)
		case m.gone:
			gone = append(gone, m.step.Subject)
		}
	}
	if len(ready)+len(gone) > 0 {
		if err := s.activate(all, ready, gone); err != nil {
			return err
		}
	}
	return s.host.settings.change(func(plugins map[string]map[string]string) {
		for _, m := range all {
			switch {
			case m.err != nil:
			case m.gone:
				delete(plugins, m.step.Subject)
			case m.want != nil:
				plugins[m.step.Subject] = maps.Clone(m.want.Settings)
			}
		}
	})
}

func (s *syncing) activate(all []*moving, ready []*registry.Prepared, gone []string) error {
	set := func(values func(m *moving) map[string]string) error {
		return s.host.settings.change(func(plugins map[string]map[string]string) {
			for _, m := range all {
				if m.err == nil && m.ready != nil {
					plugins[m.step.Subject] = values(m)
				}
			}
		})
	}
	err := set(func(m *moving) map[string]string {
		both := map[string]string{}
		maps.Copy(both, m.before)
		maps.Copy(both, m.want.Settings)
		return both
	})
	if err != nil {
		return err
	}
	if err := s.host.opts.Registry.ActivateAll(ready, gone); err != nil {
		return errors.Join(err, set(func(m *moving) map[string]string { return maps.Clone(m.before) }))
	}
	return nil
}

// note writes to the audit log what was done.
func (s *syncing) note(ctx context.Context, m *moving) error {
	name, subject := "", m.step.Subject
	switch m.step.Action {
	case SyncInstall, SyncChange:
		name, subject = "plugin installed", fmt.Sprintf("%s@%s %s", subject, m.want.Version, m.want.Signer)
	case SyncSettings:
		name = "settings changed"
	case SyncRemove:
		name = "plugin removed"
	default:
		return nil
	}
	return s.host.Note(ctx, name, fmt.Sprintf("%s, by lock file %s", subject, s.lock.Name))
}
