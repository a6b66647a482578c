package gate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		waiting := call(t.Context(), g, subject())
		other := subject()
		other.Tool = "tracker.other"
		call(t.Context(), g, other)
		list := g.Pending()
		id, id2 := list[0].ID, list[1].ID
		if list[0].Subject.Tool == "tracker.other" {
			id, id2 = id2, id
		}
		refused := func(what, id, code string, want abi.Code) {
			t.Helper()
			if err := g.Decide(t.Context(), id, code, true, person()); !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		challenge := func(id string) string {
			t.Helper()
			code, err := g.Challenge(id)
			if err != nil {
				t.Fatal(err)
			}
			return code
		}
		refused("no code was shown", id, "", abi.ErrInvalidArgs)
		refused("no such request", "ap-nothing", "abc-def", abi.ErrNotFound)
		refused("an endless id", strings.Repeat("x", 100_000), "abc-def", abi.ErrNotFound)
		code2 := challenge(id2)
		refused("no code was shown for this one", id, code2, abi.ErrInvalidArgs)
		old := challenge(id)
		code := challenge(id)
		refused("the code before", id, old, abi.ErrInvalidArgs)
		refused("the other's code", id, code2, abi.ErrInvalidArgs)
		refused("a third wrong one", id, "", abi.ErrInvalidArgs)
		refused("the right one, too late", id, code, abi.ErrInvalidArgs)
		code = challenge(id)
		wait(CodeFor)
		_ = waiting // it has been told to come back meanwhile
		refused("after two minutes", id, code, abi.ErrInvalidArgs)
		code = challenge(id)
		typed := " " + strings.ToUpper(strings.ReplaceAll(code, "-", " ")) + " "
		if err := g.Decide(t.Context(), id, typed, true, person()); err != nil {
			t.Errorf("%q as %q: %v", code, typed, err)
		}
		refused("a second time", id, code, abi.ErrNotFound)
		if _, err := g.Challenge(id); !errors.Is(err, abi.ErrNotFound) {
			t.Errorf("a code for an answered request: %v", err)
		}
		g.Close()
	})
}

func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		waiting := call(t.Context(), g, subject())
		id := only(t, g).ID
		var err error
		for tries := 1; ; tries++ {
			code, challengeErr := g.Challenge(id)
			if challengeErr != nil {
				t.Fatal(challengeErr)
			}
			if code == "aaa-aaa" {
				continue
			}
			if err = g.Decide(t.Context(), id, "aaa-aaa", true, person()); errors.Is(err, abi.ErrConfirmationDenied) {
				if tries != MaxWrongEver {
					t.Errorf("%d tries", tries)
				}
				break
			}
		}
		wantCode(t, "guessed", <-waiting, abi.ErrConfirmationDenied)
	})
}

func TestCodesDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		s := randomText(CodeLength)
		if len(s) != CodeLength || strings.Trim(s, alphabet) != "" || seen[s] {
			t.Errorf("code %q", s)
		}
		seen[s] = true
	}
}

func TestWhoMayAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := options()
		tty, client, lineageErr := "pts/1", Process{}, error(nil)
		opts.Lineage = func(pid int) ([]Process, error) {
			return []Process{{pid, 30, tty}, {200, 20, tty}, {1, 0, ""}}, lineageErr
		}
		opts.Connected = func() []Process { return []Process{client} }
		g := newGate(t, opts)
		waiting := call(t.Context(), g, subject())
		id := only(t, g).ID
		code, err := g.Challenge(id)
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what string, by Approver) {
			t.Helper()
			for _, yes := range []bool{true, false} {
				if err := g.Decide(t.Context(), id, code, yes, by); !errors.Is(err, abi.ErrForbidden) {
					t.Errorf("%s, %v: %v", what, yes, err)
				}
			}
			if err := g.MayAnswer(by); !errors.Is(err, abi.ErrForbidden) {
				t.Errorf("%s may answer: %v", what, err)
			}
		}
		refused("nobody", Approver{})
		foreign := person()
		foreign.UID = 0
		refused("another user", foreign)
		tty = ""
		refused("without a terminal", person())
		tty, client = "pts/1", Process{PID: 200, Start: 20}
		refused("an agent's shell", person())
		client, lineageErr = Process{}, errors.New("it ended")
		refused("who is gone", person())
		lineageErr = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Decide(ctx, id, code, true, person()); !errors.Is(err, abi.ErrTimeout) {
			t.Errorf("withdrawn: %v", err)
		}
		if p := only(t, g); p.State != StateOpen || !p.Attended {
			t.Errorf("after all refusals: %+v", p)
		}
		// None of it cost the code.
		if err := g.Decide(t.Context(), id, code, true, person()); err != nil {
			t.Error(err)
		}
		if a := <-waiting; a.err != nil {
			t.Error(a.err)
		}
	})
	g := newGate(t, Options{UID: 1000})
	if err := g.MayAnswer(person()); !errors.Is(err, abi.ErrForbidden) {
		t.Errorf("without ancestry: %v", err)
	}
}

