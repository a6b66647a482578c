package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

const (
	maxPending      = 1024     // calls of one stream that run or wait
	maxPendingBytes = 64 << 20 // of their messages
)

// ServeStdio serves one client on a byte stream, one message on a line: a process's
// stdin and stdout, or both ends of a socket. All its requests are p's.
//
// It returns nil when in ends, and an error when in fails or ctx ends. Calls in
// flight are cancelled then, and have ended when it returns. It closes nothing: a
// read that blocks goes on in the background until the caller closes in, and a
// client that doesn't read what is sent to it is only given up when the caller
// closes out. Where both are one connection, close it when ctx ends.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, p host.Principal) error {
	ctx, stop := context.WithCancel(ctx)
	c := &lineConn{peer: s.newPeer(p), out: &lines{w: out}, stop: stop, calls: newCrew()}
	defer c.calls.wait()
	defer stop()
	c.calls.run(ctx, func() { c.announce(ctx) })

	ended := make(chan error, 1)
	go func() { ended <- c.readAll(ctx, in) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		c.reading.Lock() // what is being received is under way, and nothing follows it
		defer c.reading.Unlock()
		return ctx.Err()
	}
}

// readAll receives line by line until in ends, or until nobody wants them any more.
func (c *lineConn) readAll(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l := readLine(r)
		if l.err != nil {
			return endOfInput(l.err)
		}
		c.reading.Lock()
		err := ctx.Err()
		if err == nil {
			c.receive(ctx, l)
		}
		c.reading.Unlock()
		if err != nil {
			return err
		}
	}
}

// endOfInput is nil where the client has simply gone.
func endOfInput(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading messages: %w", err)
}

// A line is one message as read, or the error that ended the input.
type line struct {
	data []byte
	long bool // longer than maxMessage; data is gone
	err  error
}

// readLine reads one line of at most maxMessage bytes, and skips a longer one. A
// last line without its newline is a message cut off, and dropped.
func readLine(r *bufio.Reader) line {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		if len(l.data)+len(part) > maxMessage+1 {
			l.long, l.data = true, nil
		}
		if !l.long {
			l.data = append(l.data, part...)
		}
		switch {
		case err == nil:
			l.data = bytes.TrimSpace(l.data)
			return l
		case !errors.Is(err, bufio.ErrBufferFull):
			return line{err: err}
		}
	}
}

// A lineConn is one client on a byte stream.
type lineConn struct {
	peer  *peer
	out   *lines
	stop  context.CancelFunc
	calls *crew

	reading      sync.Mutex // held while a line is received
	pending      atomic.Int64
	pendingBytes atomic.Int64
}

// receive handles one line. What only takes a moment is answered here, so that a
// client may send initialize and the next request in one go; calls and
// subscriptions run beside.
func (c *lineConn) receive(ctx context.Context, l line) {
	switch {
	case l.long:
		c.write(errorFrame(nil, rpcErrorf(mcp.INVALID_REQUEST, "message is longer than %d bytes", maxMessage)))
		return
	case len(l.data) == 0:
		return
	}
	m, err := parseMessage(l.data)
	switch {
	case err != nil && m != nil && m.id == nil && m.method != "": // a notification gets no answer
	case err != nil && m != nil:
		c.write(errorFrame(m.id, err))
	case err != nil:
		c.write(errorFrame(nil, err))
	case m.method == "":
		c.peer.answered(m)
	case m.notification():
		if m.method == string(mcp.MethodNotificationCancelled) {
			c.peer.cancel(m)
		}
	case takesTime(mcp.MCPMethod(m.method)):
		c.start(ctx, m, int64(len(l.data)))
	default:
		c.write(c.peer.answer(ctx, m, c.out).frame)
	}
}

// takesTime reports whether a method does more than look something up in memory.
func takesTime(method mcp.MCPMethod) bool {
	return slices.Contains([]mcp.MCPMethod{
		mcp.MethodToolsCall, mcp.MethodSubscriptionsListen, mcp.MethodResourcesRead, mcp.MethodCompletionComplete,
	}, method)
}

// start answers a request in a goroutine of its own, within the limits.
func (c *lineConn) start(ctx context.Context, m *message, size int64) {
	done := func() {
		c.pending.Add(-1)
		c.pendingBytes.Add(-size)
	}
	calls, total := c.pending.Add(1), c.pendingBytes.Add(size)
	if calls > maxPending || total > c.peer.srv.maxPending {
		done()
		c.write(errorFrame(m.id, rpcErrorf(codeBusy, "too many requests at once")))
		return
	}
	// In flight before the next line is read: a cancel that follows finds it.
	run := c.peer.begin(ctx, m, c.out)
	c.calls.run(ctx, func() {
		defer done()
		c.write(run().frame)
	})
}

// codeBusy is from the range that JSON-RPC leaves to servers.
const codeBusy = -32000

// announce tells a client of the old era, once it is initialized, that the lists
// changed.
func (c *lineConn) announce(ctx context.Context) {
	changed, stop := c.peer.srv.hub.listen()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			if c.peer.session.Initialized() {
				for _, f := range listsChanged(everyList(), nil) {
					c.write(f)
				}
			}
		}
	}
}

// write sends a frame, if there is one. A client that can't be written to is gone.
func (c *lineConn) write(f frame) {
	if f == nil {
		return
	}
	if c.out.send(f) != nil {
		c.stop()
	}
}

// lines writes frames, each as one line in one Write.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) send(f frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.w.Write(append(f, '\n')); err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	return nil
}

func (*lines) carries() bool { return true }
