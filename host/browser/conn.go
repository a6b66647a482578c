package browser

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// A conn carries commands and events over a transport. One goroutine reads:
// it hands a reply straight to the caller that waits for it, and an event to
// the queue of the event goroutine. Another one writes. Neither runs code that
// may block, so a slow page or handler never delays another tab's replies.
type conn struct {
	tr     chromedp.Transport
	out    *queue[*cdproto.Message]
	events *queue[*cdproto.Message]

	mu      sync.Mutex
	next    int64
	pending map[int64]*pending
	err     error         // why the connection ended; set before done closes
	done    chan struct{} // closed when the connection has ended
}

// pending is a command whose reply has not come.
type pending struct {
	session target.SessionID
	reply   chan reply // holds one
}

type reply struct {
	msg *cdproto.Message
	err error
}

func newConn(tr chromedp.Transport) *conn {
	return &conn{
		tr:      tr,
		out:     newQueue[*cdproto.Message](),
		events:  newQueue[*cdproto.Message](),
		pending: map[int64]*pending{},
		done:    make(chan struct{}),
	}
}

// run reads until the transport ends. It returns after every caller was told.
func (c *conn) run(ctx context.Context) {
	go c.write(ctx)
	for {
		msg := new(cdproto.Message)
		if err := c.tr.Read(ctx, msg); err != nil {
			c.end(err)
			return
		}
		if msg.ID != 0 {
			c.deliver(msg.ID, reply{msg: msg})
		} else if handled(msg.Method) {
			c.events.push(msg)
		}
	}
}

func (c *conn) write(ctx context.Context) {
	for {
		msg, ok := c.out.pop()
		if !ok {
			return
		}
		if err := c.tr.Write(ctx, msg); err != nil {
			c.end(fmt.Errorf("writing to the browser: %w", err))
			return
		}
	}
}

// end fails every command and closes both queues.
func (c *conn) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	waiting := c.pending
	c.pending = map[int64]*pending{}
	close(c.done)
	c.mu.Unlock()
	c.out.close()
	c.events.close()
	_ = c.tr.Close() // it has ended already
	for _, p := range waiting {
		p.reply <- reply{err: errGone}
	}
}

func (c *conn) deliver(id int64, r reply) {
	c.mu.Lock()
	p := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if p != nil {
		p.reply <- r
	}
}

// failSession ends the session's commands with err: their replies will not come.
func (c *conn) failSession(s target.SessionID, err error) {
	c.mu.Lock()
	var waiting []*pending
	for id, p := range c.pending {
		if p.session == s {
			waiting = append(waiting, p)
			delete(c.pending, id)
		}
	}
	c.mu.Unlock()
	for _, p := range waiting {
		p.reply <- reply{err: err}
	}
}

// send queues a command. With a nil reply nobody waits for its answer.
func (c *conn) send(s target.SessionID, method string, params any, ch chan reply) (int64, error) {
	buf, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
	if err != nil {
		return 0, fmt.Errorf("encoding %s: %w", method, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, errGone
	}
	c.next++
	if ch != nil {
		c.pending[c.next] = &pending{session: s, reply: ch}
	}
	c.out.push(&cdproto.Message{ID: c.next, SessionID: s, Method: cdproto.MethodType(method), Params: buf})
	return c.next, nil
}

func (c *conn) forget(id int64) {
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
}

// A session is one target's end of a conn; the zero id is the browser itself.
type session struct {
	conn *conn
	id   target.SessionID
}

// A future is a command that was sent and not yet waited for, so that several
// can be under way at once.
type future[R any] struct {
	s     session
	id    int64
	name  string
	err   error
	reply chan reply
}

// start sends a command.
func start[P, R any](s session, cmd cdp.Command[P, R], params P) future[R] {
	f := future[R]{s: s, name: cmd.Method, reply: make(chan reply, 1)}
	f.id, f.err = s.conn.send(s.id, cmd.Method, params, f.reply)
	return f
}

// wait returns the command's result.
func (f future[R]) wait(ctx context.Context) (R, error) {
	var res R
	if f.err != nil {
		return res, f.err
	}
	select {
	case r := <-f.reply:
		return decodeReply[R](f.name, r)
	case <-ctx.Done():
		f.s.conn.forget(f.id)
		return res, ctx.Err()
	}
}

func decodeReply[R any](name string, r reply) (R, error) {
	var res R
	if r.err != nil {
		return res, r.err
	}
	if r.msg.Error != nil {
		return res, fmt.Errorf("%s: %w", name, r.msg.Error)
	}
	if err := jsonv2.Unmarshal(r.msg.Result, &res, chromedp.DefaultUnmarshalOptions); err != nil {
		return res, fmt.Errorf("decoding the reply to %s: %w", name, err)
	}
	return res, nil
}

// do sends a command and waits for its result.
func do[P, R any](ctx context.Context, s session, cmd cdp.Command[P, R], params P) (R, error) {
	return start(s, cmd, params).wait(ctx)
}

// post sends a command whose result nobody needs. It never blocks, so the event
// goroutine may use it.
func post[P, R any](s session, cmd cdp.Command[P, R], params P) {
	_, err := s.conn.send(s.id, cmd.Method, params, nil)
	if err != nil && !errors.Is(err, errGone) {
		panic("BUG: " + err.Error()) // parameters of ours always encode
	}
}

// decodeEvent decodes an event's parameters.
func decodeEvent[E any](msg *cdproto.Message, _ cdp.Event[E]) (E, error) {
	var ev E
	err := jsonv2.Unmarshal(msg.Params, &ev, chromedp.DefaultUnmarshalOptions)
	return ev, err
}
