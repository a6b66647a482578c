package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
	// Warnings name registries that nobody could ask, where nothing was needed of them.
	Warnings []string `json:"warnings"`
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
	// Settings are those of a plugin that become others.
	Settings []SettingChange `json:"changed_settings"`
}

// Sync makes the plugins that a lock file names exactly what it says, their settings
// too, if the key that a person pinned for it has signed it and it isn't older than
// the newest one seen. Nobody is asked. What is so already needs no registry that
// answers, while the last copy of it is good. Everything is fetched and checked first, and
// then happens at once. A plugin that fails stays as it was and doesn't stop the
// others. Nothing is removed without Prune.
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
	s := &syncing{host: h, req: req, lock: lock, installed: installed, progress: progress, broken: map[string]error{}, spared: map[string]bool{}}
	s.report = SyncReport{Name: lock.Name, Version: lock.Version, Signer: string(team.Signer), DryRun: req.DryRun, Steps: []SyncStep{}, Warnings: []string{}}
	s.registries(ctx)
	all := s.plan(ctx)
	s.warn()
	if err := ctx.Err(); err != nil {
		return SyncReport{}, err // nothing was changed but registries
	}
	if !req.DryRun {
		err = s.act(all)
	}
	if err != nil {
		return SyncReport{}, errors.Join(err, h.Reload()) // it may have come as far as the settings
	}
	s.tell(ctx, all)
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
	spared    map[string]bool  // those of them that nothing was needed of
	report    SyncReport
}

func (s *syncing) step(st SyncStep, err error) {
	if err != nil {
		e := Safe(err)
		st.Problem = &Refusal{Code: e.Code, Reason: e.Reason, Why: e.Error(), Hint: e.Hint}
	}
	st.Settings = orEmpty(st.Settings)
	s.report.Steps = append(s.report.Steps, st)
}

// tell adds to the report and the audit log what became of each plugin.
func (s *syncing) tell(ctx context.Context, all []*moving) {
	for _, m := range all {
		switch {
		case m.err != nil:
			m.step.Settings = nil // they stay too
		case !s.req.DryRun:
			m.late = errors.Join(m.late, s.note(ctx, m))
		}
		s.step(m.step, cmp.Or(m.err, m.late))
	}
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
