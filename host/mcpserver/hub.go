package mcpserver

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// coalesce is how long changes are gathered into one notification: no client gets
// more than ten a second, and none waits longer than this.
const coalesce = 100 * time.Millisecond

// A hub tells listeners that the tools changed. Its zero value works.
type hub struct {
	mu        sync.Mutex
	pending   bool
	listeners map[chan struct{}]struct{}
}

// changed tells all listeners, once, after the time to coalesce.
func (h *hub) changed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.pending {
		h.pending = true
		time.AfterFunc(coalesce, h.tell)
	}
}

func (h *hub) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = false
	for l := range h.listeners {
		select {
		case l <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// listen returns a channel that gets an element when the tools changed since it
// was last read, until stop is called.
func (h *hub) listen() (changed <-chan struct{}, stop func()) {
	l := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = map[chan struct{}]struct{}{}
	}
	h.listeners[l] = struct{}{}
	return l, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
	}
}

// listChanged is the notification; meta names a subscription, in the new era.
func listChanged(subscription json.RawMessage) frame {
	params := map[string]any{}
	if subscription != nil {
		params["_meta"] = map[string]any{mcp.MetaKeySubscriptionID: subscription}
	}
	return notificationFrame(mcp.MethodNotificationToolsListChanged, params)
}

// subscribe prepares r, a subscriptions/listen request: what mcp-go grants is
// acknowledged on r's own stream, and followed by changes until the returned
// function is called. mcp-go holds the request open meanwhile.
func (s *Server) subscribe(r *request) (unsubscribe func()) {
	ended := make(chan struct{})
	var first sync.Once
	var running sync.WaitGroup
	r.session.onSubscribe = func(granted mcp.SubscriptionFilter) {
		first.Do(func() {
			ack := map[string]any{
				"_meta":         map[string]any{mcp.MetaKeySubscriptionID: r.id},
				"notifications": granted,
			}
			if r.out.send(notificationFrame(mcp.MethodNotificationSubscriptionsAcknowledged, ack)) != nil || !granted.ToolsListChanged {
				return
			}
			changed, stop := s.hub.listen()
			running.Go(func() {
				defer stop()
				for {
					select {
					case <-changed:
						if r.out.send(listChanged(r.id)) != nil {
							return
						}
					case <-ended:
						return
					}
				}
			})
		})
	}
	return func() {
		close(ended)
		running.Wait()
	}
}

// untilClosed returns a context that ends with ctx or with the server's Close.
func (s *Server) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
