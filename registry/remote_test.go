package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

const secret = "open-sesame-1753"

// A privateServer is a forge that wants ada and her password.
type privateServer struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []string // users of requests, - for none
	extra []string // other headers that a user's configuration could add
}

// servePrivate serves a registry to who knows the secret.
func servePrivate(t *testing.T, origin string) *privateServer {
	t.Helper()
	p := &privateServer{}
	inner := serveGit(t, origin).Config.Handler
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		p.mu.Lock()
		if !ok {
			user = "-"
		}
		p.seen = append(p.seen, user)
		if v := r.Header.Get("X-Extra"); v != "" {
			p.extra = append(p.extra, v)
		}
		p.mu.Unlock()
		if user != "ada" || password != secret {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	trustServer(t, p.Server)
	return p
}

// userHome makes a home directory with a git configuration and files.
func userHome(t *testing.T, config string, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	if files == nil {
		files = map[string]string{}
	}
	files[".gitconfig"] = config
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// A helper that answers, and one that writes down what it is asked.
const (
	answering = `!f() { test "$1" = get && printf 'username=ada\npassword=` + secret + `\n'; }; f`
	noting    = "#!/bin/sh\necho \"$1\" >>\"$HOME/asked\"\ncat >/dev/null\ntest \"$1\" != get || printf 'username=ada\\npassword=wrong\\n'\n"
)

// Credentials come from git's own helpers, in whichever form they are set, and
// are kept nowhere.
func TestCredentialsOfTheUsersGit(t *testing.T) {
	f := newOrigin(t, "main")
	for name, c := range map[string]struct {
		config func(server *url.URL) string
		files  func(server *url.URL) map[string]string
		want   error
		says   string // in the error
	}{
		"a shell snippet": {func(*url.URL) string { return "[credential]\n\thelper = " + fmt.Sprintf("%q", answering) + "\n" }, nil, nil, ""},
		"git's own store, for one address": {
			func(u *url.URL) string { return fmt.Sprintf("[credential \"https://%s\"]\n\thelper = store\n", u.Host) },
			func(u *url.URL) map[string]string {
				return map[string]string{".git-credentials": "https://ada:" + secret + "@" + u.Host + "\n"}
			}, nil, "",
		},
		"the store's answer for another host": {
			func(*url.URL) string { return "[credential]\n\thelper = store\n" },
			func(*url.URL) map[string]string {
				return map[string]string{".git-credentials": "https://ada:" + secret + "@elsewhere.example\n"}
			}, abi.ErrForbidden, "no credential helper that knows",
		},
		"a helper of another address": {
			func(*url.URL) string {
				return "[credential \"https://elsewhere.example\"]\n\thelper = " + fmt.Sprintf("%q", answering) + "\n"
			}, nil, abi.ErrForbidden, "no credential helper that knows",
		},
		"one that is taken back": {
			func(*url.URL) string {
				return "[credential]\n\thelper = " + fmt.Sprintf("%q", answering) + "\n\thelper =\n"
			}, nil, abi.ErrForbidden, "no credential helper that knows",
		},
		"none": {func(*url.URL) string { return "" }, nil, abi.ErrForbidden, "no credential helper that knows"},
		"a .netrc": {
			func(*url.URL) string { return "" },
			func(u *url.URL) map[string]string {
				return map[string]string{".netrc": "machine " + u.Hostname() + " login ada password " + secret + "\n"}
			}, abi.ErrForbidden, "no credential helper that knows",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := *f
			f.t = t
			server := servePrivate(t, f.origin)
			u, err := url.Parse(server.URL)
			f.must(err)
			var files map[string]string
			if c.files != nil {
				files = c.files(u)
			}
			userHome(t, c.config(u), files)
			f.client = f.newClient()
			_, err = f.client.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint())
			if !errors.Is(err, c.want) || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret)) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want == nil {
				f.mustInstall(tracker)
			}
			wantKeptNowhere(t, f.client.cfg.Dir)
		})
	}
}

// wantKeptNowhere looks for the secret in every file below dir.
func wantKeptNowhere(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

// A wrong password is said to be, once, and git tells its helper to forget it.
func TestWrongPassword(t *testing.T) {
	f := newOrigin(t, "main")
	server := servePrivate(t, f.origin)
	home := userHome(t, "", map[string]string{"helper": noting})
	f.must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[credential]\n\thelper = "+filepath.Join(home, "helper")+"\n"), 0o600))
	_, err := f.newClient().AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint())
	if !errors.Is(err, abi.ErrForbidden) || !strings.Contains(err.Error(), "refuses what git's credential helper says") {
		t.Errorf("got %v", err)
	}
	asked, err := os.ReadFile(filepath.Join(home, "asked"))
	if err != nil || string(asked) != "get\nerase\n" {
		t.Errorf("the helper was asked %q, %v", asked, err)
	}
	if !slices.Equal(server.seen, []string{"-", "ada"}) {
		t.Errorf("requests by %q", server.seen)
	}
}

