package gate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Limits. Options may lower the first.
const (
	MaxWait      = 45 * time.Second // a call waits for its answer
	OpenFor      = 10 * time.Minute // a request waits for its answer
	AnswerFor    = 10 * time.Minute // an answer waits for its call
	MaxOpen      = 8                // requests of one principal, answered ones included
	MaxOpenTotal = 256              // requests of all
	AskBurst     = 10               // new requests of one principal at once,
	AskEvery     = 6 * time.Second  // and then one in this time
)

// Options are what a gate needs from outside. Nothing is called with a lock
// held.
type Options struct {
	Policy Policy
	Wait   time.Duration // how long a call waits; 0 and more than MaxWait are MaxWait
	UID    int           // the user whose answers count
	// Clock is time.Now if nil.
	Clock func() time.Time
	// Notify tells a person that there is a new request. It may be nil and may
	// take its time.
	Notify func(Pending)
	// Lineage lists a process, its parent, and so on. If it is nil nobody can
	// answer.
	Lineage func(pid int) ([]Process, error)
	// Connected lists the processes of connected clients. It may be nil if
	// there never are any.
	Connected func() []Process
	// MayAsk says whether a person trusts this principal to ask for
	// confirmations itself. If it is nil, none is trusted.
	MayAsk func(principalID string) bool
}

// A Basis says why a call may run.
type Basis string

// The bases. The zero value is none.
const (
	BasisPolicy Basis = "policy"
	BasisPerson Basis = "person"
)

// A Grant lets one call run, once. The zero value grants nothing.
type Grant struct {
	Basis    Basis
	Digest   Digest
	Args     json.RawMessage // canonical: what is to run
	Approval string          // the request's id, if a person granted it
	Approver Approver        // likewise
	Decided  time.Time       // likewise
}

// A Gate judges calls. It serves any number of goroutines.
type Gate struct {
	opts Options
	key  [32]byte // seals the states of questions; it ends with the gate

	mu       sync.Mutex
	requests map[string]*request // by id
	buckets  map[string]*bucket  // by principal's id
	watchers map[chan struct{}]struct{}
	closed   bool
}

