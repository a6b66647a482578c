package mcpserver

import (
	"encoding/json"
	"math"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	maxProgress     = 256 // reports of one call that wait for a slow client
	maxProgressText = 500 // characters of one report's message
)

// A progress carries one call's reports to the stream of the request that made the
// call, in order, all of them before the reply. report never blocks; a goroutine
// writes, from the first report on.
type progress struct {
	token json.RawMessage
	out   stream

	mu     sync.Mutex
	last   float64
	queue  chan frame // nil before the first report
	closed bool
	sent   chan struct{} // closed when the goroutine has ended
}

func newProgress(r *request) *progress {
	return &progress{token: r.token, out: r.out, last: math.Inf(-1)}
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
	if p.closed || done <= p.last {
		return
	}
	if p.queue == nil {
		p.queue = make(chan frame, maxProgress)
		p.sent = make(chan struct{})
		go p.write()
	}
	select {
	case p.queue <- p.frame(done, total, msg):
		p.last = done
	default:
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

func (p *progress) write() {
	defer close(p.sent)
	gone := false
	for f := range p.queue {
		if !gone {
			gone = p.out.send(f) != nil
		}
	}
}

// close returns when every report was written.
func (p *progress) close() {
	p.mu.Lock()
	started := p.queue != nil
	if started && !p.closed {
		close(p.queue)
	}
	p.closed = true
	p.mu.Unlock()
	if started {
		<-p.sent
	}
}
