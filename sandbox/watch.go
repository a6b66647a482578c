package sandbox

import (
	"context"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A guard is what a worker may use while it is watched. Zero is no limit.
type guard struct {
	wall     time.Duration
	cpu      time.Duration
	resident int64
	doing    string // for the message
}

// watchEvery is how often a worker's usage is looked at. RLIMIT_DATA stands
// behind it for what happens in between.
const watchEvery = 20 * time.Millisecond

// A watch kills a worker that goes beyond its guard or its context.
type watch struct {
	w    *worker
	g    guard
	quit chan struct{}

	before time.Duration // CPU used before; owned by the constructor

	mu     sync.Mutex
	over   bool          // nothing is killed any more
	cause  error         // why the worker was killed
	ran    time.Duration // clock time in the guest, for systems without a CPU clock
	since  time.Time     // start of the current stretch
	asking bool          // in a host call
}

// watch begins to watch. The caller stops it.
func (w *worker) watch(ctx context.Context, g guard) *watch {
	v := &watch{w: w, g: g, quit: make(chan struct{}), since: time.Now(), before: w.proc.cpu()}
	go v.run(ctx)
	return v
}

// stop ends the watch and returns why it killed the worker, if it did. After that
// it doesn't; its goroutine may end a little later, which nobody waits for.
func (v *watch) stop() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	close(v.quit)
	return v.cause
}

func (v *watch) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var wall <-chan time.Time
	if v.g.wall > 0 {
		timer := time.NewTimer(v.g.wall)
		defer timer.Stop()
		wall = timer.C
	}
	for {
		var cause error
		select {
		case <-v.quit:
			return
		case <-ctx.Done():
			cause = ended(ctx)
		case <-wall:
			cause = v.exceeded("more than %s %s", v.g.wall, v.doing())
		case <-tick.C:
			cause = v.look()
		}
		if cause != nil {
			v.strike(cause)
			return
		}
	}
}

// strike kills the worker, unless the watch is over.
func (v *watch) strike(cause error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over {
		v.cause = cause
		v.w.proc.kill()
	}
}

// look compares the worker's usage with the guard.
func (v *watch) look() error {
	u, ok := v.w.proc.usage()
	cpu := u.cpu - v.before
	if !ok {
		cpu = v.guestTime()
	}
	if v.g.cpu > 0 && cpu > v.g.cpu {
		return v.exceeded("more than %s of CPU %s", v.g.cpu, v.doing())
	}
	if v.g.resident > 0 && u.resident > v.g.resident {
		return v.exceeded("more than %d MiB of memory %s", v.g.resident>>20, v.doing())
	}
	return nil
}

func (v *watch) exceeded(format string, args ...any) error {
	return abi.Errorf(abi.ErrLimitExceeded, "guest", format, args...)
}

func (v *watch) doing() string {
	if v.g.doing == "" {
		return "loading"
	}
	return v.g.doing
}

// hostTime runs f, a host call, off the guest's clock.
func (v *watch) hostTime(f func()) {
	v.mu.Lock()
	v.ran += time.Since(v.since)
	v.asking = true
	v.mu.Unlock()
	f()
	v.mu.Lock()
	v.since = time.Now()
	v.asking = false
	v.mu.Unlock()
}

// guestTime is how long the guest has had the word.
func (v *watch) guestTime() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asking {
		return v.ran
	}
	return v.ran + time.Since(v.since)
}
