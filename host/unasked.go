package host

import (
	"context"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// A WaitingVersion is a newer version than the one that an update took, because
// nobody was there to agree to it.
type WaitingVersion struct {
	Version string           `json:"version"`
	Why     string           `json:"message"`
	Changes []release.Change `json:"changes"`
	Hint    string           `json:"hint"` // the command, for a person
}

// unasked is u, or, where a person would have to say something to it, the newest
// version below it that needs nobody; then it says what waits.
func (h *Host) unasked(ctx context.Context, u registry.Update) (registry.Update, *WaitingVersion, error) {
	if !u.Newer() || u.Entry.Pinned || u.Review.Previous == nil || h.needsNobody(u.Review) {
		return u, nil, nil
	}
	other, err := h.opts.Registry.Lesser(ctx, u, h.needsNobody)
	if err != nil || !other.Newer() {
		return u, nil, err
	}
	w := &WaitingVersion{Version: u.Review.Release.Version, Why: "a person has to agree to it", Hint: "drawbridge update " + u.Entry.Plugin()}
	settings, err := h.allSettings(u.Review.Release, nil)
	w.Changes = orEmpty(changesOf(u.Review, settings))
	if err = errors.Join(err, h.loadable(u.Review, settings)); err != nil {
		e := Safe(err)
		w.Why, w.Hint = e.Error(), e.Hint
	}
	return other, w, nil
}

// needsNobody reports whether a version can be installed without any answer.
func (h *Host) needsNobody(rev registry.Review) bool {
	settings, err := h.allSettings(rev.Release, nil)
	return err == nil && rev.Previous != nil && !release.Asks(changesOf(rev, settings)) && h.loadable(rev, settings) == nil
}

// loadable refuses what could not be loaded afterwards.
func (h *Host) loadable(rev registry.Review, settings map[string]string) error {
	return errors.Join(installable(rev.Release, settings), h.checkNames(rev.Release))
}
