package browser_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
)

// launch starts a browser of the test's own.
func launch(ctx context.Context, t *testing.T, o browser.Options) *browser.Browser {
	t.Helper()
	if o.ProfileDir == "" {
		o.ProfileDir = t.TempDir()
	}
	o.Headless = true
	b, err := browser.Launch(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close() //nolint:errcheck // some tests end it themselves
		<-b.Exited()
	})
	return b
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, b *browser.Browser) *browser.Page {
	t.Helper()
	p, err := b.Open(deadline(t), browser.Policy{Check: func(browser.Request) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func visit(t *testing.T, p *browser.Page, url string) {
	t.Helper()
	if _, err := p.Navigate(deadline(t), browser.Navigation{URL: url}); err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code abi.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("error = %v, want code %s", err, code)
	}
}

// endless runs a call that only an event can end.
func endless(t *testing.T, p *browser.Page) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.Wait(deadline(t), nil, "#never", "", time.Minute) }()
	return done
}

func TestTabClosed(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/a", "<body>a")
	p := open(t, shared(t))
	visit(t, p, site.URL("app", "/a"))
	done := endless(t, p)
	p.CloseTarget()
	wantCode(t, <-done, abi.ErrPageClosed)
	_, err := p.Info(deadline(t))
	wantCode(t, err, abi.ErrPageClosed)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestProfile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "profile")
	b := launch(deadline(t), t, browser.Options{ProfileDir: dir})
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("profile: %v, %v", info.Mode(), err)
	}
	_, err := browser.Launch(deadline(t), browser.Options{ProfileDir: dir, Headless: true})
	wantCode(t, err, abi.ErrBrowserGone)
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("the error does not name the profile: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "DevToolsActivePort")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the browser listens on a port: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-b.Exited():
	default:
		t.Error("after Close the process is still there")
	}
}

func TestLaunchErrors(t *testing.T) {
	for name, o := range map[string]browser.Options{
		"missing":  {Exec: "/nonexistent/chromium", ProfileDir: t.TempDir(), Headless: true},
		"silent":   {Exec: "/bin/true", ProfileDir: t.TempDir(), Headless: true},
		"relative": {ProfileDir: "profile"},
	} {
		b, err := browser.Launch(deadline(t), o)
		var e *abi.Error
		if b != nil || !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
	silent := func(i int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		script := filepath.Join(t.TempDir(), fmt.Sprint("mute", i))
		if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := browser.Launch(ctx, browser.Options{Exec: script, ProfileDir: t.TempDir(), Headless: true})
		return err
	}
	wantCode(t, silent(1), abi.ErrTimeout)
}

// A window that nobody could see is not begun, nor with the variable of another
// display than the one that is asked for.
func TestLaunchWithoutADisplay(t *testing.T) {
	t.Setenv("WAYLAND_DISPLAY", "")
	for _, c := range []struct {
		ours    string
		display []string
		code    abi.Code
	}{
		{"", nil, abi.ErrUnsupportedAction},
		{"", []string{"XAUTHORITY=/x"}, abi.ErrUnsupportedAction},
		{":1", []string{"DISPLAY="}, abi.ErrUnsupportedAction},
		{":1", nil, abi.ErrBrowserGone}, // it is tried, and there is no such program
		{"", []string{"WAYLAND_DISPLAY=wayland-1"}, abi.ErrBrowserGone},
	} {
		t.Setenv("DISPLAY", c.ours)
		_, err := browser.Launch(deadline(t), browser.Options{Exec: "/nonexistent/chromium", ProfileDir: t.TempDir(), Display: c.display})
		wantCode(t, err, c.code)
	}
}

func TestCookies(t *testing.T) {
	site := browsertest.NewSite(t)
	site.Handle("/in", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "secret-1", HttpOnly: true})
		fmt.Fprint(w, "<body>in")
	})
	site.Handle("/who", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		c, _ := r.Cookie("sid")
		fmt.Fprintf(w, "<body><p id=who>%v", c)
	})
	b := launch(deadline(t), t, browser.Options{})
	visit(t, open(t, b), site.URL("cookie", "/in"))
	c, err := b.Cookies(deadline(t))
	if err != nil || c.Len() != 1 || strings.Contains(fmt.Sprintf("%v %+v %s %#v", c, c, c, c), "secret-1") {
		t.Fatalf("Cookies = %v, %v", c, err)
	}
	if err := shared(t).SetCookies(deadline(t), c); err != nil {
		t.Fatal(err)
	}
	p := open(t, shared(t))
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("cookie", "/who"))
	if who, _, err := p.Text(deadline(t), nil, "#who", ""); err != nil || who != "sid=secret-1" {
		t.Errorf("the other browser is %q, %v", who, err)
	}
}

