package browser_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
)

// A cable is a connection that a test can pull, and that counts what is asked of
// which target.
type cable struct {
	chromedp.Transport
	sent []string // what was asked of the browser itself
}

func (c *cable) Write(ctx context.Context, m *cdproto.Message) error {
	if m.SessionID == "" {
		c.sent = append(c.sent, string(m.Method))
	}
	return c.Transport.Write(ctx, m)
}

// TestAttachLeavesTheUsersTabs works in a browser while its user has tabs of
// their own open, parts, and finds everything as it was.
func TestAttachLeavesTheUsersTabs(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/theirs", `<title>theirs</title><body><script>globalThis.kept = "draft"</script>`)
	site.HTML("/asks", `<title>asks</title><body><script>setTimeout(()=>{alert("mine");document.title="answered"})</script>`)
	site.HTML("/ours", `<title>ours</title><body><button id=b onclick="window.open('/theirs?popup')">b</button>`)
	u := startUsers(t, quietProfile(t))
	user := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
	theirs := foreign(user)(t)
	if err := theirs.Go(deadline(t), site.URL("app", "/theirs")); err != nil {
		t.Fatal(err)
	}
	asks, err := user.OpenForeign(deadline(t), site.URL("app", "/asks"))
	if err != nil {
		t.Fatal(err)
	}
	before := waitTitle(t, user, asks, "asks")
	var c *cable
	b := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir, Wrap: func(tr chromedp.Transport) chromedp.Transport {
		c = &cable{Transport: tr}
		return c
	}})
	p := open(t, b)
	visit(t, p, site.URL("app", "/ours"))
	if err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: "#b"}, ""); err != nil {
		t.Fatal(err)
	}
	during, err := user.Targets(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	for id, was := range before {
		if now := during[id]; now != was {
			t.Errorf("while we work, the user's tab is %+v and was %+v", now, was)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	after := waitTargets(t, user, len(before))
	for id, was := range before {
		if now := after[id]; now != was {
			t.Errorf("afterwards the user's tab is %+v and was %+v", now, was)
		}
	}
	if site.Saw("/theirs?popup") {
		t.Error("a popup of ours loaded")
	}
	if kept, err := user.Eval(deadline(t), theirs, "kept"); err != nil || kept != `"draft"` {
		t.Errorf("the user's page holds %s, %v", kept, err)
	}
	slices.Sort(c.sent)
	want := []string{"Browser.getVersion", "Target.attachToTarget", "Target.closeTarget", "Target.createTarget"}
	if got := slices.Compact(c.sent); !slices.Equal(got, want) {
		t.Errorf("we asked the browser for %q, want %q", got, want)
	}
}

// TestAttachEndsWithItsConnection pulls the cable while a page of ours keeps
// sending: the page ends with it, and nothing is sent from then on. What it had
// waiting may go out before; see RATIONALE.md.
func TestAttachEndsWithItsConnection(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/busy", `<title>busy</title><body><script>
setInterval(()=>fetch("/hit/timer",{method:"POST"}),5);
addEventListener("pagehide",()=>navigator.sendBeacon("/hit/beacon","x"));
try { fetchLater("/hit/later", {method: "POST"}) } catch {}
</script>`)
	site.HTML("/a", "<title>a</title><body>a")
	u := startUsers(t, quietProfile(t))
	user := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
	before, err := user.Targets(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	var c *cable
	b := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir, Wrap: func(tr chromedp.Transport) chromedp.Transport {
		c = &cable{Transport: tr}
		return c
	}})
	p, err := b.Open(deadline(t), browser.Policy{Check: func(r browser.Request) error {
		if strings.Contains(r.URL, "/hit/") {
			return errors.New("no")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	visit(t, p, site.URL("app", "/busy"))
	done := endless(t, p)
	if err := c.Transport.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-done, abi.ErrBrowserGone)
	_, err = b.Open(deadline(t), browser.Policy{})
	wantCode(t, err, abi.ErrBrowserGone)
	waitTargets(t, user, len(before))
	for _, late := range []string{"/hit/later", "/hit/beacon"} {
		if site.Saw(late) {
			t.Errorf("the tab sent %s on its way out", late)
		}
	}
	again := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
	visit(t, open(t, again), site.URL("app", "/a")) // what was under way has arrived
	site.Forget()
	visit(t, open(t, again), site.URL("app", "/a")) // as long as a leftover would have taken
	if site.Saw("/hit/") {
		t.Errorf("the lost tab still sends: %v", site.Hits())
	}
}

// TestAttachServiceWorker visits a site whose service worker is the user's.
func TestAttachServiceWorker(t *testing.T) {
	site := browsertest.NewSite(t)
	site.Script("/sw.js", `self.onfetch = (e) => { if (e.request.url.endsWith("/made")) e.respondWith(new Response("by the worker")) };
self.onmessage = () => fetch("/hit/message", {method: "POST"}); self.onactivate = (e) => e.waitUntil(clients.claim());
new BroadcastChannel("c").onmessage = () => fetch("/hit/broadcast", {method: "POST"});`)
	site.HTML("/install", `<title>install</title><body><script>navigator.serviceWorker.register("/sw.js").then(()=>navigator.serviceWorker.ready).then(()=>document.title="installed")</script>`)
	site.HTML("/ours", `<title>ours</title><body><p id=out></p><script>
(async () => {
	const r = await fetch("/made").then((r) => r.text());
	try { (await navigator.serviceWorker.ready).active.postMessage(1) } catch {}
	try { new BroadcastChannel("c").postMessage(1) } catch {}
	const i = document.createElement("iframe"); document.body.append(i);
	try { (await i.contentWindow.navigator.serviceWorker.ready).active.postMessage(1) } catch {}
	try { new i.contentWindow.BroadcastChannel("c").postMessage(1) } catch {}
	new Worker(URL.createObjectURL(new Blob(["try{new BroadcastChannel('c').postMessage(1)}catch{};postMessage(1)"]))).onmessage = () => out.textContent = r;
})();
</script>`)
	site.Handle("/made", browsertest.Text("by the server"))
	u := startUsers(t, quietProfile(t))
	user := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
	theirs := foreign(user)(t)
	if err := theirs.Go(deadline(t), site.URL("app", "/install")); err != nil {
		t.Fatal(err)
	}
	if got, err := user.Eval(deadline(t), theirs, `new Promise(r=>navigator.serviceWorker.controller?r():navigator.serviceWorker.oncontrollerchange=r).then(()=>fetch("/made")).then(r=>r.text())`); err != nil || got != `"by the worker"` {
		t.Fatalf("the user's worker answers %s, %v", got, err)
	}
	b := attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
	p := open(t, b)
	visit(t, p, site.URL("app", "/ours"))
	if err := p.Wait(deadline(t), nil, "#out:not(:empty)", "", 0); err != nil {
		t.Fatal(err)
	}
	if text, _, err := p.Text(deadline(t), nil, "#out", ""); err != nil || text != "by the server" {
		t.Errorf("our request was answered %q, %v", text, err)
	}
	if got, err := user.Eval(deadline(t), theirs, `fetch("/made").then(r=>r.text())`); err != nil || got != `"by the worker"` {
		t.Errorf("meanwhile the user's worker answers %s, %v", got, err)
	}
	if site.Saw("/hit/") {
		t.Errorf("a page of ours made the user's worker send: %v", site.Hits())
	}
}

// TestAttachAgain ends a browser and starts it on its profile again.
func TestAttachAgain(t *testing.T) {
	u := startUsers(t, quietProfile(t))
	e, err := browser.FindEndpoint(u.dir)
	if err != nil {
		t.Fatal(err)
	}
	b := attach(deadline(t), t, browser.AttachOptions{URL: e.URL()})
	u.kill()
	<-b.Gone()
	_, err = browser.Attach(deadline(t), browser.AttachOptions{Profile: u.dir}) // the file is a stale one
	wantCode(t, err, abi.ErrBrowserGone)
	startUsers(t, u.dir)
	_, err = browser.Attach(deadline(t), browser.AttachOptions{URL: e.URL()})
	wantCode(t, err, abi.ErrBrowserGone)
	attach(deadline(t), t, browser.AttachOptions{Profile: u.dir})
}

// TestAttachToAnotherProgram finds something else at the address.
func TestAttachToAnotherProgram(t *testing.T) {
	address := func(l net.Listener) string {
		return "ws://" + l.Addr().String() + "/devtools/browser/00000000-0000-4000-8000-000000000000"
	}
	web := httptest.NewServer(http.NotFoundHandler()) // as a browser answers an id that is an earlier one's
	defer web.Close()
	_, err := browser.Attach(deadline(t), browser.AttachOptions{URL: address(web.Listener)})
	wantCode(t, err, abi.ErrBrowserGone)
	var lc net.ListenConfig
	mute, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0") // as one does that asks its user first
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close() //nolint:errcheck // nothing was written
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = browser.Attach(ctx, browser.AttachOptions{URL: address(mute)})
	wantCode(t, err, abi.ErrConsentPending)
}

// TestAttachRefusesPreloading has the setting at which a browser prefetches.
func TestAttachRefusesPreloading(t *testing.T) {
	u := startUsers(t, t.TempDir())
	_, err := browser.Attach(deadline(t), browser.AttachOptions{Profile: u.dir})
	wantCode(t, err, abi.ErrUnsupportedAction)
	var e *abi.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "chrome://settings/performance") {
		t.Errorf("the error does not say what to switch off: %+v", e)
	}
}

func TestAttachProfileErrors(t *testing.T) {
	good := "4242\n/devtools/browser/00000000-0000-4000-8000-000000000000\n"
	write := func(text string, mode os.FileMode) string {
		dir := t.TempDir()
		path := filepath.Join(dir, "DevToolsActivePort")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := t.TempDir()
	if err := os.Symlink(filepath.Join(write(good, 0o600), "DevToolsActivePort"), filepath.Join(link, "DevToolsActivePort")); err != nil {
		t.Fatal(err)
	}
	if e, err := browser.FindEndpoint(write(good, 0o600)); err != nil || e.Port != 4242 {
		t.Fatalf("a good file: %+v, %v", e, err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	base, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		code abi.Code
		hint string
	}{
		"empty":    {write("", 0o600), abi.ErrBrowserGone, "restart"},
		"port":     {write("0\n/devtools/browser/00000000-0000-4000-8000-000000000000\n", 0o600), abi.ErrBrowserGone, "restart"},
		"path":     {write("4242\n/devtools/page/00000000-0000-4000-8000-000000000000\n", 0o600), abi.ErrBrowserGone, "restart"},
		"more":     {write(good+"x\n", 0o600), abi.ErrBrowserGone, "restart"},
		"long":     {write("4242\n/"+strings.Repeat("x", 4096), 0o600), abi.ErrBrowserGone, "restart"},
		"writable": {write(good, 0o622), abi.ErrCapabilityDenied, ""},
		"link":     {link, abi.ErrCapabilityDenied, ""},
		"relative": {"profile", abi.ErrInvalidArgs, ""},
		"none":     {t.TempDir(), abi.ErrBrowserGone, "--remote-debugging-port=0 --user-data-dir="},
		"default":  {filepath.Join(base, "google-chrome"), abi.ErrBrowserGone, "chrome://inspect/#remote-debugging"},
	} {
		_, err := browser.FindEndpoint(c.dir)
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %v (%q), want %s and a hint with %q", name, err, e.Hint, c.code, c.hint)
		}
	}
}

func TestParseEndpoint(t *testing.T) {
	const path = "/devtools/browser/0f0f0f0f-0000-4000-8000-ABCDEF012345"
	for raw, port := range map[string]uint16{
		"ws://127.0.0.1:9222" + path: 9222,
		"ws://localhost:1" + path:    1,
	} {
		if e, err := browser.ParseEndpoint(raw); err != nil || e.Port != port || e.Path != path {
			t.Errorf("%q: %+v, %v", raw, e, err)
		}
	}
	for _, raw := range []string{
		"", "ws://", path, "127.0.0.1:9222", "http://127.0.0.1:9222" + path, "wss://127.0.0.1:9222" + path, "ws://127.0.0.1" + path,
		"ws://127.0.0.1:0" + path, "ws://127.0.0.1:65536" + path, "ws://127.0.0.1:x" + path, "ws://192.0.2.1:9222" + path, "ws://127.0.0.2:9222" + path,
		"ws://0.0.0.0:9222" + path, "ws://[::1]:9222" + path, "ws://example.test:9222" + path, "ws://127.0.0.1.example.test:9222" + path, "ws://localhost.:9222" + path,
		"ws://u:p@127.0.0.1:9222" + path, "ws://127.0.0.1:9222" + path + "?a", "ws://127.0.0.1:9222" + path + "?", "ws://127.0.0.1:9222" + path + "#a",
		"ws://127.0.0.1:9222" + path + "/", "ws://127.0.0.1:9222" + path[:len(path)-1], "ws://127.0.0.1:9222/devtools/page" + path[17:],
		"ws://127.0.0.1:9222/devtools/browser/..%2f0f0f0f-0000-4000-8000-ABCDEF012345", "ws://127.0.0.1:9222/json/version",
		"ws://127.0.0.1:9222" + strings.Replace(path, "-", "0", 1), "ws://127.0.0.1:9222" + strings.Replace(path, "0f", "0g", 1),
	} {
		if e, err := browser.ParseEndpoint(raw); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%q: %+v, %v", raw, e, err)
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	f.Add("ws://127.0.0.1:9222/devtools/browser/0f0f0f0f-0000-4000-8000-ABCDEF012345")
	f.Add("ws://localhost:1/devtools/browser/")
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := browser.ParseEndpoint(raw)
		if err != nil {
			return
		}
		again, err := browser.ParseEndpoint(e.URL())
		if err != nil || again != e {
			t.Errorf("%q became %q, which is %+v, %v", raw, e.URL(), again, err)
		}
	})
}

// waitTargets waits until the browser has so many tabs.
func waitTargets(t *testing.T, b *browser.Browser, n int) map[target.ID]browser.TabState {
	t.Helper()
	return waitFor(t, b, func(tabs map[target.ID]browser.TabState) bool { return len(tabs) == n })
}

// waitTitle waits until a tab has a title.
func waitTitle(t *testing.T, b *browser.Browser, id target.ID, title string) map[target.ID]browser.TabState {
	t.Helper()
	return waitFor(t, b, func(tabs map[target.ID]browser.TabState) bool { return tabs[id].Title == title })
}

func waitFor(t *testing.T, b *browser.Browser, done func(map[target.ID]browser.TabState) bool) map[target.ID]browser.TabState {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx := deadline(t)
	for {
		tabs, err := b.Targets(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if done(tabs) {
			return tabs
		}
		<-tick.C
	}
}
