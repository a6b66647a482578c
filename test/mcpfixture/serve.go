package mcpfixture

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
)

// ServeHTTP serves s on a port of 127.0.0.1 until stop is called, and returns the
// endpoint's URL. The protocol's suite has no tokens: where asSuite is set, its
// token is put in front of the server as shipped.
func ServeHTTP(ctx context.Context, s *mcpserver.Server, asSuite bool) (url string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	hosts := mcpserver.LocalHosts(l)
	o := mcpserver.HTTPOptions{Hosts: hosts}
	if asSuite { // it also tries what a page of the same address may do
		for _, h := range hosts {
			o.Origins = append(o.Origins, "http://"+h)
		}
	}
	handler := s.Handler(Auth, o)
	server := mcpserver.NewHTTPServer(handler)
	if asSuite {
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+TokenSuite)
			handler.ServeHTTP(w, r)
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(mcpserver.LimitConnections(l)) // ends with Close
	}()
	return "http://" + l.Addr().String() + "/mcp", func() {
		s.Close()
		_ = server.Close()
		<-done
	}, nil
}

// ServeStdio serves the client on stdin and stdout as the one with that token.
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer, token string) error {
	_, s, err := New()
	if err != nil {
		return err
	}
	who, ok := Auth(token)
	if !ok {
		return errors.New("no such client")
	}
	return s.ServeStdio(ctx, in, out, who)
}
