package gate

import (
	"crypto/rand"
	"math"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A State is how far a request has come.
type State string

// The states.
const (
	StateOpen     State = "open"     // nobody has answered
	StateApproved State = "approved" // and the call has not come back for it
	StateDenied   State = "denied"   // likewise
	StateEnded    State = "ended"    // consumed, too old, or its caller left
)

// A request is one question to a person. Its fields are held under the gate's
// lock, but for those that never change: id, digest, subject, created and the
// channel itself.
type request struct {
	id       string
	digest   Digest
	subject  Subject
	created  time.Time
	answered chan struct{} // closed on leaving StateOpen

	state     State
	attended  bool      // a caller waits
	askers    []Process // clients that were connected when it was asked; they may be gone
	by        Approver
	decided   time.Time
	challenge challenge
	wrong     int // codes that were wrong, over all challenges
	timer     *time.Timer

	nonce     string    // of the question that the client may still answer; empty if none
	asked     time.Time // when that question was given out
	questions int       // so many were
}

// open makes a request that a caller attends.
func (g *Gate) open(s Subject, digest Digest) *request {
	r := &request{
		id: "ap-" + randomText(8), digest: digest, subject: s, created: g.opts.Clock(),
		answered: make(chan struct{}), state: StateOpen, attended: true,
	}
	r.timer = time.AfterFunc(OpenFor, func() { g.end(r) })
	g.requests[r.id] = r
	return r
}

// end removes r if its time is over; timers that lost a race do nothing.
func (g *Gate) end(r *request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tooOld(r) {
		g.remove(r)
	}
}

// settle moves r from open to answered.
func (g *Gate) settle(r *request, state State, by Approver) {
	r.state, r.by, r.decided = state, by, g.opts.Clock()
	r.challenge = challenge{}
	r.timer.Reset(AnswerFor)
	close(r.answered)
	g.changed()
}

// remove takes r out of the gate, and wakes its caller if it was open.
func (g *Gate) remove(r *request) {
	if g.requests[r.id] != r {
		return
	}
	delete(g.requests, r.id)
	r.timer.Stop()
	wasOpen := r.state == StateOpen
	r.state = StateEnded // an answer that a caller has yet to see is void too
	if wasOpen {
		close(r.answered)
	}
	g.changed()
}

// purge removes what is too old. Timers do the same, but stand still while the
// machine sleeps.
func (g *Gate) purge() {
	for _, r := range g.requests {
		if g.tooOld(r) {
			g.remove(r)
		}
	}
}

func (g *Gate) tooOld(r *request) bool {
	now := g.opts.Clock()
	if r.state == StateOpen {
		return isOver(r.created, now, OpenFor)
	}
	return isOver(r.decided, now, AnswerFor)
}

// isOver reports whether d has passed since then, by the running clock or by
// the one on the wall: the former stands still while the machine sleeps, and
// the latter can be set back. A wall clock that went back counts as over.
func isOver(since, now time.Time, d time.Duration) bool {
	wall := now.Round(0).Sub(since.Round(0))
	return now.Sub(since) >= d || wall >= d || wall < -time.Minute
}

// A bucket limits how fast a principal may ask.
type bucket struct {
	tokens float64
	at     time.Time
}

// admit says whether p may ask one more question.
func (g *Gate) admit(p Principal) error {
	open := 0
	for _, r := range g.requests {
		if r.subject.Principal.ID == p.ID {
			open++
		}
	}
	if open >= MaxOpen {
		return abi.Errorf(abi.ErrLimitExceeded, "", "%d calls of %q wait for the user's confirmation already", open, p.Name).
			WithHint("drawbridge approvals")
	}
	if len(g.requests) >= MaxOpenTotal {
		return abi.Errorf(abi.ErrLimitExceeded, "", "%d calls wait for the user's confirmation already", len(g.requests)).
			WithHint("drawbridge approvals")
	}
	if !g.take(p.ID) {
		return abi.Errorf(abi.ErrLimitExceeded, "", "%q asks for confirmation too often: wait %d s", p.Name, int(AskEvery.Seconds()))
	}
	return nil
}

// take takes one token of a principal, and forgets buckets that are full.
func (g *Gate) take(principalID string) bool {
	now := g.opts.Clock()
	level := func(b *bucket) float64 {
		return math.Min(AskBurst, b.tokens+math.Max(0, now.Sub(b.at).Seconds())/AskEvery.Seconds())
	}
	for id, b := range g.buckets {
		if id != principalID && level(b) >= AskBurst {
			delete(g.buckets, id)
		}
	}
	b := g.buckets[principalID]
	if b == nil {
		b = &bucket{tokens: AskBurst, at: now}
		g.buckets[principalID] = b
	}
	b.tokens, b.at = level(b), now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// alphabet has no characters that are taken for one another.
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// randomText returns n characters of alphabet, each as likely as the others.
func randomText(n int) string {
	out := make([]byte, 0, n)
	var b [1]byte
	for len(out) < n {
		_, _ = rand.Read(b[:]) // never returns an error: see crypto/rand
		if i := int(b[0] & 31); i < len(alphabet) {
			out = append(out, alphabet[i])
		}
	}
	return string(out)
}
