package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A server is one origin: a listener on 127.0.0.1 that answers to one name.
type server struct {
	host     string // such as "tracker.localhost"
	port     int
	listener net.Listener
	http     *http.Server  // nil before serve
	cancel   func()        // ends the context of every request
	done     chan struct{} // closed when Serve has returned
}

// listen binds 127.0.0.1:port; 0 picks a free port. Nothing is answered before
// serve, so that every handler can know all ports.
func listen(ctx context.Context, host string, port int) (*server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", host, err)
	}
	_, bound, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening for %s: %w", host, err), l.Close())
	}
	port, err = strconv.Atoi(bound)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening for %s: %w", host, err), l.Close())
	}
	return &server{host: host, port: port, listener: l, done: make(chan struct{})}, nil
}

// serve answers in the background until close, which ends requests too, also
// those whose connection became a WebSocket, and not before. conns may be nil.
func (s *server) serve(ctx context.Context, h http.Handler, conns func(net.Conn, http.ConnState)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.http = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         conns,
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s.listener) // its error only says that close was called
	}()
}

func (s *server) close() error {
	if s.http == nil {
		return s.listener.Close()
	}
	err := s.http.Close() // first, so that no handler that waits can still answer
	s.cancel()
	<-s.done
	return err
}

func (s *server) hostport() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

func (s *server) url() string { return "http://" + s.hostport() }

// onlyHost refuses requests that were sent to another name, as a server with
// several virtual hosts does: 127.0.0.1 and localhost are other origins.
func (s *server) onlyHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != s.hostport() {
			http.Error(w, "this server is "+s.url(), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Transport returns an HTTP transport that resolves names under .localhost to
// 127.0.0.1, as browsers do and as not every system's resolver does. It refuses
// every other address.
func Transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, fmt.Errorf("dialing %q: %w", addr, err)
			}
			if host != "localhost" && host != "127.0.0.1" && !strings.HasSuffix(host, ".localhost") {
				return nil, fmt.Errorf("dialing %q: only names under .localhost are served here", addr)
			}
			return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
	}
}
