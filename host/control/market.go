package control

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/host"
)

func search(ctx context.Context, r *request) (any, error) {
	var q host.SearchQuery
	if err := r.params(&q); err != nil {
		return nil, err
	}
	return r.server.Host.Search(r.transfers(ctx), q, r.tell)
}

func pluginInfo(ctx context.Context, r *request) (any, error) {
	var p PluginParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.Details(r.transfers(ctx), p.Ref, r.tell)
}

func outdatedPlugins(ctx context.Context, r *request) (any, error) {
	return r.server.Host.Outdated(r.transfers(ctx), r.tell)
}

// VerifyParams names the plugins to look at; none is all of them.
type VerifyParams struct {
	Plugins []string `json:"plugins,omitempty"`
}

func verifyPlugins(ctx context.Context, r *request) (any, error) {
	var p VerifyParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.Verify(ctx, p.Plugins)
}

func pluginSettings(ctx context.Context, r *request) (any, error) {
	return r.server.Host.Settings(ctx)
}

func pluginNames(ctx context.Context, r *request) (any, error) {
	return r.server.Host.Names(ctx)
}
