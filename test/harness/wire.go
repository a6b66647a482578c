package harness

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"
)

// A Decision is what became of a request that the browser held for the host.
type Decision struct {
	Method  string
	URL     string
	Refused bool
}

// A Wire listens to what host and browser say to each other, so that a test can
// wait until a hidden request was decided about instead of sleeping.
type Wire struct {
	mu      sync.Mutex
	held    map[string]Decision // by session and request
	decided []Decision
	changed chan struct{} // closed and replaced at every decision
}

func newWire() *Wire { return &Wire{held: map[string]Decision{}, changed: make(chan struct{})} }

// Mark is a place in the order of decisions, for [World.AwaitDecision].
func (w *Wire) Mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.decided)
}

// since returns the first decision after mark that match accepts.
func (w *Wire) since(ctx context.Context, mark int, match func(Decision) bool) (Decision, bool) {
	for {
		w.mu.Lock()
		list, changed := w.decided[mark:], w.changed
		w.mu.Unlock()
		for _, d := range list {
			if match(d) {
				return d, true
			}
		}
		mark += len(list)
		select {
		case <-changed:
		case <-ctx.Done():
			return Decision{}, false
		}
	}
}

// AwaitDecision waits for a decision after mark that match accepts.
func (w *World) AwaitDecision(mark int, what string, match func(Decision) bool) Decision {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	d, ok := w.Wire.since(ctx, mark, match)
	if !ok {
		w.T.Fatalf("the browser never held a request for %s", what)
	}
	return d
}

// wrap puts the wire between the host and a browser.
func (w *Wire) wrap(t chromedp.Transport) chromedp.Transport { return &tap{Transport: t, wire: w} }

type tap struct {
	chromedp.Transport
	wire *Wire
}

func (t *tap) Read(ctx context.Context, msg *cdproto.Message) error {
	err := t.Transport.Read(ctx, msg)
	if err == nil && msg.Method == "Fetch.requestPaused" {
		var ev struct {
			RequestID string
			Request   struct{ Method, URL string }
		}
		if json.Unmarshal(msg.Params, &ev) == nil {
			t.wire.mu.Lock()
			t.wire.held[string(msg.SessionID)+" "+ev.RequestID] = Decision{Method: ev.Request.Method, URL: ev.Request.URL}
			t.wire.mu.Unlock()
		}
	}
	return err
}

func (t *tap) Write(ctx context.Context, msg *cdproto.Message) error {
	if msg.Method == "Fetch.failRequest" || msg.Method == "Fetch.continueRequest" {
		var cmd struct{ RequestID string }
		if json.Unmarshal(msg.Params, &cmd) == nil {
			t.wire.decide(string(msg.SessionID)+" "+cmd.RequestID, msg.Method == "Fetch.failRequest")
		}
	}
	return t.Transport.Write(ctx, msg)
}

func (w *Wire) decide(key string, refused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, ok := w.held[key]
	if !ok {
		return
	}
	delete(w.held, key)
	d.Refused = refused
	w.decided = append(w.decided, d)
	close(w.changed)
	w.changed = make(chan struct{})
}
