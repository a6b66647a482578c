package control

import "context"

func forgetRegistry(ctx context.Context, r *request) (any, error) {
	var p RegistryParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return struct{}{}, r.server.Host.ForgetRegistry(ctx, p.ID, r.ask)
}

func listRemoved(ctx context.Context, r *request) (any, error) {
	return r.server.Host.RemovedRegistries(ctx)
}

func forgetTeam(ctx context.Context, r *request) (any, error) {
	var p TeamParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return struct{}{}, r.server.Host.ForgetTeam(ctx, p.Name, r.ask)
}

func listFormerTeams(ctx context.Context, r *request) (any, error) {
	return r.server.Host.FormerTeams(ctx)
}
