package registry

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// serveGit serves a bare repository over https as a forge does, and makes git
// trust the server's certificate.
func serveGit(t *testing.T, origin string) *httptest.Server {
	t.Helper()
	execPath, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("not run: git-http-backend isn't installed")
	}
	server := httptest.NewTLSServer(&cgi.Handler{
		Path: backend,
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(origin), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	})
	t.Cleanup(server.Close)
	trustServer(t, server)
	return server
}

func trustServer(t *testing.T, server *httptest.Server) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSL_CAINFO", ca)
}

func TestOverHTTPS(t *testing.T) {
	f := newOrigin(t, "main")
	server := serveGit(t, f.origin)
	f.client = f.newClient()
	if _, err := f.client.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	f.mustInstall(tracker)
	f.publish("1.1.0")
	f.mustInstall(tracker)
	f.wantActive("1.1.0")
}

// A redirect could lead anywhere, with whatever the user sends.
func TestRedirectIsRefused(t *testing.T) {
	f := newOrigin(t, "main")
	server := serveGit(t, f.origin)
	redirect := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, server.URL+r.URL.String(), http.StatusFound)
	}))
	redirect.TLS = server.TLS.Clone()
	redirect.StartTLS()
	t.Cleanup(redirect.Close)
	_, err := f.newClient().AddRegistry(t.Context(), redirect.URL+"/origin.git", f.owner.Fingerprint())
	if !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("got %v, want not_found", err)
	}
}

// A server that isn't there has not said that it has no such registry.
func TestNobodyAnswers(t *testing.T) {
	f := newFixture(t)
	server := serveGit(t, f.origin)
	url := server.URL + "/origin.git"
	c := f.newClient()
	_, err := c.AddRegistry(t.Context(), url, f.owner.Fingerprint())
	f.must(err)
	server.Close()
	if _, err := c.Refresh(t.Context(), "main"); !errors.Is(err, abi.ErrTimeout) {
		t.Errorf("a refresh: %v", err)
	}
	if err := c.Reach(t.Context(), "main"); !errors.Is(err, abi.ErrTimeout) {
		t.Errorf("a look: %v", err)
	}
}

// A server that accepts and never answers ends with the caller's deadline, with
// git and its helper.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := listener.Accept()
		cancel() // git is waiting for us now
		if err == nil {
			<-t.Context().Done()
			_ = conn.Close()
		}
	}()
	f := newOrigin(t, "main")
	c := f.newClient()
	if _, err := c.AddRegistry(ctx, "https://"+listener.Addr().String()+"/x.git", f.owner.Fingerprint()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	if list, err := c.Registries(); err != nil || len(list) != 0 {
		t.Errorf("registries %+v, %v", list, err)
	}
}

// publishURL publishes a release whose module isn't in the registry.
func (f *fixture) publishURL(version, url string) {
	f.t.Helper()
	m, err := release.ParseManifest([]byte(strings.Replace(manifest, "%s", version, 1)))
	f.must(err)
	r, err := release.Build(m, release.BuildInfo{
		Registry: f.id, Namespace: "acme", Module: wasmOf(version), ModuleURL: url, Imports: []string{"read"},
	})
	f.must(err)
	f.must(f.m.Publish(f.t.Context(), f.keys, f.submission(r, f.publisher)))
	_, err = f.m.repo.run(f.t.Context(), nil, "update-ref", "-d", artifactRef(r.Module.SHA256))
	f.must(err)
}

func TestModuleByURL(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(wasmOf("1.1.0"))
	}))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		check  func(f *fixture, err error)
	}{
		"right": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wasmOf("1.1.0")) },
			func(f *fixture, err error) {
				f.must(err)
				f.wantActive("1.1.0")
			},
		},
		"other bytes": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wasmOf("6.6.6")) },
			func(f *fixture, err error) { wantRefused(f.t, err, abi.ReasonTampered, f.publisher) },
		},
		"endless": {
			func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					if _, err := w.Write(make([]byte, 1<<16)); err != nil {
						return
					}
				}
			},
			func(f *fixture, err error) { wantRefused(f.t, err, abi.ReasonTampered, f.publisher) },
		},
		"missing": {
			http.NotFound,
			func(f *fixture, err error) { wantNotFound(f.t, err) },
		},
		"redirect to another host": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
			func(f *fixture, err error) { wantNotFound(f.t, err) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(c.answer))
			t.Cleanup(server.Close)
			f := newFixture(t)
			f.client.cfg.HTTP = server.Client()
			f.now = f.now.Add(1)
			f.publishURL("1.1.0", server.URL+"/tracker.wasm")
			_, err := f.install(tracker)
			c.check(f, err)
		})
	}
}

func wantNotFound(tb testing.TB, err error) {
	tb.Helper()
	if !errors.Is(err, abi.ErrNotFound) {
		tb.Errorf("got %v, want not_found", err)
	}
}

// What the user's own git is configured to do doesn't reach ours.
func TestUserConfigurationIsNotRead(t *testing.T) {
	f := newFixture(t)
	home := t.TempDir()
	mark := filepath.Join(home, "mark")
	config := "[core]\n\thooksPath = " + home + "\n\tfsmonitor = touch " + mark +
		"\n[uploadpack]\n\tpackObjectsHook = touch " + mark + ";\n[url \"/nowhere/\"]\n\tinsteadOf = /\n"
	f.must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'protocol.allow=always'")
	f.mustInstall(tracker)
	f.wantActive("1.0.0")
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command from the user's configuration ran")
	}
}
