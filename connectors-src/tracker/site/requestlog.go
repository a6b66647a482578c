package site

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
)

const (
	maxLogged     = 10_000   // requests kept; the oldest go first
	maxLoggedBody = 64 << 10 // bytes of a body kept
)

// A Request is what a server received, noted before anything was decided.
type Request struct {
	Seq    int         `json:"seq"`    // counts all requests of this log, from 1
	Server string      `json:"server"` // the host name that answers, such as "tracker.localhost"
	Method string      `json:"method"` // "WS" for a message on an open WebSocket
	Target string      `json:"target"` // path and query as sent
	Host   string      `json:"host"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"` // at most 64 KiB
}

// Path is the target without its query.
func (r Request) Path() string {
	path, _, _ := bytes.Cut([]byte(r.Target), []byte("?"))
	return string(path)
}

// IsUpgrade reports whether the request asked for a WebSocket.
func (r Request) IsUpgrade() bool { return headerHas(r.Header, "Upgrade", "websocket") }

// A requestLog keeps requests in the order of their arrival.
type requestLog struct {
	mu      sync.Mutex
	seq     int
	all     []Request
	changed chan struct{} // closed and replaced at every request
}

func newRequestLog() *requestLog { return &requestLog{changed: make(chan struct{})} }

func (l *requestLog) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	r.Seq = l.seq
	if len(l.all) == maxLogged {
		l.all = slices.Delete(l.all, 0, maxLogged/10)
	}
	l.all = append(l.all, r)
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *requestLog) list() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}

// wait returns the first request that match accepts, whether it is there
// already or comes before ctx ends.
func (l *requestLog) wait(ctx context.Context, match func(Request) bool) (Request, error) {
	for {
		l.mu.Lock()
		i, changed := slices.IndexFunc(l.all, match), l.changed
		var found Request
		if i >= 0 {
			found = l.all[i]
		}
		l.mu.Unlock()
		if i >= 0 {
			return found, nil
		}
		select {
		case <-ctx.Done():
			return Request{}, context.Cause(ctx)
		case <-changed:
		}
	}
}

// record notes each request and hands it on with its body whole.
func (l *requestLog) record(server string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head, err := io.ReadAll(io.LimitReader(r.Body, maxLoggedBody))
		l.add(Request{
			Server: server, Method: r.Method, Target: r.RequestURI, Host: r.Host,
			Header: r.Header.Clone(), Body: string(head),
		})
		if err != nil {
			http.Error(w, "the request's body ended early", http.StatusBadRequest)
			return
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
		next.ServeHTTP(w, r)
	})
}
