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
	"os/exec"
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

// sshInstead puts a program in ssh's place that notes its arguments and runs the
// command here.
func sshInstead(t *testing.T, body string) (noted string) {
	t.Helper()
	dir := t.TempDir()
	noted = filepath.Join(dir, "noted")
	text := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; last=$a; done >>'" + noted + "'\n" + body + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GIT_SSH_COMMAND", "false") // ours decides
	return noted
}

func TestOverSSH(t *testing.T) {
	f := newOrigin(t, "main")
	noted := sshInstead(t, `for a; do last=$a; done; exec sh -c "$last"`)
	for _, form := range []string{"ssh://git@forge.example" + f.origin, "git@forge.example:" + f.origin, "ssh://forge.example:2222" + f.origin} {
		f.client = f.newClient()
		if _, err := f.client.AddRegistry(t.Context(), form, f.owner.Fingerprint()); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		f.mustInstall(tracker)
		args, err := os.ReadFile(noted)
		f.must(err)
		for _, want := range []string{"-oBatchMode=yes\n", "-oStrictHostKeyChecking=yes\n", "-oForwardAgent=no\n", "forge.example\n", "git-upload-pack '" + f.origin + "'"} {
			if !strings.Contains(string(args), want) {
				t.Errorf("%s: ssh wasn't given %q:\n%s", form, want, args)
			}
		}
		f.must(os.Remove(noted))
	}
}

// What ssh says reaches the user, although ssh ends its lines as a terminal in raw
// mode wants them, and git's advice comes after.
func TestWhatSSHSays(t *testing.T) {
	f := newOrigin(t, "main")
	for says, want := range map[string]error{
		"Host key verification failed.":                            abi.ErrUntrusted,
		"git@forge.example: Permission denied (publickey).":        abi.ErrForbidden,
		"ssh: Could not resolve hostname forge.example: not known": abi.ErrNotFound,
		"ERROR: Repository not found.":                             abi.ErrNotFound,
	} {
		for _, end := range []string{`\n`, `\r\n`} {
			sshInstead(t, "printf '"+says+end+"' >&2; exit 255")
			_, err := f.newClient().AddRegistry(t.Context(), "git@forge.example:"+f.origin, f.owner.Fingerprint())
			if !errors.Is(err, want) || !errors.Is(want, abi.ErrUntrusted) && !strings.Contains(err.Error(), says) {
				t.Errorf("%s%s: got %v, want %v", says, end, err, want)
			}
		}
	}
	_, err := f.newClient().AddRegistry(t.Context(), f.origin+"/nothing.git", f.owner.Fingerprint())
	if e, ok := errors.AsType[*abi.Error](err); !ok || !strings.Contains(e.Error(), "does not appear to be a git repository") || e.Hint == "" {
		t.Errorf("got %v", err)
	}
}

// Whatever the user's own configuration says of ssh, the registry's server gets
// no agent, no port and no display, and no connection stays. ssh itself says what
// it makes of it.
func TestSSHGivesNothingAway(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("ssh is not installed")
	}
	config := filepath.Join(t.TempDir(), "config")
	text := "Host *\n ForwardAgent yes\n ForwardX11 yes\n LocalForward 127.0.0.1:1 127.0.0.1:2\n RemoteForward 127.0.0.1:3 127.0.0.1:4\n" +
		" PermitLocalCommand yes\n LocalCommand id\n ControlMaster auto\n ControlPersist 10m\n StrictHostKeyChecking no\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields(sshCommand)[1:], "-F", config, "-G", "git@forge.example")
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		switch name, _, _ := strings.Cut(line, " "); name {
		case "localforward", "remoteforward", "dynamicforward":
			if !strings.Contains(string(out), "clearallforwardings yes") {
				t.Errorf("ssh has %q", line)
			}
		case "forwardagent", "forwardx11", "permitlocalcommand", "controlmaster":
			if line != name+" no" && line != name+" false" {
				t.Errorf("ssh has %q", line)
			}
		case "stricthostkeychecking":
			if line != name+" true" && line != name+" yes" {
				t.Errorf("ssh has %q", line)
			}
		}
	}
}

