package browser

import "sync"

// A queue is an unbounded list between goroutines: push never blocks, so that
// whoever reads the browser's messages never waits for whoever handles them.
type queue[T any] struct {
	mu     sync.Mutex
	items  []T
	closed bool
	wake   chan struct{} // holds at most one token
}

func newQueue[T any]() *queue[T] { return &queue[T]{wake: make(chan struct{}, 1)} }

// push adds v, unless the queue is closed.
func (q *queue[T]) push(v T) {
	q.mu.Lock()
	if !q.closed {
		q.items = append(q.items, v)
	}
	q.mu.Unlock()
	q.signal()
}

// close ends the queue: what is in it is still popped, nothing is added.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// pop waits for the next item; ok is false when the queue is closed and empty.
// Only one goroutine may pop.
func (q *queue[T]) pop() (v T, ok bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			v = q.items[0]
			var zero T
			q.items[0] = zero
			q.items = q.items[1:]
			q.mu.Unlock()
			return v, true
		}
		done := q.closed
		q.mu.Unlock()
		if done {
			return v, false
		}
		<-q.wake
	}
}

func (q *queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
