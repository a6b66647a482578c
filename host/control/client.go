package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// A Client calls the daemon's methods.
type Client struct {
	// Dial connects to the daemon's socket.
	Dial func(ctx context.Context) (net.Conn, error)
	// Ask shows a question and returns the code that a person retyped; empty is
	// a no. Nil refuses every question.
	Ask func(ctx context.Context, q host.Question) (code string, err error)
	// Unattended takes it for a no that nobody was there to answer, so that the
	// method goes on and tells what it did without.
	Unattended bool
	// Progress shows how far a method is; nil shows nothing.
	Progress func(Progress)
	// Waiting says that the call waits for a person; nil says nothing.
	Waiting func(Waiting)
	// Surroundings go along with every call; the server's Around reads them.
	Surroundings Surroundings
}

func (c *Client) http() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) },
		DisableKeepAlives: true,
	}}
}

// Call runs a method of the daemon and decodes its result into result, which
// may be nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	res, err := c.post(ctx, method, params)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	in := bufio.NewScanner(res.Body)
	in.Buffer(make([]byte, 64<<10), maxEvent)
	for in.Scan() {
		var e Event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return fmt.Errorf("reading the daemon's answer: %w", err)
		}
		done, err := c.event(ctx, e, result)
		if done || err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("reading the daemon's answer: %w", err)
	}
	return abi.Errorf(abi.ErrInternal, "control", "the daemon ended before it answered").WithHint("drawbridge doctor")
}

func newRequest(ctx context.Context, method string, params any) (*http.Request, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon/v1/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(headerVersion, strconv.Itoa(ProtocolVersion))
	return req, nil
}

func (c *Client) post(ctx context.Context, method string, params any) (*http.Response, error) {
	req, err := newRequest(ctx, method, params)
	if err != nil {
		return nil, err
	}
	c.Surroundings.put(req.Header)
	res, err := c.http().Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 512))
		return nil, abi.Errorf(abi.ErrUnsupportedAction, "control", "the daemon answered %s: %q", res.Status, text).WithHint("drawbridge stop")
	}
	return res, nil
}

// event handles one line; done means that it was the last.
func (c *Client) event(ctx context.Context, e Event, result any) (done bool, err error) {
	switch {
	case e.Error != nil:
		return true, e.Error.abi()
	case e.Question != nil:
		return false, c.answer(ctx, *e.Question)
	case e.Progress != nil:
		if c.Progress != nil {
			c.Progress(*e.Progress)
		}
		return false, nil
	case e.Waiting != nil:
		if c.Waiting != nil {
			c.Waiting(*e.Waiting)
		}
		return false, nil
	case result == nil:
		return true, nil
	}
	return true, json.Unmarshal(e.Result, result)
}

func (c *Client) answer(ctx context.Context, q host.Question) error {
	if c.Ask == nil {
		return NeedsPerson(q.Title)
	}
	code, err := c.Ask(ctx, q)
	if c.Unattended && errors.Is(err, abi.ErrConfirmationDenied) {
		return c.reply(ctx, q.ID, "")
	}
	if err != nil {
		return errors.Join(err, c.reply(ctx, q.ID, ""))
	}
	return c.reply(ctx, q.ID, code)
}

// NeedsPerson is the error of a question that nobody is there to answer.
func NeedsPerson(title string) error {
	return abi.Errorf(abi.ErrConfirmationDenied, "", "%q needs a person at a terminal, and standard input is none", title).
		WithHint("the same command, typed in a terminal")
}

func (c *Client) reply(ctx context.Context, id, code string) error {
	return (&Client{Dial: c.Dial}).Call(ctx, "confirm", ConfirmParams{ID: id, Code: code}, nil)
}

// JoinMCP turns a connection to the daemon into the byte stream of one MCP
// client.
func (c *Client) JoinMCP(ctx context.Context, p JoinParams) (net.Conn, error) {
	req, err := newRequest(ctx, "mcp", p)
	if err != nil {
		return nil, err
	}
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	if err := join(conn, in, req); err != nil {
		_ = conn.Close() // what went wrong is known
		return nil, err
	}
	return &bufferedConn{Conn: conn, in: in}, nil
}

// join asks on conn and reads the header of the answer from in.
func join(conn net.Conn, in *bufio.Reader, req *http.Request) error {
	if err := req.Write(conn); err != nil {
		return err
	}
	res, err := http.ReadResponse(in, req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	var e Event
	if err := json.NewDecoder(io.LimitReader(res.Body, maxEvent)).Decode(&e); err == nil && e.Error != nil {
		return e.Error.abi()
	}
	return abi.Errorf(abi.ErrInternal, "mcp", "the daemon answered %s", res.Status)
}

// bufferedConn reads first what came with the answer's header.
type bufferedConn struct {
	net.Conn
	in *bufio.Reader
}

func (b *bufferedConn) Read(p []byte) (int, error) { return b.in.Read(p) }

// CloseWrite ends what this side says.
func (b *bufferedConn) CloseWrite() error {
	if w, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return b.Close()
}
