package mcpserver

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxIdle is how many goroutines of one stream wait for its next call.
const maxIdle = 4

// A crew runs functions beside each other, in goroutines that stay for the next one:
// a call makes its goroutine's stack grow several times, which takes a quarter of
// a short call's time when each call begins with a new one.
type crew struct {
	all  sync.WaitGroup
	jobs chan func() // unbuffered: whoever receives is free
	idle atomic.Int64
}

func newCrew() *crew { return &crew{jobs: make(chan func())} }

// run starts f at once. What runs it ends with ctx, at the latest.
func (c *crew) run(ctx context.Context, f func()) {
	select {
	case c.jobs <- f:
	default:
		c.all.Go(func() { c.work(ctx, f) })
	}
}

// work runs f and then what comes, unless enough others wait for it.
func (c *crew) work(ctx context.Context, f func()) {
	for {
		f()
		if c.idle.Add(1) > maxIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case f = <-c.jobs:
			c.idle.Add(-1)
		case <-ctx.Done():
			return
		}
	}
}

// wait returns when all that was started has ended; ctx has to end first.
func (c *crew) wait() { c.all.Wait() }
