package mcpserver

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
)

const (
	sessionIdle    = 15 * time.Minute // without a request or an open stream
	maxSessions    = 4096             // of all principals together
	maxOwnSessions = 512              // of one principal
)

// sessions are those of the old era over HTTP. An id is random, and no more than a
// name: whose session it is, the token says.
type sessions struct {
	srv *Server

	mu       sync.Mutex
	byID     map[string]*httpSession
	sweeping bool // a sweep is due
}

// An httpSession is one of them.
type httpSession struct {
	all   *sessions
	id    string
	peer  *peer
	ended chan struct{} // closed when the session is over

	// Guarded by all.mu.
	active   int // requests in it
	used     time.Time
	replaced chan struct{} // closed when another stream listens instead
}

// begin makes a session. Where there are too many, the principal's longest idle
// one ends; if none is idle, there is no new one.
func (s *sessions) begin(p *peer) (id string, ok bool) {
	sess := &httpSession{all: s, id: rand.Text(), peer: p, ended: make(chan struct{}), used: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	own, oldest := 0, (*httpSession)(nil)
	for _, o := range s.byID {
		if o.peer.who.ID != p.who.ID {
			continue
		}
		own++
		if o.active == 0 && (oldest == nil || o.used.Before(oldest.used)) {
			oldest = o
		}
	}
	if own >= maxOwnSessions || len(s.byID) >= maxSessions {
		if oldest == nil {
			return "", false
		}
		s.remove(oldest)
	}
	s.byID[sess.id] = sess
	s.sweepLater()
	return sess.id, true
}

// enter returns the principal's session of that id, and counts the request in.
func (s *sessions) enter(id string, who host.Principal) (*httpSession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sess, ok := s.byID[id]
	if !ok || sess.peer.who.ID != who.ID {
		return nil, false
	}
	if sess.idle(time.Now()) {
		s.remove(sess)
		return nil, false
	}
	sess.active++
	sess.used = time.Now()
	return sess, true
}

// leave counts a request out.
func (sess *httpSession) leave() {
	sess.all.mu.Lock()
	defer sess.all.mu.Unlock()
	sess.active--
	sess.used = time.Now()
}

// idle reports whether a session has had its time. It needs all.mu.
func (sess *httpSession) idle(now time.Time) bool {
	return sess.active == 0 && now.Sub(sess.used) >= sessionIdle
}

// listen makes the caller the session's one listening stream until the returned
// channel is closed: a notification must go to one stream only, and the newest is
// the one whose client is still there.
func (sess *httpSession) listen() (replaced <-chan struct{}) {
	sess.all.mu.Lock()
	defer sess.all.mu.Unlock()
	if sess.replaced != nil {
		close(sess.replaced)
	}
	sess.replaced = make(chan struct{})
	return sess.replaced
}

// end ends a session and the calls in it.
func (s *sessions) end(sess *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(sess)
}

// remove needs s.mu.
func (s *sessions) remove(sess *httpSession) {
	if s.byID[sess.id] != sess {
		return
	}
	delete(s.byID, sess.id)
	close(sess.ended)
	sess.peer.cancelAll()
}

// sweepLater makes idle sessions go even if nobody comes any more. It needs s.mu.
func (s *sessions) sweepLater() {
	if s.sweeping {
		return
	}
	s.sweeping = true
	time.AfterFunc(sessionIdle/3, s.sweep)
}

func (s *sessions) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweeping = false
	now := time.Now()
	for _, sess := range s.byID {
		if sess.idle(now) {
			s.remove(sess)
		}
	}
	if len(s.byID) > 0 {
		s.sweepLater()
	}
}

// cancelAll ends every request in flight; none gets a reply.
func (p *peer) cancelAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.flights {
		f.cancelled = true
		f.cancel()
	}
}
