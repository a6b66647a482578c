package gate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func person() Approver { return Approver{PID: 300, UID: 1000, TTY: "pts/1", Via: ViaTerminal} }

// options make a gate at which person may answer.
func options() Options {
	return Options{
		UID:     1000,
		Lineage: func(pid int) ([]Process, error) { return []Process{{pid, 30, "pts/1"}, {1, 0, ""}}, nil },
	}
}

func newGate(t *testing.T, opts Options) *Gate {
	t.Helper()
	g, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// answer is what a call ended with.
type answer struct {
	grant Grant
	err   error
}

// call makes a call in the background and waits until it waits or is through.
func call(ctx context.Context, g *Gate, s Subject) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		grant, err := g.Allow(ctx, s)
		out <- answer{grant, err}
	}()
	synctest.Wait()
	return out
}

// only returns the one request that there is.
func only(t *testing.T, g *Gate) Pending {
	t.Helper()
	list := g.Pending()
	if len(list) != 1 {
		t.Fatalf("there are %d requests: %+v", len(list), list)
	}
	return list[0]
}

func approve(t *testing.T, g *Gate, id string) {
	t.Helper()
	code, err := g.Challenge(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Decide(t.Context(), id, code, true, person()); err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, what string, a answer, code abi.Code) {
	t.Helper()
	if !errors.Is(a.err, code) {
		t.Errorf("%s: %+v, %v, want %s", what, a.grant, a.err, code)
	}
	if a.grant.Basis != "" || a.grant.Args != nil || a.grant.Digest != "" {
		t.Errorf("%s: a grant with an error: %+v", what, a.grant)
	}
}

func TestReadsRun(t *testing.T) {
	s := subject()
	s.Destructive, s.Writes, s.Args = false, nil, json.RawMessage(`{"b":1, "a":2}`)
	g := newGate(t, Options{})
	grant, err := g.Allow(t.Context(), s)
	if err != nil || grant.Basis != BasisPolicy || string(grant.Args) != `{"a":2,"b":1}` || grant.Digest == "" {
		t.Errorf("%+v, %v", grant, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Allow(ctx, s)
	wantCode(t, "caller that left", answer{err: err}, abi.ErrTimeout)
}

func TestRefusedAtOnce(t *testing.T) {
	g := newGate(t, options())
	for name, tt := range map[string]struct {
		change func(*Subject)
		code   abi.Code
	}{
		"nobody":             {func(s *Subject) { s.Principal = Principal{} }, abi.ErrInternal},
		"no connector":       {func(s *Subject) { s.Connector = "" }, abi.ErrInternal},
		"no tool":            {func(s *Subject) { s.Tool = "" }, abi.ErrInternal},
		"no definition":      {func(s *Subject) { s.Definition = nil }, abi.ErrInternal},
		"no module":          {func(s *Subject) { s.ModuleSHA256 = "" }, abi.ErrInternal},
		"no release":         {func(s *Subject) { s.Release = "" }, abi.ErrInternal},
		"a read that writes": {func(s *Subject) { s.Destructive = false }, abi.ErrInternal},
		"bad arguments":      {func(s *Subject) { s.Args = json.RawMessage(`{"a":1,"a":2}`) }, abi.ErrInvalidArgs},
	} {
		s := subject()
		tt.change(&s)
		_, err := g.Allow(t.Context(), s)
		wantCode(t, name, answer{err: err}, tt.code)
	}
	denied := newGate(t, Options{Policy: Policy{Rules: []Rule{{Tool: "*", Decision: DecisionDeny}}}})
	_, err := denied.Allow(t.Context(), subject())
	wantCode(t, "policy", answer{err: err}, abi.ErrConfirmationDenied)
	if n := len(g.Pending()) + len(denied.Pending()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestApprovedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Pending
		opts := options()
		opts.Notify = func(p Pending) { told = append(told, p) }
		g := newGate(t, opts)
		waiting := call(t.Context(), g, subject())
		p := only(t, g)
		if p.State != StateOpen || !p.Attended || p.Subject.Tool != "tracker.add_comment" || p.Ends.Sub(p.Created) != OpenFor {
			t.Errorf("pending %+v", p)
		}
		if len(told) != 1 || told[0].ID != p.ID {
			t.Errorf("told %+v", told)
		}
		approve(t, g, p.ID)
		got := <-waiting
		want, _ := DigestOf(subject())
		if got.err != nil || got.grant.Basis != BasisPerson || got.grant.Digest != want || got.grant.Approval != p.ID ||
			got.grant.Approver != person() || got.grant.Decided.IsZero() || string(got.grant.Args) != string(p.Subject.Args) {
			t.Errorf("%+v", got)
		}
		if len(g.Pending()) != 0 {
			t.Error("the request is still there")
		}
		// One approval, one run: the same call asks anew.
		again := call(t.Context(), g, subject())
		if p2 := only(t, g); p2.ID == p.ID || p2.State != StateOpen {
			t.Errorf("second request %+v", p2)
		}
		g.Close()
		wantCode(t, "after close", <-again, abi.ErrConfirmationRequired)
		wantCode(t, "at a closed gate", <-call(t.Context(), g, subject()), abi.ErrConfirmationRequired)
	})
}

func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		waiting := call(t.Context(), g, subject())
		p := only(t, g)
		if err := g.Decide(t.Context(), p.ID, "", false, person()); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "denied", <-waiting, abi.ErrConfirmationDenied)
		if err := g.Decide(t.Context(), p.ID, "", true, person()); !errors.Is(err, abi.ErrNotFound) {
			t.Errorf("a second answer: %v", err)
		}
	})
}

func TestDeferredApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		begin := time.Now()
		first := <-call(t.Context(), g, subject())
		if waited := time.Since(begin); waited != MaxWait {
			t.Errorf("waited %v", waited)
		}
		p := only(t, g)
		wantCode(t, "not answered in time", first, abi.ErrConfirmationRequired)
		var e *abi.Error
		if !errors.As(first.err, &e) || !strings.Contains(e.Msg, p.ID) || e.Hint != "drawbridge approvals" {
			t.Errorf("message %q, hint %q", e.Msg, e.Hint)
		}
		if p.Attended || p.State != StateOpen {
			t.Errorf("pending %+v", p)
		}
		approve(t, g, p.ID)
		if p := only(t, g); p.State != StateApproved || p.Ends.Sub(time.Now()) != AnswerFor {
			t.Errorf("approved %+v", p)
		}
		// Others don't get it: another principal, another argument, another version.
		for name, change := range map[string]func(*Subject){
			"principal": func(s *Subject) { s.Principal.ID = "c_2" },
			"argument":  func(s *Subject) { s.Args = json.RawMessage(`{"id":76}`) },
			"module":    func(s *Subject) { s.ModuleSHA256 = strings.Repeat("cd", 32) },
			"account":   func(s *Subject) { s.Account = "eve" },
		} {
			s := subject()
			change(&s)
			ctx, cancel := context.WithCancel(t.Context())
			other := call(ctx, g, s)
			if len(g.Pending()) != 2 {
				t.Errorf("another %s did not ask", name)
			}
			cancel()
			wantCode(t, "another "+name, <-other, abi.ErrTimeout)
		}
		begin = time.Now()
		same := subject()
		same.Args = json.RawMessage(`{"text":"Grüße\nzweite Zeile", "id":12}`) // the same call, written differently
		got := <-call(t.Context(), g, same)
		if got.err != nil || got.grant.Approval != p.ID || time.Since(begin) != 0 {
			t.Errorf("%+v after %v", got, time.Since(begin))
		}
		wantCode(t, "a second time", <-call(t.Context(), g, subject()), abi.ErrConfirmationRequired)
	})
}

func TestDeferredDenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		<-call(t.Context(), g, subject())
		if err := g.Decide(t.Context(), only(t, g).ID, "", false, person()); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "came back", <-call(t.Context(), g, subject()), abi.ErrConfirmationDenied)
		if len(g.Pending()) != 0 {
			t.Error("the denial is still there")
		}
	})
}

func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestCallerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		ctx, cancel := context.WithCancel(t.Context())
		waiting := call(ctx, g, subject())
		p := only(t, g)
		code, err := g.Challenge(p.ID)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		wantCode(t, "left", <-waiting, abi.ErrTimeout)
		if err := g.Decide(t.Context(), p.ID, code, true, person()); !errors.Is(err, abi.ErrNotFound) {
			t.Errorf("approved after the caller left: %v", err)
		}
		wantCode(t, "the same call later", <-call(t.Context(), g, subject()), abi.ErrConfirmationRequired)
	})
}

// The answer and the end of the call come at once: the call does not run, and
// the approval is gone.
func TestCallerLeftInTheSameMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		for range AskBurst {
			ctx, cancel := context.WithCancel(t.Context())
			waiting := call(ctx, g, subject())
			p := only(t, g)
			approve(t, g, p.ID) // the waiting call has not been scheduled yet
			cancel()
			got := <-waiting
			if got.err != nil {
				wantCode(t, "left", got, abi.ErrTimeout)
			} else if got.grant.Approval != p.ID {
				t.Errorf("granted by %q", got.grant.Approval)
			}
			if len(g.Pending()) != 0 {
				t.Fatal("something is left for a later call")
			}
		}
	})
}

// A request that a revoked principal's caller has not seen the answer of.
func TestRevokeBeatsApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		<-call(t.Context(), g, subject())
		p := only(t, g)
		approve(t, g, p.ID)
		r, err := g.enter(g.requests[p.ID].subject, nil) // back for the answer
		if err != nil {
			t.Fatal(err)
		}
		g.Revoke("c_1")
		_, err = g.leave(t.Context(), r)
		wantCode(t, "revoked", answer{err: err}, abi.ErrConfirmationRequired)
	})
}

func TestWaitOption(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{
		0: MaxWait, -1: MaxWait, time.Second: time.Second, time.Hour: MaxWait,
	} {
		synctest.Test(t, func(t *testing.T) {
			opts := options()
			opts.Wait = set
			g := newGate(t, opts)
			begin := time.Now()
			wantCode(t, "nobody", <-call(t.Context(), g, subject()), abi.ErrConfirmationRequired)
			if d := time.Since(begin); d != want {
				t.Errorf("wait %v: waited %v", set, d)
			}
		})
	}
}

func TestSubjectIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		s := subject()
		waiting := call(t.Context(), g, s)
		p := only(t, g)
		s.Writes[0], s.Definition[2], s.Args[2] = "nothing at all", 'X', 'X'
		p.Subject.Writes[0], p.Subject.Args[2] = "nothing at all", 'X'
		if shown := only(t, g).Subject; shown.Writes[0] != subject().Writes[0] || string(shown.Definition) != string(subject().Definition) {
			t.Errorf("a person is shown %+v", shown)
		}
		approve(t, g, p.ID)
		got := <-waiting
		want, _ := DigestOf(subject())
		if got.err != nil || got.grant.Digest != want || string(got.grant.Args) != `{"id":12,"text":"Grüße\nzweite Zeile"}` {
			t.Errorf("%+v", got)
		}
	})
}
