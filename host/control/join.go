package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// JoinParams asks for the byte stream of one MCP client.
type JoinParams struct {
	Client string `json:"client"`          // as registered by clients add; registered now if new
	Token  string `json:"token,omitempty"` // its own; needed by a client that is trusted to ask
}

// connected is the programs that started an MCP client of ours over stdio. What
// descends from one of them may not approve anything, for as long as it is
// there: a client that hangs up stays one.
type connected struct {
	mu      sync.Mutex
	list    []platform.Process
	streams map[string]map[*context.CancelFunc]struct{} // by principal's id: what ends its streams
}

// add notes a client's process and stream until the returned function runs.
func (c *connected) add(p platform.Process, principalID string, end context.CancelFunc) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(slices.DeleteFunc(c.list, gone), p)
	if c.streams == nil {
		c.streams = map[string]map[*context.CancelFunc]struct{}{}
	}
	if c.streams[principalID] == nil {
		c.streams[principalID] = map[*context.CancelFunc]struct{}{}
	}
	c.streams[principalID][&end] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.streams[principalID], &end)
	}
}

// revoke ends a principal's streams.
func (c *connected) revoke(principalID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for end := range c.streams[principalID] {
		(*end)()
	}
}

// gone reports whether a process has ended.
func gone(p platform.Process) bool {
	line, err := platform.Ancestors(p.PID)
	return err == nil && line[0].StartTime != p.StartTime || errors.Is(err, fs.ErrNotExist)
}

// processes lists the connected clients for the gate.
func (c *connected) processes() []gate.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, gone)
	return gateProcesses(c.list)
}

func gateProcesses(list []platform.Process) []gate.Process {
	out := make([]gate.Process, len(list))
	for i, p := range list {
		out[i] = gate.Process{PID: p.PID, Start: p.StartTime, TTY: p.TTY}
	}
	return out
}

// Lineage lists a process and its ancestors for the gate.
func Lineage(pid int) ([]gate.Process, error) {
	line, err := platform.Ancestors(pid)
	return gateProcesses(line), err
}

// approver says who is at the other end of a request, as the kernel knows it.
func approver(r *http.Request) (gate.Approver, error) {
	peer, err := platform.PeerOf(connOf(r))
	if err != nil {
		return gate.Approver{}, err
	}
	line, err := platform.Ancestors(peer.PID)
	if err != nil {
		return gate.Approver{}, abi.Errorf(abi.ErrForbidden, "approve", "can't tell who asks: %w", err)
	}
	return gate.Approver{PID: peer.PID, Start: line[0].StartTime, UID: peer.UID, TTY: line[0].TTY, Via: gate.ViaTerminal}, nil
}

// person makes sure that the caller may decide in a person's name, by the
// gate's rules. They are a hurdle for an agent's shell and not a wall;
// SECURITY.md says what gets past them.
func (s *Server) person(r *http.Request) (gate.Approver, error) {
	by, err := approver(r)
	if err != nil {
		return by, err
	}
	return by, s.Gate.MayAnswer(by)
}

// personFor is person for another command than drawbridge approvals, which the
// hint names then.
func (s *Server) personFor(r *http.Request, command string) error {
	_, err := s.person(r)
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e.WithHint("%s (typed by you, in a terminal that no client started)", command)
	}
	return err
}

// Connected lists the processes of connected clients, for gate.Options.
func (s *Server) Connected() []gate.Process { return s.clients.processes() }

// joinMCP turns the connection into the byte stream of one MCP client.
func (s *Server) joinMCP(w http.ResponseWriter, r *http.Request) {
	principal, client, err := s.admit(r)
	if err != nil {
		_ = writeEvent(w, Event{Error: wireError(host.Safe(err))})
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.Logger.ErrorContext(r.Context(), "joining an MCP client", slog.Any("error", err))
		return
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n"); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer s.clients.add(client, principal.ID, cancel)()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	s.Logger.InfoContext(ctx, "client joined", slog.String("client", principal.Name))
	err = s.Daemon.ServeMCP(ctx, &bufferedConn{Conn: conn, in: buf.Reader}, principal)
	left := []slog.Attr{slog.String("client", principal.Name)}
	if err != nil && !errors.Is(err, context.Canceled) { // which is how each one ends
		left = append(left, slog.Any("error", err))
	}
	s.Logger.LogAttrs(ctx, slog.LevelInfo, "client left", left...)
}

// admit finds out who wants to join.
func (s *Server) admit(r *http.Request) (host.Principal, platform.Process, error) {
	var p JoinParams
	if err := decodeParams(r.Body, &p); err != nil {
		return host.Principal{}, platform.Process{}, err
	}
	peer, err := platform.PeerOf(connOf(r))
	if err != nil {
		return host.Principal{}, platform.Process{}, err
	}
	client, err := platform.ClientOf(peer.PID)
	if err != nil {
		return host.Principal{}, platform.Process{}, err
	}
	principal, err := s.joining(r.Context(), p)
	return principal, client, err
}
