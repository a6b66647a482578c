package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// SyncRequest asks for what a team's lock file says.
type SyncRequest struct {
	Lock, Signature []byte
	From            string // a mirror, or a folder of them, to fetch from; empty for the registries themselves
	DryRun          bool   // verify and say what would be done
	Prune           bool   // remove what the lock file doesn't name
}

// SyncReport says what was done, or would be.
type SyncReport struct {
	Name    string     `json:"team"`
	Version int64      `json:"lock_version"`
	Signer  string     `json:"signer"`
	DryRun  bool       `json:"dry_run"`
	Steps   []SyncStep `json:"steps"`
}

// What a SyncStep does.
const (
	SyncAdd      = "add registry"
	SyncInstall  = "install"
	SyncChange   = "change" // to another version, up or down
	SyncSettings = "settings"
	SyncKeep     = "keep"
	SyncRemove   = "remove"
	SyncExtra    = "not in the lock file" // and left as it is
)

// A SyncStep is about one registry or plugin.
type SyncStep struct {
	Action  string   `json:"action"`
	Subject string   `json:"subject"` // a registry's id, or namespace/name
	Version string   `json:"to,omitempty"`
	From    string   `json:"from,omitempty"` // the version that was there
	Problem *Refusal `json:"error,omitempty"`
}

// Sync installs exactly what a lock file says, if the key that a person pinned for
// it has signed it and it isn't older than the newest one seen. Nobody is asked.
// Each plugin is installed whole or stays as it was, and one that fails doesn't
// stop the others. Nothing is removed without Prune.
func (h *Host) Sync(ctx context.Context, req SyncRequest, progress func(string)) (SyncReport, error) {
	h.admin.Lock()
	defer h.admin.Unlock()
	verify := h.opts.Registry.AcceptTeamLock
	if req.DryRun {
		verify = h.opts.Registry.VerifyTeamLock
	}
	lock, team, err := verify(req.Lock, req.Signature)
	if err != nil {
		return SyncReport{}, err
	}
	installed, err := h.opts.Registry.Installed()
	if err != nil {
		return SyncReport{}, err
	}
	if req.From != "" {
		ctx = registry.WithMirrors(ctx, req.From)
	}
	s := &syncing{host: h, req: req, lock: lock, installed: installed, progress: progress, broken: map[string]error{}}
	s.report = SyncReport{Name: lock.Name, Version: lock.Version, Signer: string(team.Signer), DryRun: req.DryRun, Steps: []SyncStep{}}
	s.registries(ctx)
	for _, p := range lock.Plugins {
		s.plugin(ctx, p)
	}
	s.extras(ctx)
	if req.DryRun {
		return s.report, nil
	}
	return s.report, s.finish(ctx)
}

// A syncing is one run of Sync.
type syncing struct {
	host      *Host
	req       SyncRequest
	lock      *registry.TeamLock
	installed []registry.Entry
	progress  func(string)
	broken    map[string]error // registries that can't be used now, by id
	report    SyncReport
}

func (s *syncing) step(st SyncStep, err error) {
	if err != nil {
		e := Safe(err)
		st.Problem = &Refusal{Code: e.Code, Reason: e.Reason, Why: e.Error(), Hint: e.Hint}
	}
	s.report.Steps = append(s.report.Steps, st)
}

// registries adds those that are new and refreshes all, so that what was revoked
// is known before anything is kept.
func (s *syncing) registries(ctx context.Context) {
	reg := s.host.opts.Registry
	known, err := reg.Registries()
	for _, r := range s.lock.Registries {
		isNew := err == nil && !slices.ContainsFunc(known, func(k registry.Registry) bool { return k.ID == r.ID })
		if s.req.DryRun {
			if err := reg.CheckRegistry(ctx, r); err != nil {
				s.broken[r.ID] = err
			} else if isNew {
				s.step(SyncStep{Action: SyncAdd, Subject: r.ID}, nil)
			}
			continue
		}
		s.progress("fetching and verifying registry " + r.ID)
		err := reg.EnsureRegistry(ctx, r)
		if err == nil && !isNew {
			_, err = reg.Refresh(ctx, r.ID)
		}
		if err != nil {
			s.broken[r.ID] = err
		}
		if err == nil && isNew {
			err = s.host.Note(ctx, "registry added", fmt.Sprintf("%s %s, by lock file %s", r.ID, r.Pinned, s.lock.Name))
			s.step(SyncStep{Action: SyncAdd, Subject: r.ID}, err)
		}
	}
}

