// Package browsertest is the suite that every way of getting a browser has to
// pass: launching one and attaching to one today, relays later. It runs a real
// browser against servers of its own and needs no network but loopback.
package browsertest

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// A Subject is a browser under test.
type Subject struct {
	Browser *browser.Browser
	// Attached says that the browser is the user's: tabs of the host are in no
	// window there, so that they have neither icons nor popups.
	Attached bool
	// Whole is false for a subject that shares its engine with one that runs
	// whole: what can't differ between them is then left out.
	Whole bool
	// Long makes what is repeated be repeated often.
	Long bool
	// Foreign opens a tab that the host has not opened and that is under no
	// policy. The suite uses it to show that what the guard stops does happen
	// without it.
	Foreign func(t *testing.T) Foreign
	// Crash ends the renderer of a tab.
	Crash func(p *browser.Page)
	// Tabs counts the browser's tabs, whoever opened them.
	Tabs func(t *testing.T) int
	// Fresh begins a life of the test's own, in the same way; ctx is over soon after.
	Fresh func(ctx context.Context, t *testing.T) Life
	// Downloads is where the browser would store them; empty if it stores none.
	Downloads string
}

// A Life is a browser that a test may end.
type Life struct {
	Browser *browser.Browser
	Kill    func()                                                   // ends the browser's process, without notice
	Again   func(ctx context.Context, t *testing.T) *browser.Browser // gets the next one, on the same profile
}

// A Foreign is a tab of somebody else's.
type Foreign interface {
	Go(ctx context.Context, to string) error
	Click(ctx context.Context, selector string) error
	Close(ctx context.Context) error
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	if s.Whole {
		t.Run("Navigate", func(t *testing.T) { testNavigate(t, s) })
		t.Run("Extract", func(t *testing.T) { testExtract(t, s) })
		t.Run("Read", func(t *testing.T) { testRead(t, s) })
		t.Run("Act", func(t *testing.T) { testAct(t, s) })
		t.Run("Fetch", func(t *testing.T) { testFetch(t, s) })
	}
	t.Run("Guard", func(t *testing.T) { testGuard(t, s) })
	t.Run("Robust", func(t *testing.T) { testRobust(t, s) })
}

// limit is the deadline of one test's calls: far more than they take.
const limit = 30 * time.Second

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// open opens a tab that is closed at the end of the test.
func open(t *testing.T, s Subject, check func(browser.Request) error) *browser.Page {
	t.Helper()
	p, err := s.Browser.Open(deadline(t), browser.Policy{Check: check})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

func allow(browser.Request) error { return nil }

// refuseHits refuses URLs whose path starts with /hit/.
func refuseHits(r browser.Request) error {
	u, err := url.Parse(r.URL)
	if err != nil || strings.HasPrefix(u.Path, "/hit/") {
		return abi.Errorf(abi.ErrOriginDenied, "policy", "%s %q is on no list", r.Method, r.URL)
	}
	return nil
}

// visit navigates to a page that is signed in when it has a body.
func visit(t *testing.T, p *browser.Page, to string) browser.Visit {
	t.Helper()
	v, err := p.Navigate(deadline(t), browser.Navigation{URL: to})
	if err != nil {
		t.Fatalf("Navigate(%q): %v", to, err)
	}
	return v
}

// wantCode fails the test unless err is an abi error of that code.
func wantCode(t *testing.T, err error, code abi.Code) {
	t.Helper()
	_ = errorOf(t, err, code)
}

// errorOf is the abi error that err has to be, with that code.
func errorOf(t *testing.T, err error, code abi.Code) *abi.Error {
	t.Helper()
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error = %v, want code %s", err, code)
	}
	return e
}

// eventually waits until cond is true.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-timeout.C:
			t.Fatalf("never: %s", what)
		}
	}
}
