package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A pool keeps the workers of one module. Each has one call at a time, so that
// killing one ends no other call. A worker that comes back makes its next
// instance before it is offered again.
type pool struct {
	size    int
	idleFor time.Duration
	start   func(context.Context) (*worker, error)

	mu      sync.Mutex
	closed  bool
	total   int // alive or being started
	warming int // of these, making their next instance
	idle    []*worker
	waiters []chan *worker // each buffered; nil means: look again
}

// retireAfter bounds what one process can gather over its life.
const retireAfter = 500

// get returns a ready worker: an idle one, the next to be ready, or a new one.
func (p *pool) get(ctx context.Context) (*worker, error) {
	for {
		w, wait, err := p.tryGet(ctx)
		if w != nil || err != nil {
			return w, err
		}
		select {
		case w := <-wait:
			if w != nil {
				return w, nil
			}
		case <-ctx.Done():
			p.leave(wait)
			return nil, ended(ctx)
		}
	}
}

// tryGet returns a worker, or a channel to wait on, or an error.
func (p *pool) tryGet(ctx context.Context) (*worker, chan *worker, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, nil, errClosed()
	}
	if w := p.popIdle(); w != nil {
		p.mu.Unlock()
		return w, nil, nil
	}
	if p.total >= p.size || len(p.waiters) < p.warming {
		wait := make(chan *worker, 1)
		p.waiters = append(p.waiters, wait)
		p.mu.Unlock()
		return nil, wait, nil
	}
	p.total++
	p.mu.Unlock()
	w, err := p.start(ctx)
	if err != nil {
		p.lost()
	}
	return w, nil, err
}

// popIdle returns an idle worker that is alive, under mu. Whoever ended one from
// outside is not allowed to spoil a call.
func (p *pool) popIdle() *worker {
	for n := len(p.idle); n > 0; n = len(p.idle) {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		w.idle.Stop()
		if w.alive() {
			return w
		}
		p.total--
		go w.close()
	}
	return nil
}

// leave takes a waiter out, and passes on what it was given meanwhile.
func (p *pool) leave(wait chan *worker) {
	p.mu.Lock()
	p.waiters = slices.DeleteFunc(p.waiters, func(c chan *worker) bool { return c == wait })
	p.mu.Unlock()
	select {
	case w := <-wait:
		if w != nil {
			p.offer(w)
		} else {
			p.wake()
		}
	default:
	}
}

// prepare starts the pool's first worker, if there is none. Who asks for one
// meanwhile gets this one.
func (p *pool) prepare(ctx context.Context) {
	p.mu.Lock()
	first := !p.closed && p.total == 0
	if first {
		p.total++
		p.warming++
	}
	p.mu.Unlock()
	if !first {
		return
	}
	go func() {
		w, err := p.start(ctx)
		p.warmed(w, err) // a call meets the same error, and says so
	}()
}

// put takes a worker back after a call. One that is not whole, or old, ends.
//
//nolint:contextcheck // the next instance is made when the call is over
func (p *pool) put(w *worker, whole bool) {
	p.mu.Lock()
	keep := whole && !p.closed && w.calls < retireAfter
	if keep {
		p.warming++
	}
	p.mu.Unlock()
	if !keep {
		w.close()
		p.lost()
		return
	}
	go func() {
		p.warmed(w, w.ready(context.Background()))
	}()
}

// warmed offers a worker that warming counted, or counts it out if it failed; nil is
// one that did not start.
func (p *pool) warmed(w *worker, err error) {
	p.mu.Lock()
	p.warming--
	if err == nil {
		p.offerLocked(w)
	}
	p.mu.Unlock()
	if err == nil {
		return
	}
	if w != nil {
		w.close()
	}
	p.lost()
}

// offer gives a ready worker to who waits longest, or keeps it for a while.
func (p *pool) offer(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offerLocked(w)
}

func (p *pool) offerLocked(w *worker) {
	switch {
	case p.closed:
		p.total--
		go w.close()
	case len(p.waiters) > 0:
		p.waiters[0] <- w
		p.waiters = p.waiters[1:]
	default:
		w.idle = time.AfterFunc(p.idleFor, func() { p.expire(w) })
		p.idle = append(p.idle, w)
	}
}

// expire ends a worker that is still idle.
func (p *pool) expire(w *worker) {
	p.mu.Lock()
	i := slices.Index(p.idle, w)
	if i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		w.close()
		p.lost()
	}
}

// lost counts a worker out and lets who waits longest look again.
func (p *pool) lost() {
	p.mu.Lock()
	p.total--
	p.mu.Unlock()
	p.wake()
}

func (p *pool) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiters) > 0 {
		p.waiters[0] <- nil
		p.waiters = p.waiters[1:]
	}
}

// close ends idle workers, now, and the others when they come back.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	for _, wait := range p.waiters {
		wait <- nil
	}
	p.waiters = nil
	p.mu.Unlock()
	for _, w := range idle {
		w.idle.Stop()
		w.close()
		p.lost()
	}
}
