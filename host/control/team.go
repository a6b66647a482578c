package control

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// teamMethods are the methods about teams' lock files and mirrors.
func teamMethods() map[string]method {
	return map[string]method{
		"registries.move":    moveRegistry,
		"registries.forget":  forgetRegistry,
		"registries.removed": listRemoved,
		"teams.trust":        trustTeam,
		"teams.distrust":     distrustTeam,
		"teams.forget":       forgetTeam,
		"teams.list":         listTeams,
		"teams.removed":      listFormerTeams,
		"teams.draft":        draftTeamLock,
		"teams.sync":         syncTeam,
	}
}

// TeamParams names a team, and the key that signs its lock files.
type TeamParams struct {
	Name        string `json:"name"`
	Certificate string `json:"certificate,omitempty"` // armored
	Fingerprint string `json:"fingerprint,omitempty"`
	Version     int64  `json:"version,omitempty"` // of a draft
}

// TeamDraft is a lock file that isn't signed yet.
type TeamDraft struct {
	Lock    string         `json:"lock"` // canonical JSON, to the byte
	LeftOut []host.LeftOut `json:"left_out_settings"`
}

// SyncParams are a lock file with its signature, and what to do by it.
type SyncParams struct {
	Lock      string `json:"lock"`
	Signature string `json:"signature"`
	From      string `json:"from,omitempty"` // an absolute path
	DryRun    bool   `json:"dry_run,omitempty"`
	Prune     bool   `json:"prune,omitempty"`
}

func moveRegistry(ctx context.Context, r *request) (any, error) {
	var p RegistryParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.MoveRegistry(r.transfers(ctx), p.ID, p.URL, r.ask)
}

func trustTeam(ctx context.Context, r *request) (any, error) {
	var p TeamParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return r.server.Host.TrustTeam(ctx, p.Name, p.Certificate, p.Fingerprint, r.ask)
}

func distrustTeam(ctx context.Context, r *request) (any, error) {
	var p TeamParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	return struct{}{}, r.server.Host.DistrustTeam(ctx, p.Name)
}

func listTeams(ctx context.Context, r *request) (any, error) {
	return r.server.Host.Teams(ctx)
}

func draftTeamLock(ctx context.Context, r *request) (any, error) {
	var p TeamParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	d, err := r.server.Host.DraftTeamLock(ctx, p.Name, p.Version)
	return TeamDraft{Lock: string(d.Lock), LeftOut: d.LeftOut}, err
}

func syncTeam(ctx context.Context, r *request) (any, error) {
	var p SyncParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	req := host.SyncRequest{Lock: []byte(p.Lock), Signature: []byte(p.Signature), From: p.From, DryRun: p.DryRun, Prune: p.Prune}
	return r.server.Host.Sync(r.transfers(ctx), req, r.tell)
}
