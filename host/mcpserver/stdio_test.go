package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// callLine is a tools/call of the new era.
func callLine(id any, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, tool, args, modernMeta)
}

func cancelLine(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%v,"reason":"test"}}`, id)
}

func TestStdioManyWaitingCallsDontStopOthers(t *testing.T) {
	b := newFakeBackend()
	c := serveLines(t, New(b, Options{}), alice)
	for i := range 200 {
		c.send(callLine(i, "tracker_wait", "{}"))
	}
	b.awaitStarted(t, 200)
	c.send(callLine(1000, "tracker_list", "{}"))
	if got := c.recv(); !strings.Contains(got, `"id":1000`) || !strings.Contains(got, "rows") {
		t.Errorf("with 200 calls waiting: %s", got)
	}
	close(b.release)
	for range 200 {
		if got := c.recv(); !strings.Contains(got, `"waited":true`) {
			t.Fatalf("a waiting call ended with %s", got)
		}
	}
}

func TestStdioCancelledWhileQueuedNeverStarts(t *testing.T) {
	b := newFakeBackend()
	c := serveLines(t, New(b, Options{MaxCalls: 2}), alice)
	c.send(callLine(1, "tracker_wait", "{}"), callLine(2, "tracker_wait", "{}"))
	b.awaitStarted(t, 2)
	for i := range 20 {
		c.send(callLine(100+i, "tracker_delete", "{}"))
	}
	for i := range 20 {
		c.send(cancelLine(100 + i))
	}
	c.send(`{"jsonrpc":"2.0","id":"read","method":"tools/list","params":{"cursor":"x",` + modernMeta + `}}`) // answered after the lines before it were read
	if got := c.recv(); !strings.Contains(got, `"id":"read"`) {
		t.Fatalf("got %s", got)
	}
	c.send(callLine(`"last"`, "tracker_echo", "{}"))
	close(b.release)
	got := []string{c.recv(), c.recv(), c.recv()}
	slices.Sort(got)
	if !strings.Contains(got[0], `"id":"last"`) || !strings.Contains(got[1], `"id":1,`) || !strings.Contains(got[2], `"id":2,`) {
		t.Errorf("replies %q", got)
	}
	if rest := c.close(); len(rest) > 0 {
		t.Errorf("cancelled calls were answered: %q", rest)
	}
	for _, r := range b.seen() {
		if r.Tool == "tracker.delete" {
			t.Fatal("a call that was cancelled while it waited has run")
		}
	}
}

func TestStdioCancelledIsNotAnswered(t *testing.T) {
	for _, id := range []string{"7", "9007199254740993", `"a\u0062c"`} {
		b := newFakeBackend()
		c := serveLines(t, New(b, Options{}), alice)
		c.send(callLine(id, "tracker_wait", "{}"))
		b.awaitStarted(t, 1)
		// Neither another id, nor the same digits as text, nor a float64's idea of it.
		c.send(cancelLine(`"7"`), cancelLine("9007199254740992"), cancelLine("null"), cancelLine("[]"),
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
		c.send(callLine(1, "tracker_list", "{}"))
		c.recv()
		select {
		case err := <-b.ended:
			t.Errorf("id %s: cancelled by another id: %v", id, err)
		default:
		}
		c.send(cancelLine(strings.ReplaceAll(id, `\u0062`, "b")))
		if err := receive(t, b.ended); !errors.Is(err, context.Canceled) {
			t.Errorf("id %s: context ended with %v", id, err)
		}
		if rest := c.close(); len(rest) > 0 {
			t.Errorf("id %s: answered with %q", id, rest)
		}
	}
}

func TestStdioSameIDTwice(t *testing.T) {
	b := newFakeBackend()
	c := serveLines(t, New(b, Options{}), alice)
	c.send(callLine(1, "tracker_wait", "{}"))
	b.awaitStarted(t, 1)
	c.send(callLine(1, "tracker_delete", "{}"))
	if got := c.recv(); !strings.Contains(got, "-32600") || len(b.seen()) != 1 {
		t.Errorf("a second request with the same id: %s", got)
	}
	close(b.release)
	c.recv()
	c.send(callLine(1, "tracker_list", "{}"))
	if got := c.recv(); !strings.Contains(got, "rows") {
		t.Errorf("the id is not free after the answer: %s", got)
	}
}

// Equal ids and tokens in sixteen clients at once: each gets its own frames alone.
func TestStdioEqualIDsInManyClients(t *testing.T) {
	const clients, calls = 16, 100
	b := newFakeBackend()
	s := New(b, Options{})
	for n := range clients {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := host.Principal{ID: fmt.Sprintf("p%d", n), Name: "x"}
			c := serveLines(t, s, p)
			for i := range calls {
				c.send(strings.Replace(callLine(i, "tracker_progress", fmt.Sprintf(`{"n":3,"who":%d}`, n)),
					`"_meta":{`, fmt.Sprintf(`"_meta":{"progressToken":%d,`, i), 1))
				c.send(callLine(calls+i, "tracker_echo", fmt.Sprintf(`{"id":%d}`, i)))
				c.send(cancelLine(100_000 + i)) // of nobody here
			}
			answered, progress := map[string]int{}, 0
			for range calls * 5 {
				f := c.recv()
				m, _ := object([]byte(f))
				switch {
				case m["method"] != nil:
					progress++
				case strings.Contains(f, `"args"`) && !strings.Contains(f, fmt.Sprintf(`"principal":"p%d"`, n)):
					t.Fatalf("client %d got a foreign frame: %s", n, f)
				default:
					answered[string(m["id"])]++
				}
			}
			if progress != calls*3 || len(answered) != calls*2 {
				t.Errorf("client %d: %d progress frames, %d answers", n, progress, len(answered))
			}
			if rest := c.close(); len(rest) > 0 {
				t.Errorf("client %d also got %q", n, rest)
			}
		})
	}
}

func TestStdioLongLine(t *testing.T) {
	b := newFakeBackend()
	c := serveLines(t, New(b, Options{}), alice)
	fits := callLine(5, "tracker_list", `{"pad":""}`)
	fits = strings.Replace(fits, `"pad":"`, `"pad":"`+strings.Repeat("x", maxMessage-len(fits)), 1)
	for _, tc := range []struct {
		line string
		want string
	}{
		{strings.Repeat("x", maxMessage+1), "-32600"},
		{callLine(2, "tracker_echo", `{"pad":"`+strings.Repeat("x", maxMessage)+`"}`), "-32600"},
		{callLine(3, "tracker_list", "{}"), "rows"},
		{strings.Repeat(" ", maxMessage) + callLine(4, "tracker_list", "{}"), "-32600"},
		{fits, "rows"},
		{fits + " ", "-32600"},
	} {
		c.send(tc.line)
		if got := c.recv(); !strings.Contains(got, tc.want) {
			t.Errorf("line of %d bytes: %.200s", len(tc.line), got)
		}
	}
	if n := len(b.seen()); n != 2 {
		t.Errorf("%d calls ran, want 2", n)
	}
}

func TestStdioTooMuchAtOnce(t *testing.T) {
	b := newFakeBackend()
	s := New(b, Options{MaxCalls: 1})
	s.maxPending = 1 << 20
	c := serveLines(t, s, alice)
	pad := `{"pad":"` + strings.Repeat("x", 64<<10) + `"}`
	const fit = 16 // a little more than 64 KiB each: one less fits
	for i := range fit {
		c.send(callLine(i, "tracker_wait", pad))
	}
	if got := c.recv(); !strings.Contains(got, fmt.Sprintf(`"id":%d,`, fit-1)) || !strings.Contains(got, "-32000") {
		t.Errorf("%d calls waiting: %.200s", fit, got)
	}
	close(b.release)
	for range fit - 1 {
		c.recv()
	}
	c.send(callLine(5000, "tracker_list", "{}"))
	if got := c.recv(); !strings.Contains(got, "rows") {
		t.Errorf("afterwards: %s", got)
	}
}

func TestStdioEndOfInputCancels(t *testing.T) {
	b := newFakeBackend()
	c := serveLines(t, New(b, Options{}), alice)
	c.send(callLine(1, "tracker_wait", "{}"))
	b.awaitStarted(t, 1)
	c.close()
	if err := receive(t, b.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended with %v", err)
	}
}

func TestStdioEnds(t *testing.T) {
	s := New(newFakeBackend(), Options{})
	broken := errors.New("broken")
	if err := s.ServeStdio(t.Context(), iotest.ErrReader(broken), io.Discard, alice); !errors.Is(err, broken) {
		t.Errorf("with a broken reader: %v", err)
	}
	if err := s.ServeStdio(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), errWriter{t}, alice); err != nil {
		t.Errorf("with a line cut off: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	if err := s.ServeStdio(ctx, r, io.Discard, alice); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	// A client that can't be written to is gone.
	r, w = io.Pipe()
	done := make(chan error, 1)
	out, reader := io.Pipe()
	_ = out.Close()
	go func() { done <- s.ServeStdio(t.Context(), r, reader, alice) }()
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if err := receive(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("with a broken writer: %v", err)
	}
	_ = w.Close()
}

// errWriter fails the test when it is written to.
type errWriter struct{ t *testing.T }

func (w errWriter) Write(p []byte) (int, error) {
	w.t.Errorf("written: %s", p)
	return len(p), nil
}

func TestStdioSubscription(t *testing.T) {
	b := newFakeBackend()
	s := New(b, Options{})
	c := serveLines(t, s, alice)
	listen := `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":%s,` + modernMeta + `}}`
	c.send(fmt.Sprintf(listen, "9007199254740993", `{"toolsListChanged":true,"resourceSubscriptions":["file:///x"]}`))
	if got, want := canonical(t, c.recv()), `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9007199254740993},"notifications":{"toolsListChanged":true}}}`; got != want {
		t.Errorf("acknowledged with %s", got)
	}
	s.ToolsChanged()
	if got, want := canonical(t, c.recv()), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9007199254740993}}}`; got != want {
		t.Errorf("told %s", got)
	}
	// Nothing granted: it ends at once, with its own id.
	c.send(fmt.Sprintf(listen, `"e"`, `{"resourceSubscriptions":["drawbridge://audit"]}`))
	c.recv()
	if got := c.recv(); !strings.Contains(got, `"id":"e"`) || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"e"`) {
		t.Errorf("an empty subscription ended with %s", got)
	}
	// The server's end is told; a client's cancel is not answered.
	c.send(fmt.Sprintf(listen, "5", `{"toolsListChanged":true}`))
	c.recv()
	c.send(cancelLine("5"))
	await(t, "the cancelled subscription to end", func() bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return len(s.hub.listeners) == 2
	})
	s.Close()
	if got := c.recv(); !strings.Contains(got, `"id":9007199254740993`) || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("at the server's end: %s", got)
	}
	if rest := c.close(); len(rest) > 0 {
		t.Errorf("the server also sent %q", rest)
	}
}

