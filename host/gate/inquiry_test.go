package gate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// trusting are options under which the subject's principal may ask.
func trusting() Options {
	o := options()
	o.MayAsk = func(id string) bool { return id == "c_1" || id == "c_2" }
	return o
}

// callAsking is call with an inquiry.
func callAsking(ctx context.Context, g *Gate, s Subject, via Inquiry) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		grant, err := g.AllowAsking(ctx, s, via)
		out <- answer{grant, err}
	}()
	synctest.Wait()
	return out
}

// A dialog is a client's: what it was asked, and what it will say.
type dialog struct {
	shown   []Pending
	say     chan bool
	fail    chan error
	dropped int // questions that were not wanted any more
}

func newDialog() *dialog { return &dialog{say: make(chan bool), fail: make(chan error)} }

func (d *dialog) ask(ctx context.Context, p Pending) (bool, error) {
	d.shown = append(d.shown, p)
	select {
	case yes := <-d.say:
		return yes, nil
	case err := <-d.fail:
		return true, err
	case <-ctx.Done():
		d.dropped++
		return true, ctx.Err()
	}
}

func TestClientAnswers(t *testing.T) {
	for _, yes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g, d := newGate(t, trusting()), newDialog()
			got := callAsking(t.Context(), g, subject(), Inquiry{Ask: d.ask})
			if len(d.shown) != 1 || d.shown[0].ID != only(t, g).ID || d.shown[0].Subject.Tool != "tracker.add_comment" {
				t.Fatalf("the client was shown %+v", d.shown)
			}
			d.say <- yes
			a := <-got
			if !yes {
				wantCode(t, "a no", a, abi.ErrConfirmationDenied)
				if !strings.Contains(a.err.Error(), `asked by client "laptop"`) {
					t.Errorf("who said no: %v", a.err)
				}
			} else if a.err != nil || a.grant.Basis != BasisPerson || a.grant.Approver.Via != ViaClient || a.grant.Approver.Principal != subject().Principal {
				t.Errorf("a yes: %+v, %v", a.grant, a.err)
			}
			if n := len(g.Pending()); n != 0 {
				t.Errorf("%d requests are left", n)
			}
		})
	}
}

// Only who is trusted is asked, and only while it is: whatever it says otherwise
// counts for nothing, and the terminal decides.
func TestOnlyTrustedClientsAsk(t *testing.T) {
	t.Run("never", func(t *testing.T) {
		for name, mayAsk := range map[string]func(string) bool{"nobody may": nil, "another may": func(id string) bool { return id == "c_2" }} {
			synctest.Test(t, func(t *testing.T) {
				o := options()
				o.MayAsk = mayAsk
				g, d := newGate(t, o), newDialog()
				got := callAsking(t.Context(), g, subject(), Inquiry{Ask: d.ask})
				if len(d.shown) != 0 {
					t.Errorf("%s: it was asked", name)
				}
				wantCode(t, name, <-got, abi.ErrConfirmationRequired)
				got = callAsking(t.Context(), g, subject(), Inquiry{ByRetry: true})
				wantCode(t, name+", by retry", <-got, abi.ErrConfirmationRequired)
				_, err := g.AllowAsking(t.Context(), subject(), Inquiry{ByRetry: true, Reply: &Reply{State: "x", Answer: AnswerYes}})
				wantCode(t, name+", made up", answer{err: err}, abi.ErrConfirmationDenied)
			})
		}
	})
	t.Run("no longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			trusted := true
			o := options()
			o.MayAsk = func(string) bool { return trusted }
			g, d := newGate(t, o), newDialog()
			_, state := ask(t, g, subject())
			got := callAsking(t.Context(), g, subject(), Inquiry{Ask: d.ask})
			trusted = false
			d.say <- true
			wantCode(t, "a yes from a client that lost its trust", <-got, abi.ErrConfirmationRequired)
			_, err := g.AllowAsking(t.Context(), subject(), Inquiry{ByRetry: true, Reply: &Reply{State: state, Answer: AnswerYes}})
			wantCode(t, "and by retry", answer{err: err}, abi.ErrConfirmationDenied)
		})
	})
}

// A client that never answers, or can't ask after all, leaves the request to the
// terminal; its question ends with the wait, and an answer after that is none.
func TestClientThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(t, trusting()), newDialog()
		began := time.Now()
		wantCode(t, "no answer", <-callAsking(t.Context(), g, subject(), Inquiry{Ask: d.ask}), abi.ErrConfirmationRequired)
		if waited := time.Since(began); waited != MaxWait || d.dropped != 1 {
			t.Errorf("waited %v, dropped %d questions", waited, d.dropped)
		}
		g.answeredByClient(g.requests[only(t, g).ID], true) // in the moment after
		if p := only(t, g); p.State != StateOpen {
			t.Errorf("a late answer made it %s", p.State)
		}
		got := callAsking(t.Context(), g, subject(), Inquiry{Ask: d.ask})
		d.fail <- errors.New("method not found")
		synctest.Wait()
		approve(t, g, only(t, g).ID)
		if a := <-got; a.err != nil || a.grant.Approver.Via != ViaTerminal {
			t.Errorf("the terminal's yes: %+v, %v", a.grant, a.err)
		}
	})
}

func TestTerminalIsFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(t, trusting()), newDialog()
		got := callAsking(t.Context(), g, subject(), Inquiry{Ask: d.ask})
		approve(t, g, only(t, g).ID)
		if a := <-got; a.err != nil || a.grant.Approver.Via != ViaTerminal || d.dropped != 1 {
			t.Errorf("%+v, %v, dropped %d", a.grant, a.err, d.dropped)
		}
	})
}

func TestRevokeTakesTheQuestionBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(t, trusting()), newDialog()
		got := callAsking(t.Context(), g, subject(), Inquiry{Ask: d.ask})
		g.Revoke("c_1")
		wantCode(t, "revoked", <-got, abi.ErrConfirmationRequired)
		if d.dropped != 1 {
			t.Errorf("dropped %d questions", d.dropped)
		}
	})
}

func TestApprovalAfterCancelDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(t, trusting()), newDialog()
		ctx, cancel := context.WithCancel(t.Context())
		got := callAsking(ctx, g, subject(), Inquiry{Ask: d.ask})
		r := g.requests[only(t, g).ID]
		cancel()
		wantCode(t, "cancelled", <-got, abi.ErrTimeout)
		g.answeredByClient(r, true)
		if d.dropped != 1 || len(g.Pending()) != 0 {
			t.Errorf("dropped %d, pending %+v", d.dropped, g.Pending())
		}
	})
}

// ask makes a call that ends with a question.
func ask(t *testing.T, g *Gate, s Subject) (Pending, string) {
	t.Helper()
	_, err := g.AllowAsking(t.Context(), s, Inquiry{ByRetry: true})
	q, ok := errors.AsType[*QuestionError](err)
	if !ok || !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Fatalf("no question: %v", err)
	}
	return q.Pending, q.State
}

func retry(g *Gate, s Subject, state string, a Answer) answer {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	grant, err := g.AllowAsking(ctx, s, Inquiry{ByRetry: true, Reply: &Reply{State: state, Answer: a}})
	return answer{grant, err}
}

func TestAnswerByRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, trusting())
		p, state := ask(t, g, subject())
		a := retry(g, subject(), state, AnswerYes)
		if a.err != nil || a.grant.Basis != BasisPerson || a.grant.Approval != p.ID || a.grant.Approver.Via != ViaClient || a.grant.Digest != p.Digest {
			t.Errorf("%+v, %v", a.grant, a.err)
		}
		wantCode(t, "replayed", retry(g, subject(), state, AnswerYes), abi.ErrConfirmationDenied)

		_, state = ask(t, g, subject())
		wantCode(t, "no", retry(g, subject(), state, AnswerNo), abi.ErrConfirmationDenied)
		wantCode(t, "yes after no", retry(g, subject(), state, AnswerYes), abi.ErrConfirmationDenied)
		if n := len(g.Pending()); n != 0 {
			t.Errorf("%d requests are left", n)
		}
		// Without an answer it is asked again, and the old question is void.
		_, state = ask(t, g, subject())
		again := retry(g, subject(), state, AnswerNone)
		q, ok := errors.AsType[*QuestionError](again.err)
		if !ok || q.State == state {
			t.Fatalf("no other question: %v", again.err)
		}
		wantCode(t, "to the old question", retry(g, subject(), state, AnswerYes), abi.ErrConfirmationDenied)
		if a := retry(g, subject(), q.State, AnswerYes); a.err != nil {
			t.Error(a.err)
		}
		// A no takes back what a terminal has approved meanwhile.
		p, state = ask(t, g, subject())
		approve(t, g, p.ID)
		wantCode(t, "no after the terminal's yes", retry(g, subject(), state, AnswerNo), abi.ErrConfirmationDenied)
		wantCode(t, "afterwards", <-call(t.Context(), g, subject()), abi.ErrConfirmationRequired)
	})
}

// The answer counts for the very call that was shown.
func TestReplyIsBound(t *testing.T) {
	for name, change := range map[string]func(*Subject){
		"another tool":      func(s *Subject) { s.Tool = "tracker.delete" },
		"other arguments":   func(s *Subject) { s.Args = json.RawMessage(`{"id":76}`) },
		"another account":   func(s *Subject) { s.Account = "eve" },
		"another module":    func(s *Subject) { s.ModuleSHA256 = strings.Repeat("cd", 32) },
		"another principal": func(s *Subject) { s.Principal = Principal{ID: "c_2", Name: "laptop"} },
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, trusting())
			_, state := ask(t, g, subject())
			s := subject()
			change(&s)
			wantCode(t, name, retry(g, s, state, AnswerYes), abi.ErrConfirmationDenied)
			_, _ = ask(t, g, s) // a question of its own changes nothing
			wantCode(t, name+", asked too", retry(g, s, state, AnswerYes), abi.ErrConfirmationDenied)
			if a := retry(g, subject(), state, AnswerYes); a.err != nil {
				t.Errorf("%s: the right call after it: %v", name, a.err)
			}
		})
	}
}

func TestReplyExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, trusting())
		_, state := ask(t, g, subject())
		<-time.After(AnswerWithin)
		wantCode(t, "expired", retry(g, subject(), state, AnswerYes), abi.ErrConfirmationDenied)
		_, fresh := ask(t, g, subject())
		<-time.After(AnswerWithin - time.Second)
		if a := retry(g, subject(), fresh, AnswerYes); a.err != nil {
			t.Error(a.err)
		}
		_, state = ask(t, g, subject())
		g.Revoke("c_1")
		wantCode(t, "revoked", retry(g, subject(), state, AnswerYes), abi.ErrConfirmationDenied)
		other := newGate(t, trusting())
		_, state = ask(t, other, subject())
		wantCode(t, "of another daemon", retry(g, subject(), state, AnswerYes), abi.ErrConfirmationDenied)
	})
}

// 100,000 states that differ in one byte from a good one: none is taken. Nor is
// another spelling of it.
func TestChangedStates(t *testing.T) {
	g := newGate(t, trusting())
	_, state := ask(t, g, subject())
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		b := []byte(state)
		b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		if _, err := g.unseal(string(b)); err == nil {
			t.Fatalf("accepted %q for %q", b, state)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		t.Fatal(err)
	}
	last := state[:len(state)-1]
	spellings := []string{
		"", " " + state, state + "\n", state[:7] + "\r\n" + state[7:], state + "=", state + state, last,
		base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw[:31]), strings.Repeat("A", maxState+1),
	}
	for c := range strings.SplitSeq("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", "") {
		if last+c != state {
			spellings = append(spellings, last+c)
		}
	}
	for _, s := range spellings {
		if _, err := g.unseal(s); err == nil {
			t.Errorf("accepted %q", s)
		}
	}
	if a := retry(g, subject(), state, AnswerYes); a.err != nil {
		t.Errorf("the state itself: %v", a.err)
	}
}

// Sixteen calls bring the same answer at once: one of them runs.
func TestOneReplyOneRun(t *testing.T) {
	g := newGate(t, trusting())
	_, state := ask(t, g, subject())
	results := make(chan answer)
	for range 16 {
		go func() { results <- retry(g, subject(), state, AnswerYes) }()
	}
	ran := 0
	for range 16 {
		if a := <-results; a.err == nil {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("%d calls ran", ran)
	}
}

// A client has eight questions open at most, and can't ask without end.
func TestFewQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, trusting())
		for i := range MaxOpen {
			s := subject()
			s.Account = strings.Repeat("a", i+1)
			_, _ = ask(t, g, s)
		}
		_, err := g.AllowAsking(t.Context(), subject(), Inquiry{ByRetry: true})
		wantCode(t, "one more", answer{err: err}, abi.ErrLimitExceeded)
		d := newDialog()
		_, err = g.AllowAsking(t.Context(), subject(), Inquiry{Ask: d.ask})
		wantCode(t, "one more that waits", answer{err: err}, abi.ErrLimitExceeded)
		if len(d.shown) != 0 {
			t.Error("the ninth question was shown")
		}
		s := subject()
		s.Account = "a"
		asked := 0
		for ; asked < 100; asked++ {
			if _, err = g.AllowAsking(t.Context(), s, Inquiry{ByRetry: true}); !errors.Is(err, abi.ErrConfirmationRequired) {
				break
			}
		}
		wantCode(t, "the same over and over", answer{err: err}, abi.ErrLimitExceeded)
		if asked > AskBurst {
			t.Errorf("asked %d times more", asked)
		}
	})
}

// A way that is not a terminal's never passes as one.
func TestClientIsNoApprover(t *testing.T) {
	g := newGate(t, trusting())
	p, _ := ask(t, g, subject())
	code, err := g.Challenge(p.ID)
	if err != nil {
		t.Fatal(err)
	}
	by := person()
	by.Via, by.Principal = ViaClient, subject().Principal
	if err := g.Decide(t.Context(), p.ID, code, true, by); !errors.Is(err, abi.ErrForbidden) {
		t.Errorf("it decided: %v", err)
	}
}

func FuzzState(f *testing.F) {
	g, err := New(trusting())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(g.seal(claim{request: "ap-x", digest: "sha256:0", expires: 1, nonce: "n", principal: "c_1\n"}))
	f.Add("")
	f.Fuzz(func(t *testing.T, state string) {
		c, err := g.unseal(state)
		if err == nil && g.seal(c) != state {
			t.Errorf("%q reads as %+v, which is %q", state, c, g.seal(c))
		}
	})
}