// An agent asks, hangs up, and answers from its shell: it was connected when it
// asked. So was the one that came back for the answer later.
func TestHangingUpDoesNotHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := options()
		first, second := Process{PID: 200, Start: 20}, Process{PID: 210, Start: 21}
		connected := []Process{first}
		shellOf := first
		opts.Connected = func() []Process { return connected }
		opts.Lineage = func(pid int) ([]Process, error) {
			return []Process{{pid, 30, "pts/1"}, {shellOf.PID, shellOf.Start, ""}, {1, 0, ""}}, nil
		}
		g := newGate(t, opts)
		<-call(t.Context(), g, subject())
		connected = []Process{second}
		<-call(t.Context(), g, subject())
		connected = nil
		id := only(t, g).ID
		for _, shellOf = range []Process{first, second} {
			code, err := g.Challenge(id)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Decide(t.Context(), id, code, true, person()); !errors.Is(err, abi.ErrForbidden) {
				t.Errorf("the shell of client %d: %v", shellOf.PID, err)
			}
		}
		shellOf = Process{PID: 220, Start: 22}
		approve(t, g, id)
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		ctx, cancel := context.WithCancel(t.Context())
		updates := g.Watch(ctx)
		idle := g.Watch(ctx) // nobody reads it
		if got := <-updates; len(got) != 0 {
			t.Errorf("at first %+v", got)
		}
		waiting := call(t.Context(), g, subject())
		got := <-updates
		if len(got) != 1 || got[0].State != StateOpen {
			t.Errorf("after a call %+v", got)
		}
		approve(t, g, got[0].ID)
		<-waiting
		synctest.Wait()
		// One state may be told twice, and others in between; the latest always is. A
		// state that is never told is a deadlock, which fails the test.
		until := func(want int) {
			for len(<-updates) != want {
			}
		}
		until(0)
		// A request that ends by itself is told of too.
		call(t.Context(), g, subject())
		until(1)
		wait(OpenFor)
		until(0)
		cancel()
		synctest.Wait()
		for range idle { // until it is closed
		}
		for range updates { // likewise
		}
		if _, ok := <-updates; ok {
			t.Error("still open")
		}
		if len(g.watchers) != 0 {
			t.Errorf("%d watchers are left", len(g.watchers))
		}
	})
}

// hammer runs f n-fold at once.
func hammer(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

func TestHammerOneApprovalOneRun(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, options())
			<-call(t.Context(), g, subject())
			approve(t, g, only(t, g).ID)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var runs atomic.Int32
			hammer(16, func(int) {
				if _, err := g.Allow(ctx, subject()); err == nil {
					runs.Add(1)
				}
			})
			if runs.Load() != 1 {
				t.Fatalf("one approval, %d runs", runs.Load())
			}
		})
	}
}

func TestHammerAnswers(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, options())
			waiting := call(t.Context(), g, subject())
			id := only(t, g).ID
			code, err := g.Challenge(id)
			if err != nil {
				t.Fatal(err)
			}
			var yes, no atomic.Int32
			hammer(16, func(i int) {
				if g.Decide(t.Context(), id, code, i%2 == 0, person()) == nil {
					if i%2 == 0 {
						yes.Add(1)
					} else {
						no.Add(1)
					}
				}
			})
			got := <-waiting
			if yes.Load()+no.Load() != 1 || (got.err == nil) != (yes.Load() == 1) {
				t.Fatalf("%d said yes and %d no, and the call ended with %v", yes.Load(), no.Load(), got.err)
			}
		})
	}
}

// Approvals, ends of calls and new calls at once: never more runs than
// approvals, and no run of a call whose context had ended before.
func TestHammerEverything(t *testing.T) {
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, options())
			var runs, approvals atomic.Int32
			hammer(16, func(i int) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				switch i % 4 {
				case 0, 1:
					if i%4 == 1 {
						go cancel()
					}
					if _, err := g.Allow(ctx, subject()); err == nil {
						runs.Add(1)
					}
				case 2:
					for _, p := range g.Pending() {
						code, err := g.Challenge(p.ID)
						if err == nil && g.Decide(ctx, p.ID, code, true, person()) == nil {
							approvals.Add(1)
						}
					}
				case 3:
					_ = g.Pending()
					g.Revoke("somebody else")
				}
			})
			if runs.Load() > approvals.Load() {
				t.Fatalf("%d approvals, %d runs", approvals.Load(), runs.Load())
			}
			g.Close()
			synctest.Wait()
		})
	}
}