// New returns a gate without requests. It fails if the policy is not sound.
func New(opts Options) (*Gate, error) {
	if err := opts.Policy.Check(); err != nil {
		return nil, err
	}
	if opts.Wait <= 0 || opts.Wait > MaxWait {
		opts.Wait = MaxWait
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	g := &Gate{
		opts:     opts,
		requests: make(map[string]*request),
		buckets:  make(map[string]*bucket),
		watchers: make(map[chan struct{}]struct{}),
	}
	_, _ = rand.Read(g.key[:]) // never returns an error: see crypto/rand
	return g, nil
}

// Allow says whether the call may run, and waits for a person if one has to be
// asked. ctx is the caller's: when it ends the caller has left, and the call
// will not run, whatever the answer.
//
// The errors are confirmation_denied (policy or a person said no),
// confirmation_required (nobody answered in time; the request stays open and
// the same call may come back), limit_exceeded (too many questions, or this
// very one is being asked), timeout (the caller left) and invalid_args.
func (g *Gate) Allow(ctx context.Context, s Subject) (Grant, error) {
	return g.AllowAsking(ctx, s, Inquiry{})
}

// AllowAsking is [Gate.Allow] for a call whose own client can ask the person as
// well. Whoever answers first, there or out of band, has answered. An error may
// wrap a *[QuestionError]: then the client is to ask, and to repeat its call.
func (g *Gate) AllowAsking(ctx context.Context, s Subject, via Inquiry) (Grant, error) {
	if err := s.check(); err != nil {
		return Grant{}, err
	}
	args, err := Canonical(s.Args)
	if err != nil {
		return Grant{}, err
	}
	s = s.clone()
	s.Args = args
	if ctx.Err() != nil {
		return Grant{}, callerLeft(ctx)
	}
	switch g.opts.Policy.Decide(s) {
	case DecisionAllow:
		return Grant{Basis: BasisPolicy, Digest: s.digest(), Args: args}, nil
	case DecisionAsk:
		return g.ask(ctx, s, via)
	case DecisionDeny:
		return Grant{}, abi.Errorf(abi.ErrConfirmationDenied, "", "policy forbids %q", s.Tool)
	}
	return Grant{}, abi.Errorf(abi.ErrConfirmationDenied, "", "policy has no answer for %q", s.Tool)
}

func (g *Gate) ask(ctx context.Context, s Subject, via Inquiry) (Grant, error) {
	if !g.mayAsk(s.Principal) {
		if via.Reply != nil {
			return Grant{}, notCounted("client %q is not trusted to ask", s.Principal.Name)
		}
		via = Inquiry{}
	}
	if via.Reply != nil {
		if grant, again, err := g.reply(ctx, s, *via.Reply); !again {
			return grant, err
		}
	}
	r, err := g.enter(s, g.connected())
	if err != nil {
		return Grant{}, err
	}
	if via.ByRetry {
		return g.question(ctx, r)
	}
	stop := g.inquire(ctx, r, via.Ask)
	timer := time.NewTimer(g.opts.Wait)
	defer timer.Stop()
	select {
	case <-r.answered:
	case <-timer.C:
	case <-ctx.Done():
	}
	stop() // before leave, so that an answer counts for this call or not at all
	return g.leave(ctx, r)
}

// connected lists the processes of the clients that are connected now.
func (g *Gate) connected() []Process {
	if g.opts.Connected == nil {
		return nil
	}
	return g.opts.Connected()
}

// enter finds the request for s or makes one, and takes the place of its only
// caller. askers are the clients that are connected.
func (g *Gate) enter(s Subject, askers []Process) (*request, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, abi.Errorf(abi.ErrConfirmationRequired, "", "the host is stopping and can't ask")
	}
	g.purge()
	digest := s.digest()
	for _, r := range g.requests {
		if r.digest != digest {
			continue
		}
		if r.attended {
			return nil, abi.Errorf(abi.ErrLimitExceeded, "", "the same call is already waiting for an answer (%s)", r.id).
				WithHint("drawbridge approvals")
		}
		r.attended = true
		r.askers = append(r.askers, askers...)
		g.changed()
		return r, nil
	}
	if err := g.admit(s.Principal); err != nil {
		return nil, err
	}
	r := g.open(s, digest)
	r.askers = askers
	if g.opts.Notify != nil {
		go g.opts.Notify(r.view())
	}
	g.changed()
	return r, nil
}

// leave ends a caller's wait and settles what becomes of it. Here an answer is
// consumed: the request is removed in the same breath as it is granted.
func (g *Gate) leave(ctx context.Context, r *request) (Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.outcome(ctx, r)
}

// outcome is leave with the lock held.
func (g *Gate) outcome(ctx context.Context, r *request) (Grant, error) {
	r.attended = false
	if ctx.Err() != nil {
		g.remove(r)
		return Grant{}, callerLeft(ctx)
	}
	if g.tooOld(r) {
		g.remove(r)
	}
	state := r.state
	if state != StateOpen {
		g.remove(r)
	}
	switch state {
	case StateApproved:
		return Grant{
			Basis: BasisPerson, Digest: r.digest, Args: r.subject.Args,
			Approval: r.id, Approver: r.by, Decided: r.decided,
		}, nil
	case StateDenied:
		return Grant{}, abi.Errorf(abi.ErrConfirmationDenied, "", "the user said no to %q%s (%s)", r.subject.Tool, r.by.where(), r.id)
	case StateOpen:
		return Grant{}, abi.Errorf(abi.ErrConfirmationRequired, "",
			"%q waits for the user's confirmation (%s): once it is given, make the same call again", r.subject.Tool, r.id).
			WithHint("drawbridge approvals")
	case StateEnded:
	}
	return Grant{}, abi.Errorf(abi.ErrConfirmationRequired, "", "the request for %q ended without an answer (%s)", r.subject.Tool, r.id)
}

func callerLeft(ctx context.Context) error {
	return &abi.Error{Code: abi.ErrTimeout, Msg: "the caller left before the call was allowed", Err: context.Cause(ctx)}
}

// Revoke ends everything that the principal with this id asked for.
func (g *Gate) Revoke(principalID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.requests {
		if r.subject.Principal.ID == principalID {
			g.remove(r)
		}
	}
}

// Close ends every request; calls that wait are refused.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, r := range g.requests {
		g.remove(r)
	}
}
