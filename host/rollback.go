package host

import (
	"context"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// Rollback makes the version before the installed one active again, and pins it. A
// person is asked if it may do more than the one that is active, or if a person has
// pinned that.
func (h *Host) Rollback(ctx context.Context, name string, show func(Question) error, progress func(string)) (PluginInfo, error) {
	h.admin.Lock()
	defer h.admin.Unlock()
	named, err := h.opts.Registry.Named(name)
	if err != nil {
		return PluginInfo{}, err
	}
	plugin := named.Plugin()
	entry, err := h.opts.Registry.Rollback(ctx, plugin, registry.InstallOptions{
		Consent: func(ctx context.Context, rev registry.Review) error { return h.askRollback(ctx, rev, show) },
		Admit: func(ctx context.Context, rev registry.Review, wasm []byte) error {
			progress("compiling the module")
			return h.admit(ctx, rev, wasm)
		},
	})
	if err != nil {
		return PluginInfo{}, err
	}
	if err := h.Reload(); err != nil {
		return PluginInfo{}, err
	}
	if e := h.Problems()[plugin]; e != nil {
		return PluginInfo{}, e
	}
	return h.info(entry), h.Note(ctx, "plugin rolled back", fmt.Sprintf("%s@%s from %s", plugin, entry.Version, named.Version))
}

func (h *Host) askRollback(ctx context.Context, rev registry.Review, show func(Question) error) error {
	settings, err := h.allSettings(rev.Release, nil)
	if err != nil {
		return err
	}
	if err := installable(rev.Release, settings); err != nil {
		return err
	}
	if err := h.checkNames(rev.Release); err != nil {
		return err
	}
	changes := changesOf(rev, settings)
	if rev.Previous != nil && !release.Asks(changes) {
		return nil
	}
	rel := rev.Release
	title := fmt.Sprintf("Go back to %s/%s %s?", rel.Namespace, rel.Name, rel.Version)
	h.admin.Unlock()
	defer h.admin.Lock()
	return h.Questions.Ask(ctx, title, reviewLines(rev, settings, changes), show)
}

// Pin makes updates leave a plugin as it is. That takes nobody's consent; what
// ends it does.
func (h *Host) Pin(ctx context.Context, name string) (PluginInfo, error) {
	return h.pin(ctx, name, true)
}

// Unpin lets updates change a plugin again, after a person agreed.
func (h *Host) Unpin(ctx context.Context, name string, show func(Question) error) (PluginInfo, error) {
	e, err := h.opts.Registry.Named(name)
	if err != nil || !e.Pinned {
		return h.info(e), err
	}
	lines := []string{
		"installed    version " + e.Version + " from registry " + e.Registry,
		"channel      " + channelName(e.Channel),
		"Newer versions that may do no more than this one are then installed by an update without a question.",
	}
	if err := h.Questions.Ask(ctx, "Let updates change "+e.Plugin()+"?", lines, show); err != nil {
		return PluginInfo{}, err
	}
	return h.pin(ctx, e.Plugin(), false)
}

func (h *Host) pin(ctx context.Context, name string, pinned bool) (PluginInfo, error) {
	h.admin.Lock()
	defer h.admin.Unlock()
	named, err := h.opts.Registry.Named(name)
	if err != nil {
		return PluginInfo{}, err
	}
	e, err := h.opts.Registry.Pin(named.Plugin(), pinned)
	if err != nil {
		return PluginInfo{}, err
	}
	what := "plugin pinned"
	if !pinned {
		what = "plugin unpinned"
	}
	return h.info(e), h.Note(ctx, what, e.Plugin()+"@"+e.Version)
}
