package browser

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Page is a tab that we opened. Its methods take their deadline from the
// context, may be called from any goroutine, and run one at a time.
type Page struct {
	b        *Browser
	s        session
	target   target.ID
	frame    cdp.FrameID  // the main frame; a tab's has the tab's id
	hidden   bool         // in no window: it draws nothing
	flows    *queue[flow] // requests to decide about, in the order they were made
	busy     chan struct{}
	checking sync.Mutex // one Check at a time

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced whenever something below changes
	policy     Policy
	ended      error // errClosed or errGone, for good
	crashed    bool
	crashes    int
	preloading preloading   // what the browser said of a prefetch
	roused     cdp.LoaderID // the document that takes input
	blank      bool         // holds no document of a server
	fresh      bool         // no document has come under the policy yet
	letOut     letOut       // by the policy

	loader  cdp.LoaderID // of the document in the tab
	url     string       // of that document, as it was loaded
	world   string       // the helper's context in that document; empty while there is none
	wanted  string       // that world's name
	worlds  int          // how many there were
	away    bool         // a navigation is under way that the page or a click began
	tokens  map[string]struct{}
	answer  abi.Dialog // to confirm, prompt and beforeunload
	leave   bool       // the host itself leaves the page
	dialogs []abi.DialogInfo
	refused []Refusal

	mainRefused error     // the last refusal of a document since the call began
	xhrRefused  []Refusal // the same of the page's own requests
}

// Open opens a background tab under a policy. The caller closes it.
func (b *Browser) Open(ctx context.Context, policy Policy) (*Page, error) {
	return b.open(ctx, policy, b.background())
}

// OpenShown opens a tab that a person can use, for signing in. [Page.Show]
// brings it to the front.
func (b *Browser) OpenShown(ctx context.Context, policy Policy) (*Page, error) {
	if b.joined() {
		no := false
		return b.open(ctx, policy, target.CreateTargetParams{URL: "about:blank", Background: &no})
	}
	return b.Open(ctx, policy)
}

// background says how to open a tab that is in nobody's way.
func (b *Browser) background() target.CreateTargetParams {
	yes := true
	t := target.CreateTargetParams{URL: "about:blank", Background: &yes}
	if b.joined() {
		// It is in no window, its popups get none, and it ends with our
		// connection, however that ends.
		t.Hidden = &yes
	} else {
		// Without a screen a tab of its own window is in nobody's way, and draws
		// at full rate: in the background a click behind a caret takes a second.
		t.NewWindow = &b.headless
	}
	return t
}

func (b *Browser) open(ctx context.Context, policy Policy, how target.CreateTargetParams) (*Page, error) {
	t, err := do(ctx, b.root(), target.CreateTarget, how)
	if err != nil {
		return nil, asError("open", err)
	}
	if b.joined() { // to this tab and to no other
		flat := true
		post(b.root(), target.AttachToTarget, target.AttachToTargetParams{TargetID: t.TargetID, Flatten: &flat})
	}
	s, err := b.claim(ctx, t.TargetID)
	if err != nil {
		b.closePopup(t.TargetID)
		return nil, asError("open", err)
	}
	p := &Page{
		b: b, s: s, target: t.TargetID, frame: cdp.FrameID(t.TargetID), hidden: how.Hidden != nil,
		flows: newQueue[flow](), busy: make(chan struct{}, 1), changed: make(chan struct{}), blank: true, fresh: true,
	}
	b.mu.Lock()
	b.pages[p.target] = p
	b.members[s.id] = &member{session: s, role: roleMain, owner: p, info: target.Info{TargetID: t.TargetID, Type: "page"}}
	b.mu.Unlock()
	go p.guard()
	if err := p.arm(ctx); err != nil {
		b.closePopup(t.TargetID)
		p.end(errClosed)
		return nil, asError("open", err)
	}
	p.mu.Lock()
	p.policy = policy
	p.mu.Unlock()
	return p, nil
}

// A batch is a number of commands that are under way at once.
type batch []func(context.Context) error

func add[P, R any](b *batch, s session, cmd cdp.Command[P, R], params P) {
	f := start(s, cmd, params)
	*b = append(*b, func(ctx context.Context) error {
		_, err := f.wait(ctx)
		return err
	})
}

func (b batch) wait(ctx context.Context) error {
	for _, f := range b {
		if err := f(ctx); err != nil {
			return err
		}
	}
	return nil
}

// arm puts the tab under policy and installs the helper, before it has loaded
// anything. Every command must succeed.
func (p *Page) arm(ctx context.Context) error {
	var b batch
	add(&b, p.s, fetch.Enable, everyRequest())
	add(&b, p.s, network.Enable, networkEnable())
	add(&b, p.s, network.EmulateNetworkConditionsByRule, socketsOffline())
	add(&b, p.s, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})
	add(&b, p.s, target.SetAutoAttach, autoAttach(p.b.related()))
	add(&b, p.s, page.Enable, page.EnableParams{})
	add(&b, p.s, inspector.Enable, cdp.Empty{})
	add(&b, p.s, cdpruntime.Enable, cdp.Empty{})
	add(&b, p.s, page.AddScriptToEvaluateOnNewDocument, p.b.pageScript())
	add(&b, p.s, page.CreateIsolatedWorld, p.makeWorld())
	if p.b.joined() {
		p.armGuest(&b)
	}
	// A tab in the background draws no frames and takes no focus otherwise.
	add(&b, p.s, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return b.wait(ctx)
}

