package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// maxLine bounds one message of a server.
const maxLine = 64 << 20

// An rpcClient speaks JSON-RPC by lines and waits for one answer at a time.
type rpcClient struct {
	in    io.WriteCloser
	lines chan []byte // closed at the end of what the server says
	id    int
}

func newRPC(r io.Reader, w io.WriteCloser) *rpcClient {
	c := &rpcClient{in: w, lines: make(chan []byte, 64)}
	go func() {
		defer close(c.lines)
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 1<<20), maxLine)
		for s.Scan() {
			c.lines <- append([]byte{}, s.Bytes()...)
		}
	}()
	return c
}

func (c *rpcClient) send(msg map[string]any) error {
	msg["jsonrpc"] = "2.0"
	data, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(data, '\n'))
	return err
}

func (c *rpcClient) notify(method string) error { return c.send(map[string]any{"method": method}) }

// request returns the line that answers, or an error for one that is an error.
func (c *rpcClient) request(ctx context.Context, method string, params any) ([]byte, error) {
	c.id++
	if err := c.send(map[string]any{"id": c.id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return nil, errors.New("the server has ended")
			}
			done, err := c.handle(line)
			if done || err != nil {
				return line, err
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}

// handle reports whether a line answers the last request. A request of the server's
// is refused: this client has promised nothing.
func (c *rpcClient) handle(line []byte) (bool, error) {
	var m struct {
		ID     json.RawMessage
		Method string
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return false, fmt.Errorf("reading a message of the server: %w", err)
	}
	switch {
	case m.Method != "" && m.ID != nil:
		return false, c.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32601, "message": "not supported"}})
	case m.Method != "" || string(m.ID) != fmt.Sprint(c.id):
		return false, nil
	case m.Error != nil:
		return true, fmt.Errorf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	return true, nil
}

// close ends the server's input, and reads what it still says, so that a full pipe
// doesn't hold it.
func (c *rpcClient) close() error {
	go func() {
		for range c.lines {
		}
	}()
	return c.in.Close()
}

// An answer is a tool's, by what it costs to receive it.
type answer struct {
	bytes int    // the whole message
	text  string // what a model gets to read
}

// parseAnswer takes the texts from the answer to a tools/call. A tool's failure is
// an error.
func parseAnswer(line []byte) (answer, error) {
	var m struct {
		Result struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return answer{}, err
	}
	var text strings.Builder
	for _, c := range m.Result.Content {
		text.WriteString(c.Text)
	}
	if m.Result.IsError {
		return answer{}, fmt.Errorf("the tool failed: %.300s", text.String())
	}
	return answer{bytes: len(line) + 1, text: text.String()}, nil
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	mu   sync.Mutex
	kept []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	l.kept = l.kept[max(0, len(l.kept)-maxSaid):]
	return len(p), nil
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return tail(l.kept)
}