// Nothing but what is on the list comes from the user's configuration.
func TestOtherUserSettingsAreNotTaken(t *testing.T) {
	f := newOrigin(t, "main")
	server := servePrivate(t, f.origin)
	config := "[credential]\n\thelper = " + fmt.Sprintf("%q", answering) + "\n" +
		"[http]\n\textraHeader = X-Extra: generic\n\tfollowRedirects = true\n\tsslVerify = false\n" +
		"[http \"" + server.URL + "\"]\n\textraHeader = X-Extra: of this address\n\tsslVerify = false\n\tfollowRedirects = true\n" +
		"[url \"https://elsewhere.invalid/\"]\n\tinsteadOf = https://\n[protocol]\n\tallow = always\n[fetch]\n\tfsckObjects = false\n" +
		"[core]\n\tsshCommand = false\n\taskPass = false\n\tgitProxy = false\n"
	userHome(t, config, nil)
	c := f.newClient()
	if _, err := c.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint()); err != nil {
		t.Error(err)
	}
	if len(server.extra) > 0 {
		t.Errorf("headers of the user's configuration were sent: %q", server.extra)
	}
	f.must(os.Unsetenv("GIT_SSL_CAINFO")) // now nobody vouches for the server; trustServer puts it back
	if _, err := f.newClient().AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint()); !errors.Is(err, abi.ErrNotFound) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody trusts: %v", err)
	}
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.invalid"+r.URL.String(), http.StatusFound)
	})
	trustServer(t, server.Server)
	if _, err := f.newClient().AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint()); !errors.Is(err, abi.ErrNotFound) || !strings.Contains(err.Error(), "leads to another address") {
		t.Errorf("a redirect: %v", err)
	}
}

func TestTakenKeys(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"credential.helper": "credential.helper", "credential.https://git.example/a.b.helper": "credential.helper",
		"credential.https://h.usehttppath": "credential.usehttppath", "http.proxy": "http.proxy",
		"http.https://h.sslcainfo": "http.sslcainfo", "http.https://h/http.proxy": "http.proxy",
	} {
		if got, ok := takenKey(key); !ok || got != want {
			t.Errorf("%q is %q, %v", key, got, ok)
		}
	}
	for _, key := range []string{
		"http.sslverify", "http.https://h.sslverify", "http.extraheader", "http.cookiefile", "http.followredirects", "core.sshcommand",
		"url.https://x.insteadof", "credential", "credentialhelper", "", "remote.x.proxy", "http.https://h/http.proxy.sslverify",
	} {
		if got, ok := takenKey(key); ok {
			t.Errorf("%q is taken as %q", key, got)
		}
	}
}

// connectProxy is a proxy that connects to whatever it is asked for.
func connectProxy(t *testing.T) (string, *atomic.Int32) {
	t.Helper()
	var used atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		used.Add(1)
		to, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = to.Close() }()
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = from.Close() }()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from) }()
		_, _ = io.Copy(from, to)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL, &used
}

// A proxy counts from git's configuration and from the environment.
func TestProxy(t *testing.T) {
	f := newOrigin(t, "main")
	server := serveGit(t, f.origin)
	proxy, used := connectProxy(t)
	for name, set := range map[string]func(){
		"git's configuration": func() { userHome(t, "[http]\n\tproxy = "+proxy+"\n", nil) },
		"the environment": func() {
			userHome(t, "", nil)
			t.Setenv("https_proxy", proxy)
		},
	} {
		used.Store(0)
		set()
		if _, err := f.newClient().AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint()); err != nil || used.Load() == 0 {
			t.Errorf("%s: %v, the proxy was used %d times", name, err, used.Load())
		}
	}
}

func TestHelperCommand(t *testing.T) {
	t.Parallel()
	home := func(string) string { return "/home/o'brien" }
	const before = `!ulimit -S -v unlimited 2>/dev/null; export HOME='/home/o'\''brien'; `
	for value, want := range map[string]string{
		"": "", "store": before + "git credential-store", "cache --timeout 9": before + "git credential-cache --timeout 9",
		"!gh auth git-credential": before + "gh auth git-credential", "/opt/helper -v": before + "/opt/helper -v",
	} {
		if got := helperCommand(value, home); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte("credential.helper\nstore\x00http.proxy\nhttp://p\x00alone\x00"))
	f.Add([]byte("\x00\n\x00\n\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range parseSettings(data) {
			if strings.ContainsAny(s.key+s.value, "\x00\n") {
				t.Errorf("%q has an entry %+v", data, s)
			}
		}
	})
}

// Without git there is no registry, and the error says so.
func TestWithoutGit(t *testing.T) {
	f := newOrigin(t, "main")
	f.client = f.newClient()
	if _, err := f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	for name, do := range map[string]func() error{
		"add": func() error {
			_, err := f.newClient().AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
			return err
		},
		"refresh": func() error { _, err := f.client.Refresh(t.Context(), "main"); return err },
	} {
		e, ok := errors.AsType[*abi.Error](do())
		if !ok || e.Code != abi.ErrUnsupportedAction || !strings.Contains(e.Error(), "git does not run") || !strings.Contains(e.Hint, "install git") {
			t.Errorf("%s: got %v", name, e)
		}
	}
}