// plugin brings one plugin to what the lock file says.
func (s *syncing) plugin(ctx context.Context, p registry.TeamPlugin) {
	st := SyncStep{Action: SyncInstall, Subject: p.Plugin(), Version: p.Version}
	i := slices.IndexFunc(s.installed, func(e registry.Entry) bool { return e.Plugin() == p.Plugin() })
	if i >= 0 {
		st.Action, st.From = SyncChange, s.installed[i].Version
	}
	if i >= 0 && p.Pins(s.installed[i]) {
		if l, err := s.host.opts.Registry.Load(p.Plugin()); err == nil {
			s.settings(ctx, st, p, l.Release)
			return
		}
	}
	if s.req.DryRun {
		s.step(st, s.broken[p.Registry])
		return
	}
	err := s.broken[p.Registry]
	if err == nil {
		err = s.install(ctx, p)
	}
	if err == nil {
		err = s.host.Note(ctx, "plugin installed", fmt.Sprintf("%s@%s %s, by lock file %s", p.Plugin(), p.Version, p.Signer, s.lock.Name))
	}
	s.step(st, err)
}

// settings is plugin for one whose version is right and whole already.
func (s *syncing) settings(ctx context.Context, st SyncStep, p registry.TeamPlugin, rel abi.Release) {
	st.Action, st.From = SyncKeep, ""
	differ, err := s.host.settings.differ(p.Plugin(), p.Settings)
	if err == nil && differ {
		st.Action = SyncSettings
		if err = s.host.fits(rel, p.Settings); err == nil && !s.req.DryRun {
			err = s.host.settings.set(p.Plugin(), p.Settings)
		}
		if err == nil && !s.req.DryRun {
			err = s.host.Note(ctx, "settings changed", fmt.Sprintf("%s, by lock file %s", p.Plugin(), s.lock.Name))
		}
	}
	if err == nil {
		err = s.broken[p.Registry] // it runs, and nobody knows whether it still may
	}
	s.step(st, err)
}

// install installs the very bytes that the lock file pins. The signature on it
// stands where a person's yes stands otherwise; every other check is the same.
func (s *syncing) install(ctx context.Context, p registry.TeamPlugin) error {
	s.progress("installing " + p.Plugin() + " " + p.Version)
	h := s.host
	_, err := h.opts.Registry.Install(ctx, p.Ref(), registry.InstallOptions{
		AllowDowngrade: true, Locked: true, Again: true,
		Consent: func(_ context.Context, r registry.Review) error {
			if err := p.Check(r); err != nil {
				return err
			}
			return h.fits(r.Release, p.Settings)
		},
		Admit: h.admit,
	})
	if err != nil {
		return err
	}
	return h.settings.set(p.Plugin(), p.Settings)
}

// fits refuses a release that could not be loaded with these settings.
func (h *Host) fits(rel abi.Release, given map[string]string) error {
	settings, err := h.allSettings(rel, given)
	if err != nil {
		return err
	}
	return installable(rel, settings)
}

// extras names what the lock file doesn't, and removes it if that was asked for.
func (s *syncing) extras(ctx context.Context) {
	for _, e := range s.installed {
		if s.lock.Has(e.Plugin()) {
			continue
		}
		st := SyncStep{Action: SyncExtra, Subject: e.Plugin(), From: e.Version}
		var err error
		if s.req.Prune {
			st.Action = SyncRemove
		}
		if s.req.Prune && !s.req.DryRun {
			if err = s.host.opts.Registry.Uninstall(e.Plugin()); err == nil {
				err = s.host.settings.remove(e.Plugin())
			}
			if err == nil {
				err = s.host.Note(ctx, "plugin removed", fmt.Sprintf("%s, by lock file %s", e.Plugin(), s.lock.Name))
			}
		}
		s.step(st, err)
	}
}

// finish lets the host run what is installed now, and says what doesn't load.
func (s *syncing) finish(ctx context.Context) error {
	if err := s.host.Reload(); err != nil {
		return err
	}
	problems := s.host.Problems()
	for i := range s.report.Steps {
		st := &s.report.Steps[i]
		if e := problems[st.Subject]; e != nil && st.Problem == nil && s.lock.Has(st.Subject) {
			st.Problem = &Refusal{Code: e.Code, Reason: e.Reason, Why: e.Error(), Hint: e.Hint}
		}
	}
	return s.host.Note(ctx, "lock file followed", fmt.Sprintf("%s version %d, signed by %s", s.lock.Name, s.lock.Version, s.report.Signer))
}