// What is forgotten is gone, stored data too, and nothing else is.
func TestForget(t *testing.T) {
	site := browsertest.NewSite(t)
	site.Handle("/in", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: "own", Value: "1", HttpOnly: true, MaxAge: 3600})
		if strings.HasPrefix(r.Host, "in.") {
			http.SetCookie(w, &http.Cookie{Name: "shared", Value: "1", Domain: "forget.localhost"})
		}
		fmt.Fprint(w, "<body><p id=had></p><script>had.textContent = localStorage.mark || 'nothing'; localStorage.mark = 'mark'</script>")
	})
	site.Handle("/who", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<body><p id=who>%d cookies", len(r.Cookies()))
	})
	b := launch(deadline(t), t, browser.Options{})
	p := open(t, b)
	show := func(host, path, selector string) string {
		visit(t, p, site.URL(host, path))
		text, _, err := p.Text(deadline(t), nil, selector, "")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, host := range []string{"in.forget", "stays"} {
		show(host, "/in", "#had")
	}
	mine := func(domain string, below bool) bool {
		return domain == "in.forget.localhost" || below && domain == "forget.localhost"
	}
	n, err := b.Forget(deadline(t), mine, []string{strings.TrimSuffix(site.URL("in.forget", "/"), "/")})
	if err != nil || n != 2 {
		t.Errorf("it removed %d cookies, %v", n, err)
	}
	for host, want := range map[string]string{"in.forget": "0 cookies", "stays": "1 cookies"} {
		if got := show(host, "/who", "#who"); got != want {
			t.Errorf("%s has %s", host, got)
		}
	}
	if got := show("in.forget", "/in", "#had") + ", " + show("stays", "/in", "#had"); got != "nothing, mark" {
		t.Errorf("stored: %s", got)
	}
}

// A counter counts the commands that go over a transport.
type counter struct {
	chromedp.Transport
	mu   sync.Mutex
	sent []string
}

func (c *counter) Write(ctx context.Context, m *cdproto.Message) error {
	c.mu.Lock()
	c.sent = append(c.sent, string(m.Method))
	c.mu.Unlock()
	return c.Transport.Write(ctx, m)
}

func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sent
	c.sent = nil
	return s
}

func TestOneMessage(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/a", "<title>a</title><link rel=icon href=data:,><body><p class=r>1<p class=r>2")
	site.HTML("/b", "b")
	var c *counter
	b := launch(deadline(t), t, browser.Options{Wrap: func(tr chromedp.Transport) chromedp.Transport {
		c = &counter{Transport: tr}
		return c
	}})
	p := open(t, b)
	visit(t, p, site.URL("app", "/a"))
	ctx := deadline(t)
	const one = "[Runtime.callFunctionOn]"
	for _, call := range []struct {
		name, want string
		f          func() error
	}{
		{"extract", one, func() error {
			_, err := p.Extract(ctx, abi.Extraction{Rows: ".r", Cols: []abi.Col{{Name: "a"}}})
			return err
		}},
		{"extract-html", one, func() error {
			_, err := p.ExtractHTML(ctx, "<p>", "http://a/", abi.Extraction{Cols: []abi.Col{{Name: "a"}}})
			return err
		}},
		{"wait", one, func() error { return p.Wait(ctx, nil, ".r", "", 0) }},
		// The second is the guard's answer to the request itself.
		{"fetch", "[Runtime.callFunctionOn Fetch.continueRequest]", func() error {
			_, err := p.Fetch(ctx, browser.Fetch{Method: "GET", URL: site.URL("app", "/b")})
			return err
		}},
	} {
		c.take()
		if err := call.f(); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.take()); got != call.want {
			t.Errorf("%s sent %s, want %s", call.name, got, call.want)
		}
	}
}

// TestForeignTabs shows that somebody else's tab runs while ours is guarded.
func TestForeignTabs(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/theirs", `<body><script>fetch("/write",{method:"POST"})</script>`)
	site.HTML("/ours", `<body>x`)
	p, err := shared(t).Open(deadline(t), browser.Policy{Check: func(r browser.Request) error {
		if strings.HasSuffix(r.URL, "/ours") {
			return nil
		}
		return errors.New("no")
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("app", "/ours"))
	id, err := shared(t).OpenForeign(deadline(t), site.URL("app", "/theirs"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shared(t).CloseForeign(deadline(t), id) }()
	if !site.WaitFor("/write", time.Minute) {
		t.Error("a tab that is not ours was held back")
	}
}
