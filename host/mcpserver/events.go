package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

const (
	keepAlive    = 25 * time.Second // between comments on a silent stream
	writeTimeout = 20 * time.Second // for one frame
)

// events is the stream of one HTTP request: a response that becomes
// text/event-stream with the first frame before the reply. Only frames of this
// request are written to it.
type events struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	accepts bool // the client takes a stream

	mu     sync.Mutex
	stream bool // the header said text/event-stream
	done   bool
}

func newEvents(w http.ResponseWriter, r *http.Request) *events {
	return &events{w: w, rc: http.NewResponseController(w), accepts: acceptsStream(r)}
}

// acceptsStream reports whether the client takes text/event-stream.
func acceptsStream(r *http.Request) bool {
	for _, v := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(v, ",") {
			kind, _, _ := strings.Cut(part, ";")
			if slices.Contains([]string{"text/event-stream", "text/*", "*/*"}, strings.ToLower(strings.TrimSpace(kind))) {
				return true
			}
		}
	}
	return false
}

var errEnded = errors.New("the response has ended")

// send writes a frame that comes before the reply. A client that takes no stream
// does without.
func (e *events) send(f frame) error {
	if !e.accepts {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.event(f)
}

func (e *events) carries() bool { return e.accepts }

// comment writes what keeps a silent stream open.
func (e *events) comment() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.write([]byte(":\n\n"))
}

// event writes one frame as an event. It needs e.mu.
func (e *events) event(f frame) error {
	b := make([]byte, 0, len(f)+32)
	b = append(b, "event: message\ndata: "...)
	b = append(b, f...)
	b = append(b, "\n\n"...)
	return e.write(b)
}

// write writes part of a stream, within a deadline. It needs e.mu.
func (e *events) write(b []byte) error {
	if e.done {
		return errEnded
	}
	_ = e.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // a test's writer has none
	if !e.stream {
		e.stream = true
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		h.Set("X-Content-Type-Options", "nosniff")
		e.w.WriteHeader(http.StatusOK)
	}
	if _, err := e.w.Write(b); err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	if err := e.rc.Flush(); err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	return nil
}

// finish writes the reply: as the stream's last event, or as a document with the
// status that the request's era wants. Without a reply, since the request was
// cancelled, it writes none.
func (e *events) finish(last reply, modern bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.done:
	case last.frame == nil && !e.stream:
		e.w.WriteHeader(http.StatusAccepted)
	case last.frame == nil:
	case e.stream:
		_ = e.event(last.frame) // the client may have gone
	default:
		_ = e.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
		writeJSON(e.w, status(last, modern), last.frame)
	}
	e.done = true
}

// end makes further frames impossible and the connection fit for another request.
func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
	_ = e.rc.SetWriteDeadline(time.Time{})
}

// status is the HTTP status of a reply: in the new era, errors have their own.
func status(last reply, modern bool) int {
	switch {
	case !modern || last.code == 0 || last.code == mcp.INTERNAL_ERROR || last.code == codeBusy || last.code == codeFailed:
		return http.StatusOK
	case last.code == mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	default:
		return http.StatusBadRequest
	}
}

// watch keeps a subscription's stream open, and ends it when its client's token is
// revoked.
func (h *httpHandler) watch(ctx context.Context, r *http.Request, who host.Principal, out *events) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		alive := time.NewTicker(keepAlive)
		defer alive.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-alive.C:
				if !h.still(r, who) || out.comment() != nil {
					return
				}
			}
		}
	}()
	return ctx, cancel
}
