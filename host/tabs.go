package host

import (
	"context"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

// A tabKey says whose tab it is: two clients never share one.
type tabKey struct{ principal, connector string }

// tabs keeps one reading tab per client and connector, so that a call needs no
// new tab. A destructive call has a tab of its own, closed when it ends.
type tabs struct {
	browsers *supervisor
	blank    bool // no page stays after its call

	mu   sync.Mutex
	open map[tabKey]*tab
}

// A tab is held by one call at a time.
type tab struct {
	turn   chan struct{} // holds one token; who has it may use page and policy
	page   *browser.Page
	policy string // what its guard was made from
	guard  *guard.Guard
}

// A lease is a tab in use by one call.
type lease struct {
	page    *browser.Page
	guard   *guard.Guard
	release func()
	// Spoil makes the next call begin with a blank page: this one does not let go.
	spoil func()
}

// reading leases the client's reading tab under a policy, which the guard that
// newGuard makes enforces. The page stays as the last call left it if that call
// had the same policy, since the guard lasts as long as the page; otherwise it is
// blanked first.
func (t *tabs) reading(ctx context.Context, key tabKey, policy string, newGuard func() (*guard.Guard, error)) (*lease, error) {
	e := t.entry(key)
	select {
	case <-e.turn:
	case <-ctx.Done():
		return nil, abi.Errorf(abi.ErrTimeout, "open page", "another call of this client still uses the tab: %w", ctx.Err())
	}
	release := func() { e.turn <- struct{}{} }
	if err := t.prepare(ctx, e, policy, newGuard); err != nil {
		release()
		return nil, err
	}
	l := &lease{page: e.page, guard: e.guard, release: release, spoil: func() { e.policy = "" }}
	if t.blank {
		l.release = func() { go e.clear() } //nolint:contextcheck // a tab is blanked also when its call's time is over
	}
	return l, nil
}

// clear blanks the tab and then gives up its turn. In the user's browser a page
// that outlived us would be without a guard.
func (e *tab) clear() {
	defer func() { e.turn <- struct{}{} }()
	e.policy = ""
	ctx, cancel := context.WithTimeout(context.Background(), resetPatience)
	defer cancel()
	if e.page.Reset(ctx, browser.Policy{}) != nil {
		_ = e.page.Close()
	}
}

func (t *tabs) entry(key tabKey) *tab {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.open[key]
	if !ok {
		e = &tab{turn: make(chan struct{}, 1)}
		e.turn <- struct{}{}
		t.open[key] = e
	}
	return e
}

// prepare makes e's page usable under policy; the caller holds e's turn.
func (t *tabs) prepare(ctx context.Context, e *tab, policy string, newGuard func() (*guard.Guard, error)) error {
	usable := e.page != nil && e.page.Err() == nil
	if usable && e.policy == policy {
		return nil
	}
	g, err := newGuard()
	if err != nil {
		return err
	}
	if usable {
		if err := reset(ctx, e.page, g); err == nil {
			e.policy, e.guard = policy, g
			return nil
		}
	}
	if e.page != nil {
		_ = e.page.Close() // it is unusable; whether closing it works changes nothing
		e.page = nil
	}
	b, err := t.browsers.get(ctx)
	if err != nil {
		return err
	}
	page, err := b.Open(ctx, browser.Policy{Check: checker(g)})
	if err != nil {
		return err
	}
	e.page, e.policy, e.guard = page, policy, g
	return nil
}

// resetPatience is how long a page may take to be blanked before its tab is
// given up: a page that does not let go must not cost the next call its time.
const resetPatience = 4 * time.Second

func reset(ctx context.Context, p *browser.Page, g *guard.Guard) error {
	ctx, cancel := context.WithTimeout(ctx, resetPatience)
	defer cancel()
	return p.Reset(ctx, browser.Policy{Check: checker(g)})
}

// own opens a tab for one call alone.
func (t *tabs) own(ctx context.Context, g *guard.Guard) (*lease, error) {
	b, err := t.browsers.get(ctx)
	if err != nil {
		return nil, err
	}
	page, err := b.Open(ctx, browser.Policy{Check: checker(g)})
	if err != nil {
		return nil, err
	}
	return &lease{page: page, guard: g, release: func() { _ = page.Close() }, spoil: func() {}}, nil
}

// plain opens a tab that can do no more than show who is signed in.
func (t *tabs) plain(ctx context.Context, conn *connector) (*lease, error) {
	g, err := guard.New(conn.spec(nil))
	if err != nil {
		return nil, err
	}
	return t.own(ctx, g)
}

// rearm puts a call's own tab under another guard, by a reload: what the page
// under the old one still does is refused.
func (t *tabs) rearm(ctx context.Context, l *lease, g *guard.Guard) error {
	l.guard = g
	return l.page.Reset(ctx, browser.Policy{Check: checker(g)})
}

// forget closes the tabs of a connector, such as before it is removed.
func (t *tabs) forget(connector string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.open {
		if k.connector != connector {
			continue
		}
		delete(t.open, k)
		go func() {
			<-e.turn
			if e.page != nil {
				_ = e.page.Close()
			}
		}()
	}
}

// checker puts a page's requests to its guard.
func checker(g *guard.Guard) func(browser.Request) error {
	return func(r browser.Request) error {
		return g.Decide(guard.Observed{
			Method: r.Method, URL: r.URL, ContentType: r.ContentType, Body: r.Body,
			BodyComplete: r.BodyComplete, Kind: kindOf(r.Kind), Header: r.Header, Tokens: r.Tokens, Redirect: r.Redirect, Page: r.Page,
		})
	}
}

// kindOf translates what a request is for. What the guard has no word for is
// none of a page's resources.
func kindOf(k browser.Kind) guard.Kind {
	if k == browser.KindStyle {
		return guard.KindStylesheet
	}
	return guard.Kind(k)
}
