package browser

import (
	"testing"

	"github.com/chromedp/cdproto/fetch"
)

func TestLate(t *testing.T) {
	p := &Page{policy: Policy{Check: func(Request) error { return nil }}, fresh: true}
	f := flow{m: &member{owner: p}, ev: &fetch.EventRequestPaused{RedirectedRequestID: "before"}}
	refused := func(req Request) bool { return p.late(f, req) != nil }
	if refused(Request{Kind: KindDocument}) || !refused(Request{Kind: KindPing}) || !refused(Request{Kind: KindSubframe}) {
		t.Error("before a document has come only a document may be asked for")
	}
	for _, status := range []int64{204, 205, 302, 307} {
		if p.documentArrives(status); !refused(Request{Kind: KindXHR}) {
			t.Errorf("an answer with %d brought a document", status)
		}
	}
	if p.documentArrives(404); refused(Request{Kind: KindXHR}) {
		t.Error("a document has come, and may ask for nothing")
	}
	if !refused(Request{Kind: KindXHR, Redirect: true}) {
		t.Error("a hop whose first request nobody let out")
	}
	p.letOut.add(requestID{id: "before"})
	if refused(Request{Kind: KindXHR, Redirect: true}) {
		t.Error("a hop of a request that was let out is refused")
	}
	for i := range maxLetOut {
		p.letOut.add(requestID{id: fetch.RequestID(rune('a' + i))})
	}
	if len(p.letOut.ids) != maxLetOut || !refused(Request{Kind: KindXHR, Redirect: true}) {
		t.Errorf("%d requests are remembered", len(p.letOut.ids))
	}
	p.policy = Policy{}
	p.fresh = true
	if p.documentArrives(200); !refused(Request{Kind: KindXHR}) {
		t.Error("the old document, under no policy, counts for the next one")
	}
}
