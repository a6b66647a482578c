package browser

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Policy decides about every request of a tab and of whatever the tab starts,
// before it is sent; each hop of a redirect is a request of its own.
type Policy struct {
	// Check returns nil for a request that may be sent, else why not: best an
	// [abi.Error], which then comes back from the call that caused the request.
	// It is called by one goroutine at a time. A nil Check refuses everything.
	Check func(Request) error
}

// A Request is about to be sent.
type Request struct {
	Method      string
	URL         string // as Chromium parsed it, with its fragment
	ContentType string
	Body        []byte
	// BodyComplete is false if the body holds more than Body tells, such as a
	// file's content. It is true for a request without a body.
	BodyComplete bool
	Kind         Kind
	Redirect     bool   // a hop of a redirect
	Page         string // URL of the document that the tab holds meanwhile
	// Header holds the headers that the page or its scripts set.
	Header map[string]string
	// Tokens reports whether the tab's page itself holds value, in a hidden
	// field or a meta element. It is valid during Check only.
	Tokens func(value string) bool
}

// A Kind says what a request is for.
type Kind string

// The kinds of request.
const (
	KindDocument  Kind = "document" // the tab itself
	KindSubframe  Kind = "subframe"
	KindXHR       Kind = "xhr" // XMLHttpRequest, fetch and EventSource
	KindImage     Kind = "image"
	KindScript    Kind = "script"
	KindStyle     Kind = "style"
	KindFont      Kind = "font"
	KindMedia     Kind = "media"
	KindWebSocket Kind = "websocket"
	KindPing      Kind = "ping"   // beacons, <a ping>, reports
	KindWorker    Kind = "worker" // a service worker's script
	KindPopup     Kind = "popup"  // whatever a popup asks for
	KindOther     Kind = "other"  // icons, manifests, prefetches, scripts of other workers
)

// A Refusal is a request that the guard refused.
type Refusal struct {
	Method string
	URL    string
	Kind   Kind
	Err    error

	redirect bool // a hop of a redirect
}

// maxRefusals bounds what is kept between two calls of [Page.Refused].
const maxRefusals = 256

// tokenTimeout bounds the question to the page whether it holds a token: a page
// that waits for the very request in question can't answer.
const tokenTimeout = time.Second

// A flow is a paused request and the session that it showed at.
type flow struct {
	m  *member
	ev *fetch.EventRequestPaused
}

// paused routes a request to whoever decides about it.
func (b *Browser) paused(s target.SessionID, ev *fetch.EventRequestPaused) {
	m := b.member(s)
	if m == nil {
		// Its tab is gone, and with it what could have allowed it.
		flow{m: &member{session: session{conn: b.conn, id: s}}, ev: ev}.refuse()
		return
	}
	f := flow{m: m, ev: ev}
	if ev.ResponseStatusCode != 0 || ev.ResponseErrorReason != "" {
		f.arrived() // only what was allowed has an answer
		return
	}
	switch m.role {
	case rolePopup:
		f.refuse()
		m.owner.note(f, f.request(), abi.Errorf(abi.ErrOriginDenied, "popup", "the page opened a popup for %q", ev.Request.URL))
		b.closePopup(m.info.TargetID)
	case roleShared:
		b.flows.push(f)
	case roleMain, roleChild:
		m.owner.flows.push(f)
	}
}

// refuseAuth answers a server that asks for a password: there is none, so that
// the request ends with its 401 and doesn't wait for somebody to type one.
func (b *Browser) refuseAuth(s target.SessionID, id fetch.RequestID) {
	post(session{conn: b.conn, id: s}, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{
		RequestID:             id,
		AuthChallengeResponse: &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth},
	})
}

// decideShared decides about requests of workers that tabs share: they pass if
// every tab of ours that holds a document allows them.
func (b *Browser) decideShared() {
	for {
		f, ok := b.flows.pop()
		if !ok {
			return
		}
		req := f.request()
		err := error(abi.Errorf(abi.ErrOriginDenied, "guard", "a worker outlived its tab"))
		for _, p := range b.openPages() {
			if p.isBlank() {
				continue
			}
			if err = p.check(f, req); err != nil {
				p.note(f, req, err)
				break
			}
		}
		f.answer(err)
	}
}

// guard decides about the tab's requests, one by one, until the tab is gone.
func (p *Page) guard() {
	for {
		f, ok := p.flows.pop()
		if !ok {
			return
		}
		req := f.request()
		err := p.check(f, req)
		if err != nil {
			p.note(f, req, err)
		}
		f.answer(err)
	}
}

// check asks the policy. What is no HTTP has no server: a document's own data
// passes, and everything else is refused.
func (p *Page) check(f flow, req Request) error {
	scheme, _, _ := strings.Cut(req.URL, ":")
	switch scheme {
	case "blob", "data", "about":
		return nil
	case "http", "https":
	default:
		return abi.Errorf(abi.ErrOriginDenied, "guard", "scheme %q is neither http nor https", scheme)
	}
	if req.Kind == KindWorker {
		return abi.Errorf(abi.ErrOriginDenied, "guard", "the service worker %q is not installed", req.URL)
	}
	p.checking.Lock()
	defer p.checking.Unlock()
	p.mu.Lock()
	policy, late := p.policy, p.late(f, req)
	p.mu.Unlock()
	switch {
	case policy.Check == nil:
		return abi.Errorf(abi.ErrOriginDenied, "guard", "the tab is not in use: %s %q", req.Method, req.URL)
	case late != nil:
		return late
	}
	req.Tokens = func(v string) bool { return p.holds(f, v) }
	err := policy.Check(req)
	if err == nil {
		p.mu.Lock()
		p.letOut.add(requestID{f.m.session.id, f.ev.RequestID})
		p.mu.Unlock()
	}
	return err
}

