package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A site is what checks find, and how often they looked.
type site struct {
	mu     sync.Mutex
	answer map[string]*abi.Error // by connector; absent is signed in
	checks []string
	log    []string // changes

	hang  map[string]bool // until the check's deadline
	takes time.Duration
}

func (s *site) check(ctx context.Context, id string) *abi.Error {
	s.mu.Lock()
	s.checks = append(s.checks, id)
	err := s.answer[id]
	s.mu.Unlock()
	if s.hang[id] {
		<-ctx.Done()
		return abi.Errorf(abi.ErrTimeout, "navigate", "no answer")
	}
	sleep(s.takes)
	return err
}

// set makes checks of a connector find err from now on.
func (s *site) set(id string, err *abi.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[id] = err
}

// looked lists the connectors that were checked, in order.
func (s *site) looked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.checks)
}

func (s *site) changed(was, is Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%s: %s > %s", is.ID, was.State, is.State))
}

func signedOut() *abi.Error {
	return abi.Errorf(abi.ErrAuthExpired, "navigate", "nobody is signed in").WithHint("drawbridge login x")
}
func drift() *abi.Error { return abi.Errorf(abi.ErrSelectorDrift, "navigate", "another page") }

// monitor has a plugin with the connectors a and b, another with c, and d without
// a page in a plugin of its own.
func monitor() (*Monitor, *site) {
	s := &site{answer: map[string]*abi.Error{}, hang: map[string]bool{}}
	m := New(Options{Check: s.check, Changed: s.changed})
	m.Set(connectors())
	return m, s
}

func connectors() []Connector {
	return []Connector{
		{ID: "a", Group: "suite", HasPage: true},
		{ID: "b", Group: "suite", HasPage: true},
		{ID: "c", Group: "other", HasPage: true},
		{ID: "d", Group: "bare"},
	}
}

// sleep lets the bubble's clock run; nothing waits.
func sleep(d time.Duration) { <-time.After(d) }

// states is what List says, such as "a ok".
func states(m *Monitor) []string {
	var list []string
	for _, s := range m.List() {
		list = append(list, s.ID+" "+string(s.State))
	}
	return list
}

func wantStates(t *testing.T, m *Monitor, want ...string) {
	t.Helper()
	if got := states(m); !slices.Equal(got, want) {
		t.Errorf("states are %q, want %q", got, want)
	}
}

// tell has a tool call end with err.
func tell(t *testing.T, m *Monitor, id string, err error) {
	t.Helper()
	if got := call(t, m, id, err); !errors.Is(got, err) {
		t.Fatalf("%s is paused: %v", id, got)
	}
}

// call is one tool call that ends with err, or is not tried.
func call(t *testing.T, m *Monitor, id string, err error) error {
	t.Helper()
	ticket, refused := m.Enter(t.Context(), id)
	if refused != nil {
		return refused
	}
	m.Report(ticket, err)
	return err
}

func wantCode(t *testing.T, err error, code abi.Code, hint string) {
	t.Helper()
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Code != code || e.Hint != hint {
		t.Errorf("error is %v (%+v), want %s with the hint %q", err, e, code, hint)
	}
}

func TestExpiryPausesAllThatShareTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		s.set("a", signedOut())
		s.set("b", signedOut())
		tell(t, m, "a", nil)
		tell(t, m, "a", signedOut())
		wantStates(t, m, "a auth_expired", "b auth_expired", "c unknown", "d unknown")
		wantCode(t, call(t, m, "b", nil), abi.ErrAuthExpired, "drawbridge login b")
		wantCode(t, call(t, m, "a", nil), abi.ErrAuthExpired, "drawbridge login a")
		if err := call(t, m, "c", nil); err != nil {
			t.Errorf("another plugin's call is answered with %v", err)
		}
		if want := []string{"a: unknown > ok", "a: ok > auth_expired", "b: unknown > auth_expired", "c: unknown > ok"}; !slices.Equal(s.log, want) {
			t.Errorf("changes are %q, want %q", s.log, want)
		}
	})
}

func TestPausedCallsCheckAtMostEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		s.set("a", signedOut())
		tell(t, m, "a", signedOut())
		for range 21 { // 20 s
			wantCode(t, call(t, m, "a", nil), abi.ErrAuthExpired, "drawbridge login a")
			sleep(time.Second)
		}
		if len(s.looked()) != 3 {
			t.Errorf("%d checks in 20 s, want 3", len(s.looked()))
		}
		s.set("a", nil) // somebody has signed in elsewhere
		sleep(Again)
		if err := call(t, m, "a", nil); err != nil {
			t.Errorf("after a login elsewhere: %v", err)
		}
		wantStates(t, m, "a ok", "b unknown", "c unknown", "d unknown")
	})
}

func TestPassingCheckResumesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := monitor()
		tell(t, m, "b", nil)
		tell(t, m, "a", signedOut())
		if err := call(t, m, "b", nil); err != nil {
			t.Errorf("b's check passes, and its call is answered with %v", err)
		}
		wantStates(t, m, "a unknown", "b ok", "c unknown", "d unknown")
	})
}

func TestLoginResumesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		late, _ := m.Enter(t.Context(), "a")
		tell(t, m, "a", signedOut())
		m.LoggedIn("a")
		wantStates(t, m, "a ok", "b unknown", "c unknown", "d unknown")
		m.Report(late, signedOut()) // it began before the login
		wantStates(t, m, "a ok", "b unknown", "c unknown", "d unknown")
		if len(s.looked()) != 0 {
			t.Errorf("checks were made: %q", s.looked())
		}
		m.LoggedIn("nobody knows it")
	})
}

func TestAfterALogoutNothingIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		late, _ := m.Enter(t.Context(), "a")
		tell(t, m, "a", nil)
		s.set("b", drift())
		_ = m.Check(t.Context(), "b")
		tell(t, m, "c", nil)
		m.LoggedOut("a")
		wantStates(t, m, "a unknown", "b failing", "c ok", "d unknown")
		m.Report(late, nil) // it began before the logout
		wantStates(t, m, "a unknown", "b failing", "c ok", "d unknown")
		tell(t, m, "a", signedOut())
		m.LoggedOut("a")
		wantStates(t, m, "a auth_expired", "b auth_expired", "c ok", "d unknown")
		m.LoggedOut("nobody knows it")
		if !slices.Contains(s.log, "a: ok > unknown") {
			t.Errorf("changes are %q", s.log)
		}
	})
}

func TestLateSuccessDoesNotHideAnExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := monitor()
		late, _ := m.Enter(t.Context(), "b")
		tell(t, m, "a", signedOut())
		m.Report(late, nil)
		wantStates(t, m, "a auth_expired", "b auth_expired", "c unknown", "d unknown")
	})
}

func TestFailedCheckPausesOneAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		s.set("b", drift())
		wantCode(t, m.Check(t.Context(), "b"), abi.ErrSelectorDrift, "")
		wantStates(t, m, "a unknown", "b failing", "c unknown", "d unknown")
		if err := call(t, m, "a", nil); err != nil {
			t.Errorf("a is answered with %v", err)
		}
		wantCode(t, call(t, m, "b", nil), abi.ErrSelectorDrift, "drawbridge check b")
		m.LoggedIn("a") // which mends no page
		wantStates(t, m, "a ok", "b failing", "c unknown", "d unknown")
		s.set("b", nil)
		sleep(Again)
		if err := call(t, m, "b", nil); err != nil {
			t.Errorf("the page is as it was, and b is answered with %v", err)
		}
	})
}

func TestExpiryHidesAFailureAndGivesItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		s.set("b", drift())
		_ = m.Check(t.Context(), "b")
		tell(t, m, "a", signedOut())
		wantStates(t, m, "a auth_expired", "b auth_expired", "c unknown", "d unknown")
		m.LoggedIn("a")
		wantStates(t, m, "a ok", "b failing", "c unknown", "d unknown")
	})
}

func TestOtherErrorsOfCallsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := monitor()
		tell(t, m, "a", nil)
		for _, code := range abi.Codes() {
			if code != abi.ErrAuthExpired {
				tell(t, m, "a", abi.Errorf(code, "call", "failed"))
			}
		}
		tell(t, m, "a", errors.New("ours"))
		wantStates(t, m, "a ok", "b unknown", "c unknown", "d unknown")
	})
}

func TestCheckThatSaysNothingAboutTheSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		s.set("a", abi.Errorf(abi.ErrBrowserGone, "open", "the browser ended"))
		wantCode(t, m.Check(t.Context(), "a"), abi.ErrBrowserGone, "")
		wantStates(t, m, "a unknown", "b unknown", "c unknown", "d unknown")
		tell(t, m, "a", signedOut())
		wantCode(t, call(t, m, "a", nil), abi.ErrAuthExpired, "drawbridge login a")
	})
}

