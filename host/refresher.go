package host

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// The pauses of refreshing by itself.
const (
	firstRefresh   = time.Minute     // after the start
	retryRefresh   = 2 * time.Minute // after a failure; each that follows doubles it, up to the interval
	refreshBetween = 10              // percent by which a pause is longer or shorter
)

// watchRegistries fetches the registries now and then until the host is closed.
//
//nolint:contextcheck // it watches for all calls
func (h *Host) watchRegistries() {
	ctx, leave := h.untilEnd(context.Background())
	defer leave()
	refresher{every: h.opts.Refresh, fetch: h.fetchAll}.run(ctx)
}

// fetchAll fetches every registry; the error is that one of them failed, which was
// logged.
func (h *Host) fetchAll(ctx context.Context) error {
	list, err := h.FetchRegistries(ctx, "")
	if err != nil && ctx.Err() == nil {
		h.opts.Logger.WarnContext(ctx, "registries", slog.Any("error", err))
	}
	for _, r := range list {
		if r.Error != nil {
			err = errors.Join(err, errors.New(r.Error.Why))
		}
	}
	return err
}

// A refresher fetches at intervals, one fetch after the other.
type refresher struct {
	every time.Duration // from a fetch to the next; 0 is never
	fetch func(context.Context) error
}

// run fetches until ctx ends. After a failure, such as of a machine that is not
// online yet, it does so sooner, and then ever later: what was revoked meanwhile is
// known soon, and a registry that is gone for good is not asked more often than
// others.
func (r refresher) run(ctx context.Context) {
	if r.every <= 0 {
		return
	}
	failures := 0
	for wait := min(r.every, firstRefresh); pause(ctx, jitter(wait)); {
		wait = r.every
		if r.fetch(ctx) == nil {
			failures = 0
			continue
		}
		wait = min(r.every, retryRefresh<<min(failures, 20))
		failures++
	}
}

// pause reports whether d passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// jitter spreads the hosts of a company over time.
func jitter(d time.Duration) time.Duration {
	part := d / 100 * refreshBetween
	if part <= 0 {
		return d
	}
	return d - part + rand.N(2*part) //nolint:gosec // it spreads load, and nobody gains by guessing it
}