// note keeps a refusal for the report, and for the call that caused it.
func (p *Page) note(f flow, req Request, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Refusal{Method: req.Method, URL: req.URL, Kind: req.Kind, Err: err, redirect: req.Redirect}
	if len(p.refused) < maxRefusals {
		p.refused = append(p.refused, r)
	}
	switch {
	case req.Kind == KindDocument:
		p.mainRefused = err
	case req.Kind == KindXHR && f.m.role == roleMain && len(p.xhrRefused) < maxRefusals:
		p.xhrRefused = append(p.xhrRefused, r)
	}
	p.signal()
}

// holds answers [Request.Tokens]: from what the page held when the call began,
// because a page that is being left answers nothing, else from the page.
//
//nolint:contextcheck // a request that the page made is nobody's call
func (p *Page) holds(f flow, value string) bool {
	p.mu.Lock()
	_, known := p.tokens[value]
	p.mu.Unlock()
	if known || value == "" || f.kind() == KindDocument {
		return known
	}
	ctx, cancel := context.WithTimeout(context.Background(), tokenTimeout)
	defer cancel()
	var now []string
	if err := p.invoke(ctx, "tokens", nil, &now); err != nil {
		return false
	}
	p.learn(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known = p.tokens[value]
	return known
}

// answer lets the request go on, or fails it.
func (f flow) answer(err error) {
	if err != nil {
		f.refuse()
		return
	}
	post(f.m.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: f.ev.RequestID})
}

// refuse fails the request. A document's is aborted, so that the tab stays
// where it is; an error page would take its place otherwise.
func (f flow) refuse() {
	reason := network.ErrorReasonBlockedByClient
	if f.ev.ResourceType == network.ResourceTypeDocument {
		reason = network.ErrorReasonAborted
	}
	post(f.m.session, fetch.FailRequest, fetch.FailRequestParams{RequestID: f.ev.RequestID, ErrorReason: reason})
}

// request describes the paused request.
func (f flow) request() Request {
	r := f.ev.Request
	req := Request{
		Method:       r.Method,
		URL:          r.URL + r.URLFragment,
		ContentType:  header(r.Headers, "Content-Type"),
		BodyComplete: true,
		Kind:         f.kind(),
		Redirect:     f.ev.RedirectedRequestID != "",
		Page:         f.page(),
		Header:       headers(r.Headers),
		Tokens:       func(string) bool { return false },
	}
	if !r.HasPostData {
		return req
	}
	req.BodyComplete = len(r.PostDataEntries) > 0
	for _, part := range r.PostDataEntries {
		req.Body = append(req.Body, part.Bytes...)
		if len(part.Bytes) == 0 {
			req.BodyComplete = false // a file, or data that the browser streams
		}
	}
	return req
}

// page is where the request's tab is.
func (f flow) page() string {
	if f.m.owner == nil {
		return ""
	}
	return f.m.owner.URL()
}

func headers(h network.Headers) map[string]string {
	out := make(map[string]string, len(h))
	for k, v := range h {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

func header(h network.Headers, name string) string {
	for k, v := range h {
		if s, ok := v.(string); ok && strings.EqualFold(k, name) {
			return s
		}
	}
	return ""
}

func (f flow) kind() Kind {
	if f.m.role == rolePopup {
		return KindPopup
	}
	switch f.ev.ResourceType {
	case network.ResourceTypeDocument:
		if f.m.owner != nil && f.ev.FrameID == f.m.owner.frame {
			return KindDocument
		}
		return KindSubframe
	case network.ResourceTypeXHR, network.ResourceTypeFetch, network.ResourceTypeEventSource:
		return KindXHR
	case network.ResourceTypeImage:
		return KindImage
	case network.ResourceTypeScript:
		return KindScript
	case network.ResourceTypeStylesheet:
		return KindStyle
	case network.ResourceTypeFont:
		return KindFont
	case network.ResourceTypeMedia, network.ResourceTypeTextTrack:
		return KindMedia
	case network.ResourceTypeWebSocket:
		return KindWebSocket
	case network.ResourceTypePing, network.ResourceTypeCSPViolationReport:
		return KindPing
	case network.ResourceTypePrefetch, network.ResourceTypeManifest, network.ResourceTypeSignedExchange,
		network.ResourceTypePreflight, network.ResourceTypeFedCM, network.ResourceTypeOther:
	}
	if header(f.ev.Request.Headers, "Service-Worker") == "script" {
		return KindWorker
	}
	return KindOther
}

// refusal makes an error of what the guard said, for the call that caused it.
// The policy's own error stays in the chain.
func refusal(op string, err error) error {
	if _, ok := errors.AsType[*abi.Error](err); ok {
		return err
	}
	return abi.Errorf(abi.ErrOriginDenied, op, "%w", err)
}

// httpURL checks that a URL is one that a tab may be sent to: absolute, http or
// https, and without what URL parsers disagree on.
func httpURL(op, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" ||
		strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return abi.Errorf(abi.ErrOriginDenied, op, "%q is not an http or https URL", raw)
	}
	return nil
}
