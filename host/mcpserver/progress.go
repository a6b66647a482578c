package mcpserver

import (
	"encoding/json"
	"math"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	maxProgress     = 256 // frames of one call that wait for a slow client
	maxProgressText = 500 // characters of one report's message
)

// An outbox carries frames of one call to the stream of its request, in order, all
// of them before the reply. push never blocks; a goroutine writes, from the first
// frame on.
type outbox struct {
	out stream

	mu     sync.Mutex
	queue  chan frame // nil before the first frame
	closed bool
	sent   chan struct{} // closed when the goroutine has ended
}

// push reports whether the frame will be written, if the client is still there.
func (o *outbox) push(f frame) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.queue == nil {
		o.queue = make(chan frame, maxProgress)
		o.sent = make(chan struct{})
		go o.write()
	}
	select {
	case o.queue <- f:
		return true
	default:
		return false
	}
}

func (o *outbox) write() {
	defer close(o.sent)
	gone := false
	for f := range o.queue {
		if !gone {
			gone = o.out.send(f) != nil
		}
	}
}

// close returns when every frame was written.
func (o *outbox) close() {
	o.mu.Lock()
	started := o.queue != nil
	if started && !o.closed {
		close(o.queue)
	}
	o.closed = true
	o.mu.Unlock()
	if started {
		<-o.sent
	}
}

// A progress makes frames of one call's reports.
type progress struct {
	token json.RawMessage
	out   *outbox

	mu   sync.Mutex
	last float64
}

func newProgress(r *request, out *outbox) *progress {
	return &progress{token: r.token, out: out, last: math.Inf(-1)}
}

// report tells the client how far the call is. Without a progress token, and when
// done does not grow, it does nothing: the protocol wants it to increase. Where the
// client is slower than the reports by more than maxProgress, those in between are
// left out.
func (p *progress) report(done, total float64, msg string) {
	if p.token == nil || math.IsNaN(done) || math.IsInf(done, 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if done > p.last && p.out.push(p.frame(done, total, msg)) {
		p.last = done
	}
}

func (p *progress) frame(done, total float64, msg string) frame {
	params := map[string]any{"progressToken": p.token, "progress": done}
	if total > 0 && !math.IsInf(total, 0) {
		params["total"] = total
	}
	if msg != "" {
		params["message"] = cut(msg, maxProgressText)
	}
	return notificationFrame(string(mcp.MethodNotificationProgress), params)
}
