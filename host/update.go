package host

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// An UpdateState says what became of a plugin in an update.
type UpdateState string

// The states. With a dry run nothing is ever updated or refused.
const (
	UpdateCurrent   UpdateState = "current"   // nothing newer, by its channel
	UpdateHeld      UpdateState = "held"      // pinned: left as it is
	UpdateAvailable UpdateState = "available" // a dry run found it
	UpdateDone      UpdateState = "updated"
	UpdateRefused   UpdateState = "refused" // a person said no, or nobody said yes
	UpdateFailed    UpdateState = "failed"  // see Error
)

// An UpdateResult is what became of one plugin.
type UpdateResult struct {
	Plugin  string           `json:"plugin"` // namespace/name
	From    string           `json:"from"`   // the version that is installed
	To      string           `json:"to,omitempty"`
	Channel string           `json:"channel"`
	State   UpdateState      `json:"state"`
	Asks    bool             `json:"asks,omitempty"` // a person has to agree to it
	Changes []release.Change `json:"changes"`
	Error   *Refusal         `json:"error,omitempty"`
	Hint    string           `json:"hint,omitempty"` // what lets a version that is held change
	// Waiting is a newer version than To, which needs a person.
	Waiting *WaitingVersion `json:"waiting,omitempty"`
}

// An UpdateRequest says what to update.
type UpdateRequest struct {
	Plugins    []string // all that is installed, if none is named
	DryRun     bool     // say what would be done, and change nothing
	Unattended bool     // nobody is there to answer a question
}

// An updating is one plugin on its way to its newest version.
type updating struct {
	registry.Update

	result   *UpdateResult
	settings map[string]string // as they were shown
}

// Update brings plugins, or all of them if none is named, to the newest versions
// of their channels. What may do no more than before is installed at once. For the
// rest a person is asked one question, which shows each; if nobody is there, the
// newest version that needs no answer is taken, and told beside the one that waits.
// One that is pinned is left as it is.
func (h *Host) Update(ctx context.Context, req UpdateRequest, show func(Question) error, progress func(string)) ([]UpdateResult, error) {
	h.admin.Lock()
	defer h.admin.Unlock()
	plugins, err := h.installedNames(req.Plugins)
	if err != nil {
		return nil, err
	}
	progress("looking for newer versions")
	updates, err := h.opts.Registry.Updates(ctx, plugins)
	if err != nil {
		return nil, err
	}
	if err := h.stopRevokedHeld(ctx); err != nil {
		return nil, err
	}
	results := make([]UpdateResult, len(updates))
	var now, asking []*updating
	for i, u := range updates {
		var waiting *WaitingVersion
		if req.Unattended {
			if u, waiting, err = h.unasked(ctx, u); err != nil {
				return nil, err
			}
		}
		one := h.updating(u, &results[i], req.DryRun)
		results[i].Waiting = waiting
		switch {
		case one == nil:
		case one.result.Asks:
			asking = append(asking, one)
		default:
			now = append(now, one)
		}
	}
	changed := h.applyAll(ctx, now, progress)
	if len(asking) > 0 {
		if err := h.askUpdates(ctx, asking, show); err != nil {
			refuseAll(asking, err)
		} else {
			changed = h.applyAll(ctx, asking, progress) || changed
		}
	}
	if changed {
		err = h.Reload()
	}
	return results, errors.Join(err, ctx.Err())
}

// installedNames completes the names of installed plugins.
func (h *Host) installedNames(names []string) ([]string, error) {
	var full []string
	for _, n := range names {
		e, err := h.opts.Registry.Named(n)
		if err != nil {
			return nil, err
		}
		full = append(full, e.Plugin())
	}
	return full, nil
}

// updating fills in what is known before anything is done, and returns nil if
// nothing is to be done.
func (h *Host) updating(u registry.Update, r *UpdateResult, dry bool) *updating {
	*r = UpdateResult{Plugin: u.Entry.Plugin(), From: u.Entry.Version, Channel: channelName(u.Entry.Channel), State: UpdateCurrent, Changes: []release.Change{}}
	if u.Err == nil && u.Newer() {
		return h.newer(u, r, dry)
	}
	err := u.Err
	if stopped := h.catalog.Load().problems[r.Plugin]; stopped != nil && revoked(stopped.Reason) && (err == nil || errors.Is(err, abi.ErrUntrusted)) {
		err = stopped // nothing newer mends it, and its hint says what does
	}
	if err != nil {
		r.fail(err)
	}
	return nil
}

// newer is updating for a plugin that has a newer version.
func (h *Host) newer(u registry.Update, r *UpdateResult, dry bool) *updating {
	settings, err := h.allSettings(u.Review.Release, nil)
	r.To, r.Changes = u.Review.Release.Version, orEmpty(changesOf(u.Review, settings))
	r.Asks = u.Review.Previous == nil || release.Asks(r.Changes)
	switch {
	case u.Entry.Pinned:
		r.State, r.Hint = UpdateHeld, "drawbridge unpin "+r.Plugin
		return nil
	case err != nil:
		r.fail(err)
		return nil
	case dry:
		r.State = UpdateAvailable
		return nil
	}
	if err := h.loadable(u.Review, settings); err != nil {
		r.fail(err)
		return nil
	}
	return &updating{Update: u, result: r, settings: settings}
}

func channelName(c registry.Channel) string {
	if c == "" {
		return string(registry.Stable)
	}
	return string(c)
}

func (r *UpdateResult) fail(err error) {
	r.State, r.Error = UpdateFailed, refusal(err)
}

func refuseAll(list []*updating, err error) {
	for _, u := range list {
		u.result.fail(err)
		u.result.State = UpdateRefused
	}
}

// applyAll installs what was agreed to, and reports whether anything is another now.
func (h *Host) applyAll(ctx context.Context, list []*updating, progress func(string)) (changed bool) {
	for _, u := range list {
		if err := h.apply(ctx, u, progress); err != nil {
			u.result.fail(err)
			continue
		}
		u.result.State, changed = UpdateDone, true
	}
	return changed
}

func (h *Host) apply(ctx context.Context, u *updating, progress func(string)) error {
	plugin := u.result.Plugin
	progress("fetching " + plugin + " " + u.result.To)
	now, err := h.allSettings(u.Review.Release, nil)
	if err != nil {
		return err
	}
	if !maps.Equal(now, u.settings) {
		return settingsChanged(plugin)
	}
	e, err := h.opts.Registry.Apply(ctx, u.Update, registry.InstallOptions{Admit: func(ctx context.Context, rev registry.Review, wasm []byte) error {
		progress("compiling the module of " + plugin)
		return h.admit(ctx, rev, wasm)
	}})
	if err != nil {
		return err
	}
	return h.Note(ctx, "plugin updated", fmt.Sprintf("%s@%s from %s %s", plugin, e.Version, u.result.From, e.Signer))
}

// askUpdates puts the one question about all of them. Other administration goes on
// while the person reads.
func (h *Host) askUpdates(ctx context.Context, list []*updating, show func(Question) error) error {
	title := fmt.Sprintf("Update %d plugins?", len(list))
	if len(list) == 1 {
		title = fmt.Sprintf("Update %s from %s to %s?", list[0].result.Plugin, list[0].result.From, list[0].result.To)
	}
	var lines []string
	for _, u := range list {
		lines = append(lines, reviewLines(u.Review, u.settings, u.result.Changes)...)
	}
	h.admin.Unlock()
	defer h.admin.Lock()
	return h.Questions.Ask(ctx, title, lines, show)
}
