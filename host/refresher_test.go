package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/registry"
)

// A fetching is a registry that takes its time and fails when it is told to.
type fetching struct {
	takes time.Duration
	fails func(n int) bool // the fetch with this number

	mu      sync.Mutex
	started []time.Time
	ended   []time.Time
	open    int
	most    int // at once
}

func (f *fetching) fetch(ctx context.Context) error {
	f.mu.Lock()
	n := len(f.started)
	f.started = append(f.started, time.Now())
	f.open++
	f.most = max(f.most, f.open)
	f.mu.Unlock()
	pause(ctx, f.takes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open--
	f.ended = append(f.ended, time.Now())
	if f.fails != nil && f.fails(n) {
		return errors.New("not reached")
	}
	return nil
}

// pauses are the times from the start, and from the end of each fetch, to the next.
func (f *fetching) pauses(from time.Time) (list []time.Duration) {
	for i, at := range f.started {
		list = append(list, at.Sub(from))
		from = f.ended[i]
	}
	return list
}

// for runs a refresher for some time, in which no real time passes.
func (f *fetching) runFor(t *testing.T, d time.Duration) []time.Duration {
	t.Helper()
	var list []time.Duration
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		start := time.Now()
		refresher{every: time.Hour, fetch: f.fetch}.run(ctx)
		if now := time.Since(start); now != d {
			t.Errorf("it ended after %s, and its context after %s", now, d)
		}
		n := len(f.started)
		pause(t.Context(), 5*time.Hour)
		if len(f.started) != n || f.open != 0 {
			t.Errorf("%d fetches after its end, %d open", len(f.started)-n, f.open)
		}
		list = f.pauses(start)
	})
	return list
}

// within reports whether a pause is about as long as it is to be, and not beyond
// what spreads it.
func within(got, want time.Duration) bool { return got >= want*9/10 && got <= want*11/10 }

// A host fetches once soon after its start and then at its interval, a little
// earlier or later each time, and never two at once.
func TestRefresherKeepsItsInterval(t *testing.T) {
	f := &fetching{takes: 90 * time.Minute} // longer than the interval
	list := f.runFor(t, 7*24*time.Hour)
	if len(list) < 60 || f.most != 1 {
		t.Fatalf("%d fetches, %d at once", len(list), f.most)
	}
	if !within(list[0], firstRefresh) {
		t.Errorf("the first comes after %s", list[0])
	}
	different := map[time.Duration]bool{}
	for _, p := range list[1:] {
		if !within(p, time.Hour) {
			t.Errorf("a pause of %s", p)
		}
		different[p.Round(time.Minute)] = true
	}
	if len(different) < 4 {
		t.Errorf("the pauses are not spread: %v", list)
	}
}

// After a failure it comes back soon, and then ever later, up to the interval; a
// success ends that.
func TestRefresherBacksOff(t *testing.T) {
	f := &fetching{fails: func(n int) bool { return n != 8 && n != 9 }}
	list := f.runFor(t, 12*time.Hour)
	want := []time.Duration{ // in minutes: before the first, after a failure each, after two successes, after a failure
		1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 2, 4,
	}
	if len(list) < len(want) {
		t.Fatalf("pauses %v", list)
	}
	for i, w := range want {
		if !within(list[i], w*time.Minute) {
			t.Errorf("pause %d is %s, want about %d minutes", i, list[i], w)
		}
	}
}

// The host's own timer runs until it is closed, and not at all where it is off.
func TestHostFetchesByItself(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "registries", "x") // it fails, which the log shows
	if err := os.MkdirAll(damaged, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "state.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := registry.New(registry.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for every, want := range map[time.Duration]int{0: 0, time.Hour: 5} { // after 1, 3, 7, 15 and 31 minutes
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			h := &Host{opts: Options{Registry: client, Refresh: every, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
			h.life, h.end = context.WithCancel(t.Context())
			go h.watchRegistries()
			pause(t.Context(), 45*time.Minute)
			h.end()
			synctest.Wait()
			if n := strings.Count(log.String(), "state.json"); n != want {
				t.Errorf("every %s: %d fetches in 45 minutes, want %d:\n%s", every, n, want, &log)
			}
			pause(t.Context(), 5*time.Hour)
			if n := strings.Count(log.String(), "state.json"); n != want {
				t.Errorf("every %s: %d fetches after its end", every, n-want)
			}
		})
	}
}
