package browser

import (
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// What a document sends as it is left, or has sent just before, can show at the
// guard after the tab was put under another policy, which was not made for it. So
// until a document has come under that policy nothing but a document is let out;
// and a hop of a redirect only if the request before it was let out under the same.

// maxLetOut is how many requests are remembered for their redirects. A hop that
// comes later than that many others is refused.
const maxLetOut = 1024

// letOut are the requests that one policy has let out, the newest ones.
type letOut struct {
	ids  map[requestID]struct{}
	ring []requestID
	next int
}

// A requestID is unique in its browser.
type requestID struct {
	session target.SessionID
	id      fetch.RequestID
}

func (l *letOut) add(id requestID) {
	if l.ids == nil {
		l.ids = map[requestID]struct{}{}
	}
	if len(l.ring) < maxLetOut {
		l.ring = append(l.ring, id)
	} else {
		delete(l.ids, l.ring[l.next])
		l.ring[l.next] = id
		l.next = (l.next + 1) % maxLetOut
	}
	l.ids[id] = struct{}{}
}

// late says why a request can't be one of the policy in force. The caller holds mu.
func (p *Page) late(f flow, req Request) error {
	_, known := p.letOut.ids[requestID{f.m.session.id, f.ev.RedirectedRequestID}]
	if req.Kind == KindDocument || (!req.Redirect || known) && !p.fresh {
		return nil
	}
	return abi.Errorf(abi.ErrOriginDenied, "guard", "a document that the tab no longer holds asks for it: %s %q", req.Method, req.URL)
}

// documentArrives notes that the tab's own document has come, before it can ask for
// anything. A redirect and an answer without content bring none.
func (p *Page) documentArrives(status int64) {
	if status/100 == 3 || status == 204 || status == 205 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = p.policy.Check == nil
}