// Reset blanks the tab under a policy that refuses everything, and only then
// puts it under the new one: what the old document still sends is refused.
func (p *Page) Reset(ctx context.Context, policy Policy) error {
	return p.run(ctx, "reset", func(ctx context.Context) error {
		if err := p.clear(ctx); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.policy = policy
		p.tokens, p.dialogs, p.refused = nil, nil, nil
		return nil
	})
}

// clear brings about:blank into the tab while nothing is allowed.
func (p *Page) clear(ctx context.Context) error {
	p.mu.Lock()
	p.policy = Policy{}
	p.fresh, p.letOut = true, letOut{}
	p.leave = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.leave = false
		p.mu.Unlock()
	}()
	if err := p.revive(ctx); err != nil {
		return err
	}
	post(p.s, page.StopLoading, cdp.Empty{})
	if err := p.toBlank(ctx); err != nil {
		return err
	}
	// A fence: what the old document sent on its way out has been decided.
	if err := p.invoke(ctx, "ping", nil, nil); err != nil {
		return err
	}
	p.mu.Lock()
	p.blank = true
	p.mu.Unlock()
	return nil
}

// toBlank navigates to about:blank.
//
// BUG(chromium): a navigation after one that beforeunload has cancelled is
// aborted at once, without a question; the next one is not.
func (p *Page) toBlank(ctx context.Context) error {
	p.mu.Lock()
	crashes := p.crashes
	p.mu.Unlock()
	var problem string
	for range 3 {
		res, err := do(ctx, p.s, page.Navigate, page.NavigateParams{URL: "about:blank"})
		if err != nil {
			return err
		}
		if res.ErrorText == "" {
			return p.arrive(ctx, res.LoaderID, crashes)
		}
		problem = res.ErrorText
	}
	return errors.New("blanking the tab: " + problem)
}

// closing bounds how long a page may take to be blanked before its tab is closed.
const closing = 8 * time.Second

// Close blanks the tab and closes it. The guard stands until it is gone.
//
//nolint:contextcheck // a tab is closed also when its call's time is over
func (p *Page) Close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.b.ctx), 2*closing)
	defer cancel()
	return asError("close", p.close(ctx))
}

func (p *Page) close(ctx context.Context) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.exit()
	if err := p.gone(); err != nil {
		return ignoreEnded(err)
	}
	short, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	// A page that can't be blanked any more is closed all the same.
	_ = p.clear(short)
	if err := p.b.keep(short); err != nil && !errors.Is(err, errGone) {
		p.b.log.WarnContext(ctx, "the session may be lost when the last tab closes", slog.Any("error", err))
	}
	if _, err := do(ctx, p.b.root(), target.CloseTarget, target.CloseTargetParams{TargetID: p.target}); err != nil {
		return ignoreEnded(err)
	}
	return ignoreEnded(p.await(ctx, func() bool { return false }))
}

// ignoreEnded drops an error that says what Close wants.
func ignoreEnded(err error) error {
	if errors.Is(err, errClosed) || errors.Is(err, errGone) {
		return nil
	}
	return err
}

// Refused returns what the guard has refused since it was last asked.
func (p *Page) Refused() []Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.refused
	p.refused = nil
	return r
}

// run makes f the tab's one call and gives its error a code.
func (p *Page) run(ctx context.Context, op string, f func(context.Context) error) error {
	if err := p.enter(ctx); err != nil {
		return asError(op, err)
	}
	defer p.exit()
	if err := p.gone(); err != nil {
		return asError(op, err)
	}
	p.mu.Lock()
	p.mainRefused, p.xhrRefused, p.away = nil, nil, false
	p.mu.Unlock()
	return asError(op, f(ctx))
}

func (p *Page) enter(ctx context.Context) error {
	select {
	case p.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Page) exit() { <-p.busy }

// gone returns why the tab is of no use any more. A crash is not for good.
func (p *Page) gone() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *Page) isBlank() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blank
}

// signal wakes await. The caller holds mu.
func (p *Page) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until cond, which runs with mu held, is true, the tab has ended
// or its renderer has crashed.
func (p *Page) await(ctx context.Context, cond func() bool) error {
	crashed := false
	err := p.watch(ctx, func() bool {
		crashed = !cond() && p.crashed
		return crashed || cond()
	})
	if err == nil && crashed {
		return errCrashed
	}
	return err
}

// watch is await for what a crash does not end.
func (p *Page) watch(ctx context.Context, cond func() bool) error {
	for {
		p.mu.Lock()
		done, err, ch := cond(), p.ended, p.changed
		p.mu.Unlock()
		switch {
		case done:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// arrive waits until the document of a navigation is in the tab, which ends an
// earlier crash.
func (p *Page) arrive(ctx context.Context, loader cdp.LoaderID, crashes int) error {
	here := false
	err := p.watch(ctx, func() bool {
		here = p.loader == loader
		return here || p.crashes > crashes
	})
	if err == nil && !here {
		return errCrashed
	}
	return err
}

// end makes every call on the tab fail from now on.
func (p *Page) end(err error) {
	p.flows.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = err
		p.signal()
	}
}

// crash ends the commands under way; the next navigation revives the tab.
func (p *Page) crash() {
	p.mu.Lock()
	p.crashed, p.world = true, ""
	p.crashes++
	p.signal()
	p.mu.Unlock()
	p.b.conn.failSession(p.s.id, errCrashed)
}
