package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// maxRelayed is how long a message may be to be looked at; a longer one passes
// through in pieces.
const maxRelayed = 16 << 20

// codeDaemonGone is from the range that JSON-RPC leaves to servers.
const codeDaemonGone = -32000

// A relay carries MCP between a client and the daemon, one message a line. It
// knows which requests wait for an answer, so that none waits for ever when the
// daemon ends under it.
type relay struct {
	mu      sync.Mutex
	pending map[string]string // method by request id, as JSON
	left    bool              // the client says no more
}

// fromClient copies requests until the client's end.
func (r *relay) fromClient(daemon io.Writer, client io.Reader) error {
	err := eachLine(client, func(line []byte, whole bool) error {
		if whole {
			r.asked(line)
		}
		_, err := daemon.Write(line)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
	return err
}

// toClient copies answers until the daemon's end. Then it answers what is left
// over, unless it was the client who ended it.
func (r *relay) toClient(client io.Writer, daemon io.Reader) error {
	err := eachLine(daemon, func(line []byte, whole bool) error {
		if whole {
			r.answered(line)
		}
		_, err := client.Write(line)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(r.pending)) {
		if _, err := client.Write(goneFrame(id, r.pending[id])); err != nil {
			return err
		}
	}
	gone := abi.Errorf(abi.ErrBrowserGone, "mcp", "the daemon ended, with %d requests unanswered", len(r.pending))
	gone.Err = err
	return gone.WithHint("start the MCP client's connection again")
}

// goneFrame is the answer to a request that the daemon can't answer any more.
func goneFrame(id, method string) []byte {
	message, code := "the daemon ended before it answered", abi.ErrBrowserGone
	if method == "tools/call" {
		message += "; whether the call did anything is not known: drawbridge audit"
		code = abi.ErrOutcomeUnknown
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"code":%q}}}`+"\n", id, codeDaemonGone, message, code)
}

// asked notes a request, and forgets one that its client cancels.
func (r *relay) asked(line []byte) {
	m := readEnvelope(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case m.method == "notifications/cancelled":
		delete(r.pending, m.cancels(line))
	case m.method != "" && m.id != "":
		if r.pending == nil {
			r.pending = map[string]string{}
		}
		r.pending[m.id] = m.method
	}
}

// answered forgets a request that has its answer.
func (r *relay) answered(line []byte) {
	m := readEnvelope(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.method == "" && m.id != "" {
		delete(r.pending, m.id)
	}
}

// An envelope is what a relay needs to know of a message.
type envelope struct {
	id     string // as JSON; empty if it has none
	method string
}

// cancels returns the id that a cancellation names.
func (envelope) cancels(line []byte) string {
	var m struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	_ = json.Unmarshal(line, &m) // none is named then
	return string(m.Params.RequestID)
}

// readEnvelope reads a message's members up to those it needs. A line that is no
// message has an empty one: what to say about it is the other side's.
func readEnvelope(line []byte) (m envelope) {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return envelope{}
	}
	for d.More() {
		name, err := d.Token()
		if err != nil || m.id != "" && (name == "result" || name == "error") {
			return m // what is long is not read: nothing that matters follows
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return m
		}
		switch name {
		case "id":
			if m.id = string(value); m.id == "null" {
				m.id = ""
			}
		case "method":
			_ = json.Unmarshal(value, &m.method) // no text is no method
		}
	}
	return m
}

// eachLine gives each line to do, with its end, in one piece. One that is longer
// than maxRelayed comes in several, whole being false.
func eachLine(from io.Reader, do func(line []byte, whole bool) error) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	whole := true
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if long := len(line) > maxRelayed; long || err == nil {
			whole = whole && !long
			if err := do(line, whole); err != nil {
				return err
			}
			line, whole = nil, err == nil
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil // a last line that was cut off is no message
		default:
			return err
		}
	}
}
