package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		<-call(t.Context(), g, subject())
		p := only(t, g)
		wait(OpenFor - MaxWait - time.Second)
		code, err := g.Challenge(p.ID)
		if err != nil {
			t.Fatal(err)
		}
		wait(2 * time.Second)
		if err := g.Decide(t.Context(), p.ID, code, true, person()); !errors.Is(err, abi.ErrNotFound) {
			t.Errorf("answered after ten minutes: %v", err)
		}
		if len(g.Pending()) != 0 {
			t.Error("an old request is still there")
		}

		<-call(t.Context(), g, subject())
		p = only(t, g)
		approve(t, g, p.ID)
		wait(AnswerFor - time.Second)
		if len(g.Pending()) != 1 {
			t.Error("the approval ended early")
		}
		wait(2 * time.Second)
		late := <-call(t.Context(), g, subject())
		wantCode(t, "approval of ten minutes ago", late, abi.ErrConfirmationRequired)
		if only(t, g).ID == p.ID {
			t.Error("the old request came back")
		}
	})
}

// Coming back to an open request does not make it younger.
func TestComingBackDoesNotExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		begin := time.Now()
		<-call(t.Context(), g, subject())
		id := only(t, g).ID
		for range 12 {
			got := <-call(t.Context(), g, subject())
			wantCode(t, "again", got, abi.ErrConfirmationRequired)
			if p := only(t, g); p.ID != id {
				t.Fatalf("after %v there is another request", time.Since(begin))
			}
		}
		last := <-call(t.Context(), g, subject()) // 9:45 to 10:00
		wantCode(t, "until the end", last, abi.ErrConfirmationRequired)
		if d := time.Since(begin); d != OpenFor || len(g.Pending()) != 0 {
			t.Errorf("ended after %v with %d requests", d, len(g.Pending()))
		}
	})
}

func TestIdenticalCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		first := call(t.Context(), g, subject())
		for range 5 {
			wantCode(t, "the same call beside it", <-call(t.Context(), g, subject()), abi.ErrLimitExceeded)
		}
		approve(t, g, only(t, g).ID)
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
	})
}

func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := atomic.Int32{}
		opts := options()
		opts.Notify = func(Pending) { shown.Add(1) }
		g := newGate(t, opts)
		flood := func(n int, offset int) (refused int) {
			for i := range n {
				s := subject()
				s.Args = json.RawMessage(fmt.Sprintf(`{"id":%d}`, i+offset))
				select {
				case a := <-call(t.Context(), g, s):
					wantCode(t, "flood", a, abi.ErrLimitExceeded)
					refused++
				default:
				}
			}
			return refused
		}
		if n := flood(500, 0); n != 500-MaxOpen || shown.Load() != MaxOpen || len(g.Pending()) != MaxOpen {
			t.Errorf("%d refused, %d shown", n, shown.Load())
		}
		// Another principal is not affected.
		s := subject()
		s.Principal = Principal{ID: "c_2", Name: "other"}
		other := call(t.Context(), g, s)
		if len(g.Pending()) != MaxOpen+1 {
			t.Error("another principal could not ask")
		}
		g.Revoke("c_2")
		wantCode(t, "revoked", <-other, abi.ErrConfirmationRequired)
		// Answering does not let the flood through: the rate holds.
		for _, p := range g.Pending() {
			if err := g.Decide(t.Context(), p.ID, "", false, person()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := flood(100, 1000); n != 100-(AskBurst-MaxOpen) {
			t.Errorf("%d of the second flood refused", n)
		}
		wait(AskEvery)
		if n := flood(10, 2000); n != 9 {
			t.Errorf("after a while %d of 10 refused", n)
		}
		g.Close()
		synctest.Wait()
	})
}

func TestTotalLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		asked := 0
		for i := range MaxOpenTotal + 20 {
			s := subject()
			s.Principal.ID = fmt.Sprintf("c_%d", i)
			select {
			case a := <-call(t.Context(), g, s):
				wantCode(t, "beyond the total", a, abi.ErrLimitExceeded)
			default:
				asked++
			}
		}
		if asked != MaxOpenTotal {
			t.Errorf("%d requests are open", asked)
		}
		g.Close()
		synctest.Wait()
		wait(time.Hour)
		s := subject()
		s.Principal.ID = "last"
		_, _ = g.Allow(t.Context(), s)
		if n := len(g.buckets); n > MaxOpenTotal {
			t.Errorf("%d buckets are kept", n)
		}
	})
}

// The machine slept: the running clock stood still, the wall clock did not.
func TestIsOver(t *testing.T) {
	at := time.Now()
	wallOnly := at.Round(0)
	for _, tt := range []struct {
		name string
		now  time.Time
		want bool
	}{
		{"just now", at, false},
		{"nine minutes on", at.Add(9 * time.Minute), false},
		{"ten minutes on", at.Add(10 * time.Minute), true},
		{"slept for an hour", wallOnly.Add(time.Hour), true},
		{"clock set back a little", wallOnly.Add(-time.Second), false},
		{"clock set back", wallOnly.Add(-time.Hour), true},
	} {
		if got := isOver(at, tt.now, 10*time.Minute); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// 200 calls wait; a read is judged at once, and a watcher is not held up.
func TestManyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, options())
		var wg sync.WaitGroup
		for i := range 200 {
			s := subject()
			s.Principal.ID = fmt.Sprintf("c_%d", i/MaxOpen)
			s.Args = json.RawMessage(fmt.Sprintf(`{"id":%d}`, i))
			wg.Go(func() { _, _ = g.Allow(t.Context(), s) })
		}
		synctest.Wait()
		if n := len(g.Pending()); n != 200 {
			t.Fatalf("%d wait", n)
		}
		read := subject()
		read.Destructive, read.Writes = false, nil
		begin := time.Now()
		for range 1000 {
			if _, err := g.Allow(t.Context(), read); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("reads waited for %v", d)
		}
		g.Close()
		wg.Wait()
	})
}
