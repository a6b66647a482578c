package control

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// UpdateParams names the installed plugins to update; none are all of them.
type UpdateParams struct {
	Plugins []string `json:"plugins,omitempty"`
	DryRun  bool     `json:"dry_run,omitempty"` // say what would be done
	// Unattended says that nobody is there to answer a question.
	Unattended bool `json:"unattended,omitempty"`
}

func updatePlugins(ctx context.Context, r *request) (any, error) {
	var p UpdateParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.Update(r.transfers(ctx), host.UpdateRequest{Plugins: p.Plugins, DryRun: p.DryRun, Unattended: p.Unattended}, r.ask, r.tell)
}

// tell says what a long method does now.
func (r *request) tell(message string) {
	_ = r.send(Event{Progress: &Progress{Message: message}}) // the caller may be gone
}

func rollbackPlugin(ctx context.Context, r *request) (any, error) {
	var p PluginParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.Rollback(ctx, p.Ref, r.ask, r.tell)
}

func pinPlugin(ctx context.Context, r *request) (any, error) {
	var p PluginParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.Pin(ctx, p.Ref)
}

func unpinPlugin(ctx context.Context, r *request) (any, error) {
	var p PluginParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.Unpin(ctx, p.Ref, r.ask)
}

// RemoveParams names an installed plugin, and says what becomes of its data; empty
// keeps it.
type RemoveParams struct {
	Ref  string          `json:"ref"`
	Data host.DataChoice `json:"data,omitempty"`
}

func removePlugin(ctx context.Context, r *request) (any, error) {
	var p RemoveParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if p.Data != host.DataAsk && p.Data != host.DataDelete {
		p.Data = host.DataKeep
	}
	return r.server.Host.RemovePlugin(ctx, p.Ref, p.Data, r.ask)
}

func fetchRegistries(ctx context.Context, r *request) (any, error) {
	var p RegistryParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.FetchRegistries(r.transfers(ctx), p.ID)
}
