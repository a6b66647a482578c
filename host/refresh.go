package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// DefaultRefresh is how often a daemon asks the trusted registries for what is new
// and what is revoked. Nobody else is asked for anything.
const DefaultRefresh = time.Hour

// refreshOne is how long fetching one registry may take.
const refreshOne = 2 * time.Minute

// A FetchedRegistry is a registry after an attempt to fetch it.
type FetchedRegistry struct {
	RegistryInfo

	Error *Refusal `json:"error,omitempty"` // why it is as it was before
}

// FetchRegistries fetches the newest snapshot of one registry, or of all if id is
// empty, and stops what is revoked. One that fails is told beside the others and
// stays as it was.
func (h *Host) FetchRegistries(ctx context.Context, id string) ([]FetchedRegistry, error) {
	all, err := h.opts.Registry.Registries()
	if err != nil && len(all) == 0 {
		return nil, err
	}
	list := []FetchedRegistry{}
	for _, r := range all {
		if id == "" || id == r.ID {
			list = append(list, h.fetchRegistry(ctx, r))
		}
	}
	if id != "" && len(list) == 0 {
		return nil, abi.Errorf(abi.ErrNotFound, "fetch", "no registry %q is added", id).WithHint("drawbridge registry list")
	}
	return list, errors.Join(ctx.Err(), h.stopRevoked(ctx))
}

func (h *Host) fetchRegistry(ctx context.Context, r registry.Registry) FetchedRegistry {
	one, cancel := context.WithTimeout(ctx, refreshOne)
	defer cancel()
	fresh, err := h.opts.Registry.Refresh(one, r.ID)
	h.silent.note(r.ID, err)
	got := FetchedRegistry{RegistryInfo: registryInfo(fresh)}
	if err != nil {
		h.opts.Logger.WarnContext(ctx, "registry", slog.String("registry", r.ID), slog.Any("error", err))
		got = FetchedRegistry{RegistryInfo: registryInfo(r), Error: refusal(err)}
	}
	got.Builtin = r.Builtin
	got.Expired = h.isExpired(got.Expires, r.Builtin)
	return got
}

// stopRevoked reloads if a plugin that runs is revoked by what was fetched last.
func (h *Host) stopRevoked(ctx context.Context) error {
	h.admin.Lock()
	defer h.admin.Unlock()
	return h.stopRevokedHeld(ctx)
}

// stopRevokedHeld is stopRevoked for a caller who holds h.admin.
func (h *Host) stopRevokedHeld(ctx context.Context) error {
	stopped := map[string]error{}
	for name := range h.catalog.Load().plugins {
		if err := h.opts.Registry.Standing(ctx, name); errors.Is(err, abi.ErrUntrusted) {
			stopped[name] = err
		}
	}
	if len(stopped) == 0 {
		return nil
	}
	err := h.Reload()
	for name, why := range stopped {
		h.opts.Logger.ErrorContext(ctx, "plugin is revoked and runs no more", slog.String("plugin", name), slog.Any("error", why))
		err = errors.Join(err, h.Note(ctx, "plugin revoked", fmt.Sprintf("%s: %s", name, Safe(why).Error())))
	}
	return err
}

// stopRevokedOrLog is stopRevokedHeld for a caller who has another error to tell.
func (h *Host) stopRevokedOrLog(ctx context.Context) {
	if err := h.stopRevokedHeld(ctx); err != nil {
		h.opts.Logger.WarnContext(ctx, "revoked plugins", slog.Any("error", err))
	}
}

// isExpired reports whether a snapshot that lasts until then vouches for nothing new
// any more.
func (h *Host) isExpired(expires time.Time, carried bool) bool {
	return !carried && !h.now().Before(expires)
}

// expiredLines tell a person who is asked about a registry that its snapshot has
// expired.
func expiredLines(r registry.Registry, now time.Time) []string {
	if now.Before(r.Expires) {
		return nil
	}
	return []string{fmt.Sprintf("EXPIRED      snapshot %d was good until %s: nothing of it can be installed before its owner signs a newer one, and what was revoked since is not known",
		r.Snapshot, r.Expires.UTC().Format(time.RFC3339))}
}

// expiredRegistries says, by id, since when nothing new of a registry is trusted.
func (h *Host) expiredRegistries() map[string]time.Time {
	all, err := h.opts.Registry.Registries()
	if err != nil {
		h.opts.Logger.Warn("registries", slog.Any("error", err))
	}
	expired := map[string]time.Time{}
	for _, r := range all {
		if h.isExpired(r.Expires, r.Builtin) {
			expired[r.ID] = r.Expires
		}
	}
	return expired
}

// notices says what a person should know of a plugin that works.
func notices(e registry.Entry, expired map[string]time.Time, yanked map[string]string) (list []string) {
	if since, ok := expired[e.Registry]; ok {
		list = append(list, fmt.Sprintf("the snapshot of registry %q expired at %s: what is installed works, nothing is installed or updated, and what was revoked since is not known", e.Registry, since.UTC().Format(time.RFC3339)))
	}
	if why, ok := yanked[e.Plugin()]; ok {
		list = append(list, fmt.Sprintf("version %s was yanked: %q; it works, and nobody new gets it: drawbridge outdated says what there is instead", e.Version, why))
	}
	return list
}
