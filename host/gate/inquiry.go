package gate

import (
	"context"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// AnswerWithin is how long a [QuestionError] may be answered after it was given out.
const AnswerWithin = 2 * time.Minute

// An Inquiry is how a call's own client can ask the person in front of it. The
// zero value says that it can't. It counts only for a principal that
// [Options.MayAsk] names.
type Inquiry struct {
	// Ask shows a request in the client, while the call waits, and returns the
	// answer. It returns as soon as ctx ends: then the answer is not wanted any
	// more. An error is no answer: others may still give one.
	Ask func(ctx context.Context, p Pending) (approve bool, err error)
	// ByRetry says that the client answers by repeating its call: the call ends
	// with a *QuestionError instead of waiting. Ask is not used then.
	ByRetry bool
	// Reply is what a repeated call brought with it; nil if nothing.
	Reply *Reply
}

// A Reply is the answer to a [QuestionError].
type Reply struct {
	State  string // the question's, as the client gave it back: hostile
	Answer Answer
}

// An Answer is what a person in front of a client said.
type Answer string

// The answers. Whatever is not a clear yes is a no.
const (
	AnswerNone Answer = "" // nothing was answered: ask again
	AnswerYes  Answer = "yes"
	AnswerNo   Answer = "no"
)

// A QuestionError is the error of a call that ends with a question, for a client
// that answers by repeating its call.
type QuestionError struct {
	Pending Pending
	State   string // opaque; comes back in Reply
}

// Error implements error.
func (q *QuestionError) Error() string { return "the client is to ask about " + q.Pending.ID }

// notCounted refuses a reply. A new call without one starts over.
func notCounted(format string, args ...any) error {
	return abi.Errorf(abi.ErrConfirmationDenied, "", "the answer does not count: %s", fmt.Sprintf(format, args...)).
		WithHint("make the same call again, without an answer")
}

// where says which dialog was answered, if it was a client's.
func (a Approver) where() string {
	if a.Via != ViaClient {
		return ""
	}
	return fmt.Sprintf(", asked by client %q", a.Principal.Name)
}

func (g *Gate) mayAsk(p Principal) bool {
	return g.opts.MayAsk != nil && g.opts.MayAsk(p.ID)
}

// inquire asks through the client, beside whoever else may answer, until stop is
// called. When stop returns, no answer of the client counts any more.
func (g *Gate) inquire(ctx context.Context, r *request, ask func(context.Context, Pending) (bool, error)) (stop func()) {
	g.mu.Lock()
	open, view := r.state == StateOpen, r.view()
	g.mu.Unlock()
	if ask == nil || !open {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if approve, err := ask(ctx, view); err == nil && ctx.Err() == nil && g.mayAsk(r.subject.Principal) {
			g.answeredByClient(r, approve)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// answeredByClient settles r, if its call still waits and nobody was faster.
func (g *Gate) answeredByClient(r *request, approve bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.purge()
	if g.requests[r.id] != r || r.state != StateOpen || !r.attended {
		return
	}
	g.settle(r, decided(approve), r.client())
}

func decided(approve bool) State {
	if approve {
		return StateApproved
	}
	return StateDenied
}

// client is r's own client, as who answered it.
func (r *request) client() Approver {
	return Approver{Via: ViaClient, Principal: r.subject.Principal}
}

// question ends a call with a question for its client, unless there is an answer
// already. The request stays open, for an answer out of band too. Only the newest
// question about a request can be answered.
func (g *Gate) question(ctx context.Context, r *request) (Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.state != StateOpen || ctx.Err() != nil || g.tooOld(r) {
		return g.outcome(ctx, r)
	}
	r.attended = false
	if r.questions > 0 && !g.take(r.subject.Principal.ID) { // the first one was paid for by admit
		return Grant{}, abi.Errorf(abi.ErrLimitExceeded, "", "%q asks for confirmation too often: wait %d s", r.subject.Principal.Name, int(AskEvery.Seconds()))
	}
	r.questions++
	r.nonce, r.asked = randomText(26), g.opts.Clock()
	q := &QuestionError{Pending: r.view(), State: g.seal(claim{
		request: r.id, digest: r.digest, expires: r.asked.Add(AnswerWithin).Unix(), nonce: r.nonce, principal: r.subject.Principal.ID,
	})}
	return Grant{}, &abi.Error{
		Code: abi.ErrConfirmationRequired, Err: q, Hint: "drawbridge approvals",
		Msg: fmt.Sprintf("%q waits for the user's confirmation (%s): the client asks for it", r.subject.Tool, r.id),
	}
}

// reply settles a call that brought an answer. again says that it brought none,
// and is to be asked about once more.
func (g *Gate) reply(ctx context.Context, s Subject, rep Reply) (grant Grant, again bool, err error) {
	c, err := g.unseal(rep.State)
	if err != nil {
		return Grant{}, false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.purge()
	r := g.requests[c.request]
	if err := g.checkClaim(c, s, r); err != nil {
		return Grant{}, false, err
	}
	r.nonce = "" // spent, whatever was answered
	if rep.Answer == AnswerNone {
		return Grant{}, true, nil
	}
	switch approve := rep.Answer == AnswerYes; {
	case r.state == StateOpen:
		g.settle(r, decided(approve), r.client())
	case !approve: // a no counts even after somebody else's yes
		r.state, r.by = StateDenied, r.client()
	}
	grant, err = g.outcome(ctx, r)
	return grant, false, err
}

// checkClaim holds what came back against the call that it came with, and against
// the request that it names, which is nil if there is none. It needs g.mu.
func (g *Gate) checkClaim(c claim, s Subject, r *request) error {
	now := g.opts.Clock()
	switch {
	case c.principal != s.Principal.ID:
		return notCounted("it was given to another client")
	case c.digest != s.digest():
		return notCounted("it is about another call, or something about this one has changed since")
	case now.Unix() >= c.expires:
		return notCounted("it came too late")
	case r == nil || r.digest != c.digest || subtle.ConstantTimeCompare([]byte(r.nonce), []byte(c.nonce)) != 1:
		return notCounted("it was used already, or its question has ended")
	case isOver(r.asked, now, AnswerWithin):
		return notCounted("it came too late")
	case r.attended:
		return abi.Errorf(abi.ErrLimitExceeded, "", "the same call is already waiting for an answer (%s)", r.id).WithHint("drawbridge approvals")
	}
	return nil
}