// TestWithoutAPage: what can't be checked is not paused, or nothing but a login
// could resume it.
func TestWithoutAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		tell(t, m, "d", signedOut())
		wantStates(t, m, "a unknown", "b unknown", "c unknown", "d auth_expired")
		if err := call(t, m, "d", nil); err != nil {
			t.Errorf("its call is answered with %v", err)
		}
		wantStates(t, m, "a unknown", "b unknown", "c unknown", "d ok")
		wantCode(t, m.Check(t.Context(), "d"), abi.ErrUnsupportedAction, "")
		wantCode(t, m.Check(t.Context(), "e"), abi.ErrNotFound, "drawbridge list")
		if len(s.looked()) != 0 {
			t.Errorf("checks were made: %q", s.looked())
		}
	})
}

// TestSiblingIsChecked: one without a page is paused by the login that it shares,
// and resumed by the one that has a page.
func TestSiblingIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		m.Set([]Connector{{ID: "x", Group: "g"}, {ID: "y", Group: "g", HasPage: true}})
		s.set("y", signedOut())
		tell(t, m, "x", signedOut())
		wantCode(t, call(t, m, "x", nil), abi.ErrAuthExpired, "drawbridge login x")
		s.set("y", nil)
		sleep(Again)
		if err := call(t, m, "x", nil); err != nil || !slices.Equal(s.looked(), []string{"y", "y"}) {
			t.Errorf("x is answered with %v after the checks %q", err, s.looked())
		}
	})
}

func TestOnlyWhatIsUsedIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx)
		}()
		sleep(3 * time.Hour)
		if len(s.looked()) != 0 {
			t.Fatalf("checks for nobody: %q", s.looked())
		}
		tell(t, m, "a", nil)
		sleep(Every - time.Minute)
		if len(s.looked()) != 0 {
			t.Fatalf("checks within ten minutes: %q", s.looked())
		}
		sleep(3 * time.Hour)
		if n := len(s.looked()); n < 5 || n > 6 || slices.Contains(s.looked(), "b") {
			t.Errorf("one call, and then three hours: checks are %q, want five or six of a", s.looked())
		}
		stop()
		<-ended
	})
}

func TestScheduledCheckFindsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go m.Run(ctx)
		tell(t, m, "a", nil)
		s.set("a", signedOut())
		sleep(Every + 2*time.Minute)
		wantStates(t, m, "a auth_expired", "b auth_expired", "c unknown", "d unknown")
		s.set("a", nil)
		sleep(Every + 2*time.Minute)
		wantStates(t, m, "a ok", "b unknown", "c unknown", "d unknown")
	})
}

func TestChecksAreMadeOneAtATimeAndShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		s.takes = time.Second
		started := time.Now()
		done := make(chan struct{})
		for _, id := range []string{"a", "a", "a", "b", "c"} {
			go func() {
				if err := m.Check(t.Context(), id); err != nil {
					t.Error(err)
				}
				done <- struct{}{}
			}()
		}
		for range 5 {
			<-done
		}
		if took := time.Since(started); took != 3*time.Second || len(s.looked()) != 3 {
			t.Errorf("five asked for three: %q in %v, want three in 3s", s.looked(), took)
		}
	})
}

// TestCallDoesNotWaitForASiteThatHangs: it is answered with what is known, and the
// check goes on without it.
func TestCallDoesNotWaitForASiteThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := monitor()
		s.hang["a"] = true
		wantCode(t, m.Check(t.Context(), "a"), abi.ErrTimeout, "")
		sleep(Again)
		started := time.Now()
		wantCode(t, call(t, m, "a", nil), abi.ErrTimeout, "drawbridge check a")
		if took := time.Since(started); took != Again {
			t.Errorf("it was answered after %v, want %v", took, Again)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Check(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who leaves gets %v", err)
		}
		sleep(Timeout)
		if len(s.looked()) != 2 {
			t.Errorf("%d checks, want two", len(s.looked()))
		}
	})
}

func TestSetKeepsWhatIsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := monitor()
		tell(t, m, "c", nil)
		old, _ := m.Enter(t.Context(), "c")
		tell(t, m, "a", signedOut())
		list := connectors()
		list[0].Address = "http://elsewhere.example" // a moved, b did not
		m.Set(list)
		wantStates(t, m, "a auth_expired", "b auth_expired", "c ok", "d unknown")
		list[1].Release, list[2].Release = "new", "new"
		m.Set(list)
		list[0].Release = "new"
		m.Set(list)
		m.Report(old, signedOut()) // of the release before
		wantStates(t, m, "a auth_expired", "b auth_expired", "c unknown", "d unknown")
		m.Set(nil)
		if len(m.List()) != 0 {
			t.Errorf("after the removal of all: %q", states(m))
		}
		if err := call(t, m, "a", nil); err != nil {
			t.Errorf("a connector that is not there: %v", err)
		}
	})
}
