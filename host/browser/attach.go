package browser

import (
	"context"
	"log/slog"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// popupLife is how long a popup that sends nothing stays before it is closed.
const popupLife = 2 * time.Second

func autoAttach(filter target.Filter) target.SetAutoAttachParams {
	flat := true
	return target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &flat, Filter: filter}
}

// attached decides what becomes of a target that the browser has just made and
// holds for us. Targets that do not come from a tab of ours run at once.
func (b *Browser) attached(parent target.SessionID, ev target.EventAttachedToTarget) {
	m := b.place(parent, session{conn: b.conn, id: ev.SessionID}, *ev.TargetInfo)
	if m == nil {
		post(session{conn: b.conn, id: ev.SessionID}, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
		return
	}
	b.log.Debug("target under policy", slog.String("type", m.info.Type), slog.String("url", m.info.URL))
	b.arm(m)
	post(m.session, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
	if m.role == rolePopup && m.info.Type == "page" {
		id := m.info.TargetID
		time.AfterFunc(popupLife, func() { b.closePopup(id) })
	}
}

// place says under whose policy a new session is; nil: under nobody's.
func (b *Browser) place(parent target.SessionID, s session, info target.Info) *member {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &member{session: s, info: info}
	from := b.members[parent]
	switch {
	case from != nil && from.role == roleMain:
		m.role, m.owner = roleChild, from.owner
	case from != nil:
		m.role, m.owner = from.role, from.owner
	case parent != "":
		return nil
	case b.joined():
		b.offer(info.TargetID, s.id) // we are told only of what we asked for
		return nil
	case info.Type == "page":
		owner := b.opener(info.OpenerID)
		if owner == nil {
			b.offer(info.TargetID, s.id)
			return nil
		}
		b.popups[info.TargetID] = owner
		m.role, m.owner = rolePopup, owner
	case info.Type == "shared_worker" || info.Type == "service_worker":
		if !b.anyBusy() {
			return nil
		}
		m.role = roleShared
	default:
		return nil // frames and workers come through their tab's session too
	}
	b.members[s.id] = m
	return m
}

// opener returns the tab of ours that a chain of openers leads to.
func (b *Browser) opener(id target.ID) *Page {
	if p := b.pages[id]; p != nil {
		return p
	}
	return b.popups[id]
}

// anyBusy reports whether a tab of ours holds a document.
func (b *Browser) anyBusy() bool {
	for _, p := range b.pages {
		if !p.isBlank() {
			return true
		}
	}
	return false
}

// offer keeps a tab that nobody has a policy for, and tells Open if it waits.
func (b *Browser) offer(id target.ID, s target.SessionID) {
	b.idle[id] = s
	if ch := b.claims[id]; ch != nil {
		close(ch)
		delete(b.claims, id)
	}
}

// claim waits until the browser has attached us to the tab.
func (b *Browser) claim(ctx context.Context, id target.ID) (session, error) {
	b.mu.Lock()
	if _, ok := b.idle[id]; !ok {
		ch := make(chan struct{})
		b.claims[id] = ch
		b.mu.Unlock()
		select {
		case <-ch:
		case <-ctx.Done():
			return session{}, ctx.Err()
		case <-b.Gone():
			return session{}, errGone
		}
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	s := session{conn: b.conn, id: b.idle[id]}
	delete(b.idle, id)
	return s, nil
}

// detached forgets a session. A tab of ours is closed with its own.
func (b *Browser) detached(s target.SessionID) {
	b.mu.Lock()
	m := b.members[s]
	delete(b.members, s)
	for id, idle := range b.idle {
		if idle == s {
			delete(b.idle, id)
		}
	}
	if m != nil && m.info.Type == "page" {
		delete(b.popups, m.info.TargetID)
		delete(b.pages, m.info.TargetID)
	}
	b.mu.Unlock()
	b.conn.failSession(s, errClosed)
	if m != nil && m.role == roleMain {
		m.owner.end(errClosed)
	}
}

func (b *Browser) closePopup(id target.ID) {
	post(b.root(), target.CloseTarget, target.CloseTargetParams{TargetID: id})
}

// socketsOffline cuts WebSockets off: they are not requests that Fetch sees. A
// rule whose pattern matches nothing else leaves all other traffic alone.
func socketsOffline() network.EmulateNetworkConditionsByRuleParams {
	rule := func(pattern string) *network.Conditions {
		return &network.Conditions{URLPattern: pattern, Offline: true, DownloadThroughput: -1, UploadThroughput: -1}
	}
	return network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{rule("ws://*:*/*"), rule("wss://*:*/*")},
	}
}

// everyRequest makes a session hold every request, and documents that arrive as
// well: until one has, nothing else of the tab is let out (late.go), and in a
// browser that is the user's what is a download is for us to tell.
func everyRequest() fetch.EnableParams {
	auth := true
	return fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{
			{URLPattern: "*"},
			{URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse},
		},
		HandleAuthRequests: &auth,
	}
}

func networkEnable() network.EnableParams {
	var none, little int64 = 0, 1
	return network.EnableParams{MaxTotalBufferSize: &little, MaxResourceBufferSize: &little, MaxPostDataSize: &none}
}

// arm puts a frame, worker or popup under policy. Commands of one session take
// effect in their order, so that it may run right after. Some kinds of target
// lack some of the commands: their requests then show at their parent.
func (b *Browser) arm(m *member) {
	post(m.session, fetch.Enable, everyRequest())
	post(m.session, network.Enable, networkEnable())
	post(m.session, network.EmulateNetworkConditionsByRule, socketsOffline())
	post(m.session, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})
	post(m.session, target.SetAutoAttach, autoAttach(b.related()))
	switch m.info.Type {
	case "page", "iframe":
		post(m.session, page.Enable, page.EnableParams{})
		post(m.session, page.AddScriptToEvaluateOnNewDocument, b.pageScript())
	case "shared_worker", "service_worker":
		// Their sockets are not covered by the rule above.
		post(m.session, cdpruntime.Evaluate, without(`["WebTransport", "WebSocket", "WebSocketStream"]`))
	default:
		post(m.session, cdpruntime.Evaluate, without(b.notInWorkers()))
	}
}

// without takes names away from a worker.
func without(names string) cdpruntime.EvaluateParams {
	return cdpruntime.EvaluateParams{Expression: "(" + workerJS + ")(" + names + ")"}
}

func (b *Browser) pageScript() page.AddScriptToEvaluateOnNewDocumentParams {
	now := true
	source := pageJS
	if b.joined() {
		source += guestJS
	}
	return page.AddScriptToEvaluateOnNewDocumentParams{Source: source, RunImmediately: &now}
}
