package site

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
)

// A Recorder is a foreign server: it answers everything kindly and notes what
// it saw, so that a test can assert that it saw nothing. It listens on 127.0.0.1
// under the name that it was given.
type Recorder struct {
	log    *requestLog
	server *server
	conns  atomic.Int64
}

// NewRecorder starts a recorder, such as NewRecorder(ctx, "evil.localhost"). It
// ends with ctx or Close.
func NewRecorder(ctx context.Context, host string) (*Recorder, error) {
	srv, err := listen(ctx, host, 0)
	if err != nil {
		return nil, err
	}
	r := &Recorder{log: newRequestLog(), server: srv}
	srv.serve(ctx, r.log.record(host, http.HandlerFunc(r.answer)), func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			r.conns.Add(1)
		}
	})
	context.AfterFunc(ctx, func() { _ = r.Close() })
	return r, nil
}

// URL is the recorder's origin, such as "http://evil.localhost:40123".
func (r *Recorder) URL() string { return r.server.url() }

// Requests returns all requests, WebSocket handshakes and messages (method WS)
// included, oldest first.
func (r *Recorder) Requests() []Request { return r.log.list() }

// Conns counts the connections that were opened, also those without a request,
// such as a preconnect or a TLS handshake.
func (r *Recorder) Conns() int { return int(r.conns.Load()) }

// Wait returns the first request that match accepts, whether it was received
// already or comes before ctx ends. A test that asserts silence should first
// wait for something that follows what it fears.
func (r *Recorder) Wait(ctx context.Context, match func(Request) bool) (Request, error) {
	return r.log.wait(ctx, match)
}

// Reset forgets all requests and connections.
func (r *Recorder) Reset() {
	r.log.clear()
	r.conns.Store(0)
}

// Close stops the recorder. It may be called more than once.
func (r *Recorder) Close() error { return r.server.close() }

// answer allows every origin and method, so that nothing but the host under
// test keeps a page from coming here.
func (r *Recorder) answer(w http.ResponseWriter, req *http.Request) {
	if (Request{Header: req.Header}).IsUpgrade() {
		r.answerWS(w, req)
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "*")
	h.Set("Access-Control-Allow-Headers", "*")
	h.Set("Cache-Control", "no-store")
	switch {
	case strings.HasSuffix(req.URL.Path, ".js"):
		h.Set("Content-Type", "text/javascript")
	case strings.HasSuffix(req.URL.Path, ".css"):
		h.Set("Content-Type", "text/css")
	default:
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>Recorder</title><p id=recorder>recorded"))
	}
}

func (r *Recorder) answerWS(w http.ResponseWriter, req *http.Request) {
	c, err := upgrade(w, req)
	if err != nil {
		return
	}
	defer c.close()
	for {
		text, err := c.readText()
		if err != nil {
			return
		}
		r.log.add(Request{Server: r.server.host, Method: "WS", Target: req.RequestURI, Host: req.Host, Body: text})
	}
}
