package mcpserver

import (
	"slices"
	"sync"
	"time"
)

// How long the rest of a result is kept after it was last asked for, and how much.
const (
	keepPages    = 10 * time.Minute
	maxKeptOfOne = 16 << 20 // bytes of one principal's
	maxKept      = 64 << 20 // of all
)

// A callKey is the call that a result belongs to: a cursor is good for it alone.
type callKey struct {
	principal string
	tool      string // dotted
	args      string // digest
}

// A paged is a result that didn't fit into one answer.
type paged struct {
	call    callKey
	pages   []sheet
	cursors []string // of each page but the first
	names   paging
	audit   string // id of the call's row
	origin  string

	size  int
	timer *time.Timer
}

// A shelf keeps the pages of results in memory, for a while. Its zero value works.
type shelf struct {
	mu      sync.Mutex
	results []*paged // the one used last is last
}

// put keeps a result, in the place of older ones where there is no room.
func (s *shelf) put(p *paged) {
	for i := range p.pages {
		p.size += len(p.pages[i].body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, p)
	p.timer = time.AfterFunc(keepPages, func() { s.drop(p) })
	s.makeRoom(maxKeptOfOne, func(q *paged) bool { return q.call.principal == p.call.principal })
	s.makeRoom(maxKept, func(*paged) bool { return true })
}

// makeRoom drops the oldest of some results until they are no larger than limit.
func (s *shelf) makeRoom(limit int, of func(*paged) bool) {
	total := 0
	for _, p := range s.results {
		if of(p) {
			total += p.size
		}
	}
	s.results = slices.DeleteFunc(s.results, func(p *paged) bool {
		if total <= limit || !of(p) {
			return false
		}
		total -= p.size
		p.timer.Stop()
		return true
	})
}

// get finds the page that a cursor of principal's names, and keeps it for longer.
func (s *shelf) get(principal, cursor string) (p *paged, n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.results {
		n := slices.Index(p.cursors, cursor)
		if n < 0 || p.call.principal != principal {
			continue
		}
		if !p.timer.Stop() {
			return nil, 0, false // its time is over
		}
		p.timer.Reset(keepPages)
		s.results = append(slices.Delete(s.results, i, i+1), p)
		return p, n + 1, true
	}
	return nil, 0, false
}

func (s *shelf) drop(p *paged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = slices.DeleteFunc(s.results, func(q *paged) bool { return q == p })
}

// clear forgets everything.
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.results {
		p.timer.Stop()
	}
	s.results = nil
}
