package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Limits of the code that a person retypes.
const (
	CodeLength   = 6               // characters
	CodeFor      = 2 * time.Minute // a code is good
	MaxWrong     = 3               // wrong answers to one code, then it is void
	MaxWrongEver = 9               // wrong answers to one request, then it is denied
)

// Pending is a request as a person sees it. It shares nothing with the gate.
type Pending struct {
	ID       string
	Digest   Digest
	Subject  Subject
	State    State
	Attended bool      // a caller waits for the answer right now
	Created  time.Time // when it was first asked
	Ends     time.Time // when it is no longer of use
}

func (r *request) view() Pending {
	p := Pending{
		ID: r.id, Digest: r.digest, Subject: r.subject.clone(), State: r.state, Attended: r.attended,
		Created: r.created, Ends: r.created.Add(OpenFor),
	}
	if r.state != StateOpen {
		p.Ends = r.decided.Add(AnswerFor)
	}
	return p
}

// Pending lists the requests, the oldest first: open ones, and answered ones
// whose call has not come back.
func (g *Gate) Pending() []Pending {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.purge()
	list := make([]Pending, 0, len(g.requests))
	for _, r := range g.requests {
		list = append(list, r.view())
	}
	slices.SortFunc(list, func(a, b Pending) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Watch sends what [Gate.Pending] returns, at once and after each change, until
// ctx ends; then it closes the channel. Who reads slowly misses what lay
// between, never the latest.
func (g *Gate) Watch(ctx context.Context) <-chan []Pending {
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	g.mu.Lock()
	g.watchers[wake] = struct{}{}
	g.mu.Unlock()
	out := make(chan []Pending)
	go func() {
		defer close(out)
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.watchers, wake)
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case <-wake:
			}
			select {
			case <-ctx.Done():
				return
			case out <- g.Pending():
			}
		}
	}()
	return out
}

// changed wakes the watchers without waiting for any.
func (g *Gate) changed() {
	for w := range g.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// A challenge is a code that was shown. The zero value accepts nothing.
type challenge struct {
	sum   [sha256.Size]byte
	shown time.Time
	wrong int
	valid bool
}

// codeSum binds a code to the request and to what it is about.
func (r *request) codeSum(code string) [sha256.Size]byte {
	return sha256.Sum256([]byte("drawbridge approval code v1\n" + r.id + "\n" + string(r.digest) + "\n" + code))
}

// Challenge returns a code for the person to retype, such as "kfm-7pq". It
// takes the place of the one before, can be used once, and is good for two
// minutes. It keeps a person from answering by habit, and is no secret from
// the programs of the same user.
func (g *Gate) Challenge(id string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.find(id)
	if err != nil {
		return "", err
	}
	code := randomText(CodeLength)
	r.challenge = challenge{sum: r.codeSum(code), shown: g.opts.Clock(), valid: true}
	return code[:CodeLength/2] + "-" + code[CodeLength/2:], nil
}

// find returns the open request with this id.
func (g *Gate) find(id string) (*request, error) {
	g.purge()
	r := g.requests[id]
	if r == nil {
		return nil, abi.Errorf(abi.ErrNotFound, "approve", "there is no request %.40q: it was used, ended, or its caller left", id).
			WithHint("drawbridge approvals")
	}
	if r.state != StateOpen {
		return nil, abi.Errorf(abi.ErrNotFound, "approve", "request %q is %s already", id, r.state)
	}
	return r, nil
}

// Decide answers the request with this id. To approve, code must be the one
// that [Gate.Challenge] gave last; to deny, it is not looked at. Both take an
// approver that [CheckApprover] accepts. Of two answers the first one counts.
//
// Success means that the answer was taken. The call may still not run: its
// caller may leave in this very moment, or never come back.
func (g *Gate) Decide(ctx context.Context, id, code string, approve bool, by Approver) error {
	line, err := g.checkApprover(by)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &abi.Error{Code: abi.ErrTimeout, Op: "approve", Msg: "the answer was withdrawn", Err: err}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.find(id)
	if err != nil {
		return err
	}
	// A client must not be able to answer by hanging up first.
	if err := CheckApprover(by, g.opts.UID, line, r.askers); err != nil {
		return err
	}
	if !approve {
		g.settle(r, StateDenied, by)
		return nil
	}
	if err := g.checkCode(r, code, by); err != nil {
		return err
	}
	g.settle(r, StateApproved, by)
	return nil
}

// MayAnswer says whether by would be accepted, before a person is asked to
// type anything.
func (g *Gate) MayAnswer(by Approver) error {
	_, err := g.checkApprover(by)
	return err
}

// checkApprover returns the ancestry of an approver that may answer now.
func (g *Gate) checkApprover(by Approver) ([]Process, error) {
	if g.opts.Lineage == nil {
		return nil, refuse("this system can't tell who answers")
	}
	// Clients first: one that connects after this did not start the approver.
	connected := g.connected()
	line, err := g.opts.Lineage(by.PID)
	if err != nil {
		return nil, refuse("the ancestry of process %d can't be read: %w", by.PID, err)
	}
	return line, CheckApprover(by, g.opts.UID, line, connected)
}

// checkCode uses up r's code if it is the one.
func (g *Gate) checkCode(r *request, code string, by Approver) error {
	c := &r.challenge
	if !c.valid || isOver(c.shown, g.opts.Clock(), CodeFor) {
		return abi.Errorf(abi.ErrInvalidArgs, "approve", "there is no valid code for request %q", r.id).
			WithHint("drawbridge approvals")
	}
	sum := r.codeSum(normalCode(code))
	if subtle.ConstantTimeCompare(sum[:], c.sum[:]) == 1 {
		return nil
	}
	c.wrong++
	r.wrong++
	if c.wrong >= MaxWrong {
		c.valid = false
	}
	if r.wrong >= MaxWrongEver {
		g.settle(r, StateDenied, by)
		return abi.Errorf(abi.ErrConfirmationDenied, "approve", "%d wrong codes: request %q is denied", r.wrong, r.id)
	}
	return abi.Errorf(abi.ErrInvalidArgs, "approve", "the code is not the one that was shown").
		WithHint("drawbridge approvals")
}

// normalCode is what counts of a code as typed.
func normalCode(code string) string {
	if len(code) > 64 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(code))
}
