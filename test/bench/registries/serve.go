package main

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/cgi" //nolint:gosec // Git's own server is a CGI program; Go has removed the header Proxy since 1.6.3
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// A server serves a folder's bare repositories as a forge does, by "git
// http-backend" over https on the loopback, and its files; and counts every byte
// that goes over its connections, TLS included.
type server struct {
	*httptest.Server
	moved atomic.Int64
	ca    string // file with its certificate
}

// errNoBackend says that Git's server isn't installed.
var errNoBackend = errors.New("git http-backend isn't installed")

// serve serves the repositories in dir, and the one in registry under its name.
func serve(ctx context.Context, dir, registry string) (*server, error) {
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, err
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return nil, errNoBackend
	}
	mux := http.NewServeMux()
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dir))))
	// No deltas between modules, so that the server isn't what is measured.
	for path, root := range map[string]string{"/": dir, "/registry.git/": filepath.Dir(registry)} {
		mux.Handle(path, &cgi.Handler{
			Path: backend,
			Env: []string{
				"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=2",
				"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
				"GIT_CONFIG_KEY_1=core.bigFileThreshold", "GIT_CONFIG_VALUE_1=64k",
			},
		})
	}
	s := &server{Server: httptest.NewUnstartedServer(mux), ca: filepath.Join(dir, "ca.pem")}
	s.Listener = countingListener{s.Listener, &s.moved}
	s.StartTLS()
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(s.ca, block, 0o600); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// env makes git and Go programs trust the server and nothing else of the user's.
func (s *server) env(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C",
		"GIT_SSL_CAINFO=" + s.ca, "SSL_CERT_FILE=" + s.ca, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	}
}

type countingListener struct {
	net.Listener
	moved *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c, l.moved}, nil
}

type countingConn struct {
	net.Conn
	moved *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.moved.Add(int64(n))
	return n, err
}

func (c countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.moved.Add(int64(n))
	return n, err
}