// A helper that stays in the background, as ssh's shared connections do, may keep
// git's messages open: what was fetched was fetched.
func TestOverSSHWithSomebodyLeftBehind(t *testing.T) {
	f := newOrigin(t, "main")
	pid := filepath.Join(t.TempDir(), "pid")
	sshInstead(t, `for a; do last=$a; done; sleep 600 </dev/null >/dev/null & echo $! >>'`+pid+`'; exec sh -c "$last"`)
	t.Cleanup(func() {
		list, _ := os.ReadFile(pid)
		for id := range strings.FieldsSeq(string(list)) {
			_ = exec.Command("kill", id).Run() //nolint:noctx // it ends at once
		}
	})
	if _, err := f.newClient().AddRegistry(t.Context(), "git@forge.example:"+f.origin, f.owner.Fingerprint()); err != nil {
		t.Error(err)
	}
}

// cutShort ends every answer with a pack after so many bytes, while it is on.
func cutShort(inner http.Handler, on *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !on.Load() || !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			inner.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		if body := rec.Body.Bytes(); bytes.Contains(body, []byte("PACK")) {
			w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = w.Write(body[:bytes.Index(body, []byte("PACK"))+40])
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// A transfer that breaks off changes nothing, and leaves nothing in the way of
// the next one.
func TestInterruptedTransfer(t *testing.T) {
	f := newOrigin(t, "main")
	inner := serveGit(t, f.origin).Config.Handler
	var cut atomic.Bool
	server := httptest.NewTLSServer(cutShort(inner, &cut))
	t.Cleanup(server.Close)
	trustServer(t, server)
	f.client = f.newClient()
	cut.Store(true)
	if _, err := f.client.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint()); err == nil {
		t.Fatal("half a registry was added")
	}
	if left, err := filepath.Glob(filepath.Join(f.client.cfg.Dir, "registries", "*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	cut.Store(false)
	_, err := f.client.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint())
	f.must(err)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	cut.Store(true)
	if _, err := f.install(tracker); err == nil {
		t.Error("an update came out of half a transfer")
	}
	f.wantActive("1.0.0")
	// What a killed git and a killed host leave.
	git := filepath.Join(f.registryDir(), "git")
	remains := []string{
		filepath.Join(git, "shallow.lock"), filepath.Join(git, "objects", "pack", "tmp_pack_x"),
		filepath.Join(git, "refs", "drawbridge", "incoming.lock"), filepath.Join(f.client.cfg.Dir, ".scratch-1"),
	}
	for _, path := range remains {
		f.must(os.WriteFile(path, nil, 0o600))
	}
	cut.Store(false)
	f.mustInstall(tracker)
	f.wantActive("1.1.0")
	for _, path := range remains {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// How far a transfer is comes from git alone, never from the other side.
func TestTransferProgress(t *testing.T) {
	f := newOrigin(t, "main")
	server := serveGit(t, f.origin)
	var mu sync.Mutex
	last := map[string]int{}
	ctx := WithTransfer(t.Context(), func(what string, percent int) {
		mu.Lock()
		defer mu.Unlock()
		last[what] = percent
	})
	f.client = f.newClient()
	if _, err := f.client.AddRegistry(ctx, server.URL+"/origin.git", f.owner.Fingerprint()); err != nil || last["receiving"] != 100 {
		t.Errorf("%v: %v", err, last)
	}

	var told []string
	filter := &progressFilter{next: &capped{}, report: func(what string, percent int) { told = append(told, fmt.Sprint(what, percent)) }}
	for _, part := range []string{
		"Receiving obj", "ects:   5% (1/20)\rReceiving objects: 100% (20/20), done.\n", "remote: Receiving objects: 7%\r",
		"remote: hello\nfatal: it broke\n", "Permission denied\r", "\nremote: 7%\r\r", "Receiving objects: 999%\r", strings.Repeat("x", 3*maxMessageLine), "\rResolving deltas:  50% (1/2)\r",
	} {
		if n, err := filter.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := []string{"receiving5", "receiving100", "resolving50"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if text := filter.next.String(); !strings.Contains(text, "fatal: it broke\nPermission denied\n") || strings.Contains(text, "7%") || strings.Contains(text, "Receiving objects: 100") || len(text) > 4*maxMessageLine {
		t.Errorf("the messages are %.200q", text)
	}
}

func TestHelperCommand(t *testing.T) {
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
