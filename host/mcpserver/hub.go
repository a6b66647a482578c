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

// A hub tells listeners that the lists changed. Its zero value works.
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

// listen returns a channel that gets an element when the lists changed since it
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

// everyList is what a client of the old era hears of.
func everyList() mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
}

// listsChanged are the notifications that a filter asks for: connectors that come or
// go change every list. subscription names the request, in the new era.
func listsChanged(f mcp.SubscriptionFilter, subscription json.RawMessage) []frame {
	params := map[string]any{}
	if subscription != nil {
		params["_meta"] = map[string]any{mcp.MetaKeySubscriptionID: subscription}
	}
	var out []frame
	for _, n := range []struct {
		wanted bool
		method string
	}{
		{f.ToolsListChanged, mcp.MethodNotificationToolsListChanged},
		{f.PromptsListChanged, mcp.MethodNotificationPromptsListChanged},
		{f.ResourcesListChanged, mcp.MethodNotificationResourcesListChanged},
	} {
		if n.wanted {
			out = append(out, notificationFrame(n.method, params))
		}
	}
	return out
}

func sendAll(out stream, frames []frame) error {
	for _, f := range frames {
		if err := out.send(f); err != nil {
			return err
		}
	}
	return nil
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
			if r.out.send(notificationFrame(mcp.MethodNotificationSubscriptionsAcknowledged, ack)) != nil || granted.IsEmpty() {
				return
			}
			changed, stop := s.hub.listen()
			running.Go(func() {
				defer stop()
				for {
					select {
					case <-changed:
						if sendAll(r.out, listsChanged(granted, r.id)) != nil {
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
