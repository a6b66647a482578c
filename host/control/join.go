package control

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// JoinParams asks for the byte stream of one MCP client.
type JoinParams struct {
	Client string `json:"client"` // as registered by clients add; registered now if new
}

// connected is the programs that started an MCP client of ours over stdio. What
// descends from one of them may not approve anything.
type connected struct {
	mu   sync.Mutex
	list []platform.Process
}

func (c *connected) add(p platform.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, p)
}

func (c *connected) remove(p platform.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.list, p); i >= 0 {
		c.list = slices.Delete(c.list, i, i+1)
	}
}

// parentOf returns the connected client that one of line is, if any.
func (c *connected) parentOf(line []platform.Process) (platform.Process, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range line {
		for _, q := range c.list {
			if p.PID == q.PID && p.StartTime == q.StartTime {
				return q, true
			}
		}
	}
	return platform.Process{}, false
}

// person makes sure that the caller may decide in a person's name: it has a
// terminal, and no connected MCP client started it. That is a hurdle for an
// agent's shell and not a wall; SECURITY.md says what gets past it.
func (s *Server) person(r *http.Request) error {
	peer, err := platform.PeerOf(connOf(r))
	if err != nil {
		return err
	}
	line, err := platform.Ancestors(peer.PID)
	if err != nil {
		return abi.Errorf(abi.ErrConfirmationDenied, "confirm", "can't tell who asks: %w", err)
	}
	if line[0].TTY == "" {
		return abi.Errorf(abi.ErrConfirmationDenied, "confirm", "process %d has no terminal: a person has to decide", peer.PID)
	}
	if client, ok := s.clients.parentOf(line); ok {
		return abi.Errorf(abi.ErrConfirmationDenied, "confirm", "process %d was started by a connected MCP client (process %d): a person has to decide, in a terminal of their own", peer.PID, client.PID)
	}
	return nil
}

// joinMCP turns the connection into the byte stream of one MCP client.
func (s *Server) joinMCP(w http.ResponseWriter, r *http.Request) {
	principal, client, err := s.admit(r)
	if err != nil {
		_ = writeEvent(w, Event{Error: wireError(host.Safe(err))})
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.Logger.Error("joining an MCP client", slog.Any("error", err))
		return
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n"); err != nil {
		return
	}
	s.clients.add(client)
	defer s.clients.remove(client)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.Logger.Info("client joined", slog.String("client", principal.Name))
	if err := s.Daemon.ServeMCP(ctx, &bufferedConn{Conn: conn, in: buf.Reader}, principal); err != nil {
		s.Logger.Info("client left", slog.String("client", principal.Name), slog.Any("error", err))
	}
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
	principal, err := s.Clients.Ensure(p.Client)
	return principal, client, err
}
