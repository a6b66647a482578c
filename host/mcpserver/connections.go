package mcpserver

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// Nobody keeps others out: neither a client with requests that wait or listen, nor
// a stranger, of whom nothing is known but that there is a connection.
const (
	maxConnections = 512
	maxOwnRequests = 320 // of one principal, over HTTP: calls that wait, and streams
)

// LimitConnections keeps 512 connections of l open: for one more, the longest one
// that serves no client is closed, or if there is none, the new one itself. It needs
// a server that NewHTTPServer made.
func LimitConnections(l net.Listener) net.Listener { return &limitListener{Listener: l} }

type limitListener struct {
	net.Listener

	mu   sync.Mutex
	open []*limitConn // the longest open first
}

// Accept returns the next connection that there is room for.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := &limitConn{Conn: c, all: l}
		gone, ok := l.add(conn)
		if gone != nil {
			_ = gone.Conn.Close() // whoever it was did not ask for anything
		}
		if ok {
			return conn, nil
		}
		_ = c.Close() // nothing was read or written
	}
}

// add takes a connection in, in the place of another if need be.
func (l *limitListener) add(c *limitConn) (gone *limitConn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= maxConnections {
		i := slices.IndexFunc(l.open, func(o *limitConn) bool { return o.serves == 0 })
		if i < 0 {
			return nil, false
		}
		gone = l.open[i]
		l.drop(gone)
	}
	l.open = append(l.open, c)
	return gone, true
}

// drop needs l.mu.
func (l *limitListener) drop(c *limitConn) {
	if i := slices.Index(l.open, c); i >= 0 {
		l.open = slices.Delete(l.open, i, i+1)
	}
}

type limitConn struct {
	net.Conn
	all    *limitListener
	serves int // requests of clients; guarded by all.mu
}

// Close closes the connection and makes room for another.
func (c *limitConn) Close() error {
	c.all.mu.Lock()
	c.all.drop(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

func (c *limitConn) serve(more int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.serves += more
}

type connKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// requests counts those that are being served, and the bytes of their messages, by
// principal.
type requests struct {
	mu      sync.Mutex
	running map[string]int
	bytes   map[string]int64
}

// hold makes room for a message of so many bytes, within most. What was held is to
// be let go.
func (q *requests) hold(who host.Principal, size, most int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes[who.ID]+size > most {
		return false
	}
	q.bytes[who.ID] += size
	return true
}

func (q *requests) letGo(who host.Principal, size int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes[who.ID] -= size; q.bytes[who.ID] == 0 {
		delete(q.bytes, who.ID)
	}
}

// enter counts a client's request in, until leave is called. It fails if the client
// has too many.
func (q *requests) enter(r *http.Request, who host.Principal) (leave func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running[who.ID] >= maxOwnRequests {
		return nil, false
	}
	q.running[who.ID]++
	conn, limited := r.Context().Value(connKey{}).(*limitConn)
	if limited {
		conn.serve(1)
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.running[who.ID]--; q.running[who.ID] == 0 {
			delete(q.running, who.ID)
		}
		if limited {
			conn.serve(-1)
		}
	}, true
}
