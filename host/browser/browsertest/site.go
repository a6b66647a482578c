package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Site is a small web server that records every request. It answers to all
// names under .localhost, which Chromium resolves to this machine itself, so
// that origins, sites and cookies really differ.
type Site struct {
	server *httptest.Server
	port   string

	mu    sync.Mutex
	pages map[string]http.HandlerFunc // by path
	hits  []Hit
	news  chan struct{} // closed and replaced at every hit
}

// A Hit is one request that reached the server.
type Hit struct {
	Method string
	Host   string // without the port
	Path   string // with the query
	Header http.Header
	Body   string
}

// NewSite starts a server that ends with the test.
func NewSite(tb testing.TB) *Site {
	tb.Helper()
	s := &Site{pages: map[string]http.HandlerFunc{}, news: make(chan struct{})}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	u, err := url.Parse(s.server.URL)
	if err != nil {
		tb.Fatal(err)
	}
	s.port = u.Port()
	tb.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

// Origin returns the origin that is called name.
func (s *Site) Origin(name string) string { return fmt.Sprintf("http://%s.localhost:%s", name, s.port) }

// URL returns the address of a path at the origin that is called name.
func (s *Site) URL(name, path string) string { return s.Origin(name) + path }

// Handle serves a path, at every origin.
func (s *Site) Handle(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = h
}

// HTML serves a document. In it "{port}" stands for the server's port.
func (s *Site) HTML(path, body string) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html>" + strings.ReplaceAll(body, "{port}", s.port)))
	})
}

// Script serves JavaScript, to service workers of the whole origin too.
func (s *Site) Script(path, body string) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Service-Worker-Allowed", "/")
		_, _ = w.Write([]byte(strings.ReplaceAll(body, "{port}", s.port)))
	})
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	if _, err := fmt.Fprint(&body, readAll(r)); err != nil {
		return
	}
	host, _, _ := strings.Cut(r.Host, ".")
	s.mu.Lock()
	s.hits = append(s.hits, Hit{Method: r.Method, Host: host, Path: r.URL.RequestURI(), Header: r.Header, Body: body.String()})
	close(s.news)
	s.news = make(chan struct{})
	h := s.pages[r.URL.Path]
	s.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h(w, r)
}

// Hits returns what has reached the server so far.
func (s *Site) Hits() []Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hits)
}

// Forget empties the record.
func (s *Site) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits = nil
}

// Saw reports whether a request whose path starts with prefix has arrived.
func (s *Site) Saw(prefix string) bool {
	return slices.ContainsFunc(s.Hits(), func(h Hit) bool { return strings.HasPrefix(h.Path, prefix) })
}

// WaitFor waits until a request whose path starts with prefix has arrived.
func (s *Site) WaitFor(prefix string, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		if s.Saw(prefix) {
			return true
		}
		select {
		case <-news:
		case <-timer.C:
			return s.Saw(prefix)
		}
	}
}

func readAll(r *http.Request) string {
	var b strings.Builder
	buf := make([]byte, 32<<10)
	for b.Len() < 4<<20 {
		n, err := r.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	return b.String()
}

// Text answers with plain text.
func Text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(body))
	}
}