func TestStdioListChangedOnlyAfterInitialize(t *testing.T) {
	s := New(newFakeBackend(), Options{})
	c := serveLines(t, s, alice)
	s.hub.tell()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if got := c.recv(); !strings.Contains(got, `"id":1`) {
		t.Errorf("before initialize: %s", got)
	}
	c.initialize()
	s.ToolsChanged()
	if got := canonical(t, c.recv()); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}` {
		t.Errorf("told %s", got)
	}
}

// A stalled client blocks its own stream, and nobody else's.
func TestStdioStalledClient(t *testing.T) {
	b := newFakeBackend()
	s := New(b, Options{})
	r, w := io.Pipe()
	_, stalled := io.Pipe() // nobody reads
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = s.ServeStdio(ctx, r, stalled, alice) }()
	_, _ = io.WriteString(w, callLine(1, "tracker_progress", `{"n":5000}`)+"\n")
	await(t, "the stalled client's call", func() bool { return len(b.seen()) == 1 })
	c := serveLines(t, s, alice)
	c.send(callLine(1, "tracker_list", "{}"))
	if got := c.recv(); !strings.Contains(got, "rows") {
		t.Errorf("beside a stalled client: %s", got)
	}
	cancel()
	_ = stalled.Close()
	_ = w.Close()
}
