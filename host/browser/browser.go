package browser

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/preload"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// A Browser is one running browser. Its methods may be called from any
// goroutine.
type Browser struct {
	conn   *conn
	proc   *process // nil if the browser is the user's
	log    *slog.Logger
	ctx    context.Context //nolint:containedctx // the browser's life, not a call's
	cancel context.CancelFunc
	flows  *queue[flow] // requests of shared workers, decided one by one

	headless bool
	keeper   keeper

	mu      sync.Mutex
	pages   map[target.ID]*Page              // tabs that we opened
	members map[target.SessionID]*member     // every session that is under a policy
	idle    map[target.ID]target.SessionID   // tabs without a policy: other people's, and ours until Open claims them
	claims  map[target.ID]chan struct{}      // closed when the target is idle
	popups  map[target.ID]*Page              // popups, by the tab that they lead to
	nursery map[target.SessionID]target.Info // sessions without a policy
}

// A member is a session under a policy.
type member struct {
	session
	role  role
	owner *Page // nil for a shared worker
	info  target.Info
}

// A role says under whose policy a session's requests are, and how.
type role int

const (
	roleMain   role = iota // the tab itself
	roleChild              // a frame or worker of the tab
	rolePopup              // opened by the tab: nothing passes, and it is closed
	roleShared             // a shared or service worker: what every open tab allows passes
)

func newBrowser(tr chromedp.Transport, proc *process, o Options) *Browser {
	b := &Browser{
		conn: newConn(tr), proc: proc, log: o.Logger, headless: o.Headless, keeper: newKeeper(), flows: newQueue[flow](),
		pages: map[target.ID]*Page{}, members: map[target.SessionID]*member{},
		idle: map[target.ID]target.SessionID{}, claims: map[target.ID]chan struct{}{},
		popups: map[target.ID]*Page{}, nursery: map[target.SessionID]target.Info{},
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	go b.decideShared()
	return b
}

// Gone is closed when the browser has ended or the connection was lost. Every
// call then fails with browser_gone.
func (b *Browser) Gone() <-chan struct{} { return b.conn.done }

// joined reports whether the browser is the user's: [Attach] joined it.
func (b *Browser) joined() bool { return b.proc == nil }

func (b *Browser) root() session { return session{conn: b.conn} }

func (b *Browser) openPages() []*Page {
	b.mu.Lock()
	defer b.mu.Unlock()
	pages := make([]*Page, 0, len(b.pages))
	for _, p := range b.pages {
		pages = append(pages, p)
	}
	return pages
}

// handled reports whether loop wants an event. All others are dropped where
// they are read.
func handled(m cdproto.MethodType) bool {
	return slices.Contains([]cdproto.MethodType{
		"Fetch.requestPaused", "Fetch.authRequired",
		"Target.attachedToTarget", "Target.detachedFromTarget",
		"Inspector.targetCrashed",
		"Runtime.executionContextCreated", "Runtime.executionContextsCleared",
		"Page.frameNavigated", "Page.frameRequestedNavigation", "Page.frameStartedNavigating", "Page.frameStoppedLoading",
		"Page.javascriptDialogOpening", "Preload.prefetchStatusUpdated",
	}, m)
}

// loop is the event goroutine: it owns the order of events and never waits for
// the browser.
func (b *Browser) loop() {
	for {
		msg, ok := b.conn.events.pop()
		if !ok {
			b.lost()
			return
		}
		if err := b.handle(msg); err != nil {
			b.log.Warn("event not understood", slog.String("method", string(msg.Method)), slog.Any("error", err))
		}
	}
}

// lost tells every tab that the browser is gone.
func (b *Browser) lost() {
	b.flows.close()
	for _, p := range b.openPages() {
		p.end(errGone)
	}
}

func (b *Browser) handle(msg *cdproto.Message) error {
	switch msg.Method {
	case "Target.attachedToTarget":
		return on(msg, target.AttachedToTarget, func(ev target.EventAttachedToTarget) { b.attached(msg.SessionID, ev) })
	case "Target.detachedFromTarget":
		return on(msg, target.DetachedFromTarget, func(ev target.EventDetachedFromTarget) { b.detached(ev.SessionID) })
	case "Fetch.requestPaused":
		return on(msg, fetch.RequestPaused, func(ev fetch.EventRequestPaused) { b.paused(msg.SessionID, &ev) })
	case "Fetch.authRequired":
		return on(msg, fetch.AuthRequired, func(ev fetch.EventAuthRequired) { b.refuseAuth(msg.SessionID, ev.RequestID) })
	}
	m := b.member(msg.SessionID)
	if m == nil || m.owner == nil {
		return nil
	}
	if msg.Method == "Page.javascriptDialogOpening" {
		return on(msg, page.JavascriptDialogOpening, func(ev page.EventJavascriptDialogOpening) { m.owner.answerDialog(m, &ev) })
	}
	if m.role != roleMain {
		return nil
	}
	return m.owner.handle(msg)
}

// handle takes the events that tell where a tab is.
func (p *Page) handle(msg *cdproto.Message) error {
	switch msg.Method {
	case "Inspector.targetCrashed":
		return on(msg, inspector.TargetCrashed, func(inspector.EventTargetCrashed) { p.crash() })
	case "Runtime.executionContextsCleared":
		p.setWorld("")
	case "Runtime.executionContextCreated":
		return on(msg, cdpruntime.ExecutionContextCreated, p.contextCreated)
	case "Page.frameNavigated":
		return on(msg, page.FrameNavigated, p.frameNavigated)
	case "Page.frameRequestedNavigation":
		return on(msg, page.FrameRequestedNavigation, p.frameRequestedNavigation)
	case "Page.frameStartedNavigating":
		return on(msg, page.FrameStartedNavigating, p.frameStartedNavigating)
	case "Preload.prefetchStatusUpdated":
		return on(msg, preload.PrefetchStatusUpdated, p.prefetched)
	case "Page.frameStoppedLoading":
		return on(msg, page.FrameStoppedLoading, func(ev page.EventFrameStoppedLoading) { p.stopped(ev.FrameID) })
	}
	return nil
}

// on decodes an event and hands it to f.
func on[E any](msg *cdproto.Message, e cdp.Event[E], f func(E)) error {
	ev, err := decodeEvent(msg, e)
	if err == nil {
		f(ev)
	}
	return err
}

func (b *Browser) member(s target.SessionID) *member {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members[s]
}
