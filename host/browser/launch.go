package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Options say how to launch a browser.
type Options struct {
	Exec       string // path of the program; empty: [Find]
	ProfileDir string // made with mode 0700; one browser at a time uses it
	Headless   bool   // false shows a window, for signing in
	// Display is where that window is shown, as DISPLAY=:0 and the like; empty
	// is where this process would show one.
	Display   []string
	NoSandbox bool // Chromium's own sandbox off; implied when running as root, which Chromium refuses otherwise
	Logger    *slog.Logger
	// Wrap, if set, stands between this package and the browser's pipe: a
	// recorder or a counter.
	Wrap func(chromedp.Transport) chromedp.Transport
}

// launchTimeout bounds the time from start to the first answer.
const launchTimeout = 60 * time.Second

// closeTimeout bounds how long a browser may take to store its profile.
const closeTimeout = 10 * time.Second

// Launch starts a browser that talks over a pipe, never over a TCP port, and
// returns when it answers. The caller closes it.
func Launch(ctx context.Context, o Options) (*Browser, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.canShow(); err != nil {
		return nil, err
	}
	lock, err := lockProfile(o.ProfileDir)
	if err != nil {
		return nil, err
	}
	if err := prepareProfile(o.ProfileDir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, launchTimeout)
	defer cancel()
	proc, err := startProcess(o, lock)
	if err != nil {
		return nil, errors.Join(abi.Errorf(abi.ErrBrowserGone, "launch", "starting %q: %w", o.Exec, err), lock.Close())
	}
	tr := chromedp.Transport(chromedp.NewPipeConn(proc.fromBrowser, proc.toBrowser))
	if o.Wrap != nil {
		tr = o.Wrap(tr)
	}
	b := newBrowser(tr, proc, o)
	if err := b.begin(ctx); err != nil {
		b.kill()
		return nil, asError("launch", fmt.Errorf("%w; the browser said: %s", err, proc.said()))
	}
	return b, nil
}

// canShow refuses a window where there is no display, which the browser would say
// in many words after it had started.
func (o Options) canShow() error {
	if o.Headless || runtime.GOOS != "linux" {
		return nil
	}
	for _, v := range environment(o.Display) {
		if name, value, _ := strings.Cut(v, "="); value != "" && (name == "DISPLAY" || name == "WAYLAND_DISPLAY") {
			return nil
		}
	}
	return abi.Errorf(abi.ErrUnsupportedAction, "launch", "neither DISPLAY nor WAYLAND_DISPLAY says where a window could be shown")
}

func (o Options) withDefaults() (Options, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Exec == "" {
		path, err := Find()
		if err != nil {
			return o, err
		}
		o.Exec = path
	}
	if !filepath.IsAbs(o.ProfileDir) {
		return o, abi.Errorf(abi.ErrInternal, "launch", "profile directory %q is not absolute", o.ProfileDir)
	}
	if err := os.MkdirAll(o.ProfileDir, 0o700); err != nil {
		return o, fmt.Errorf("making the profile directory: %w", err)
	}
	if err := os.Chmod(o.ProfileDir, 0o700); err != nil { //nolint:gosec // a directory needs its x bit
		return o, fmt.Errorf("closing the profile directory to others: %w", err)
	}
	return o, nil
}

// args is the command line. What is switched off is what would talk to the
// network unasked, ask the user something, or slow down a tab in the background.
func (o Options) args() []string {
	args := []string{
		"--remote-debugging-pipe",
		"--user-data-dir=" + o.ProfileDir,
		"--no-first-run",
		"--no-default-browser-check",
		"--disable-background-networking",
		"--disable-component-update",
		"--disable-component-extensions-with-background-pages",
		"--disable-default-apps",
		"--disable-domain-reliability",
		"--disable-extensions",
		// A shared worker may send before Fetch.enable has reached it.
		"--disable-shared-workers",
		"--disable-sync",
		"--disable-breakpad",
		"--disable-client-side-phishing-detection",
		"--safebrowsing-disable-auto-update",
		"--metrics-recording-only",
		"--disable-search-engine-choice-screen",
		"--disable-prompt-on-repost",
		"--disable-hang-monitor",
		"--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
		"--disable-dev-shm-usage",
		"--dns-prefetch-disable",
		"--disable-quic",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-features=BackForwardCache,Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,PreconnectToSearch,NetworkPrediction,Reporting,NetworkErrorLogging,Prerender2,FedCm" +
			// The address bar's pop-ups are pages of their own, which nobody sees: half of
			// the time that a start takes of the processor, and 160 MB.
			",WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
		"--password-store=basic",
		"--use-mock-keychain",
		"--force-color-profile=srgb",
	}
	if o.NoSandbox || os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	if o.Headless {
		return append(args, "--headless", "--hide-scrollbars", "--mute-audio", "--disable-gpu", "--no-startup-window") // keeper.go
	}
	return append(args, "about:blank")
}

// environment is what the browser is told of ours: nothing that it doesn't need.
// A display, if there is one, takes the place of ours.
func environment(display []string) []string {
	keep := []string{
		"HOME", "PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
		"SYSTEMROOT", "TEMP", "LOCALAPPDATA", "USERPROFILE",
	}
	if len(display) == 0 {
		keep = append(keep, "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_SESSION_TYPE")
	}
	var env []string
	for _, name := range keep {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, display...)
}

// begin makes the browser attach us to every target, each held until we let it
// run, and refuses downloads.
func (b *Browser) begin(ctx context.Context) error {
	b.listen()
	version := start(b.root(), browser.GetVersion, cdp.Empty{})
	down := start(b.root(), browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorDeny,
	})
	attach := start(b.root(), target.SetAutoAttach, autoAttach(target.Filter{
		{Type: "browser", Exclude: true}, {Type: "browser_ui", Exclude: true}, {Type: "tab", Exclude: true}, {},
	}))
	v, err := version.wait(ctx)
	if err != nil {
		return err
	}
	if _, err := down.wait(ctx); err != nil {
		return err
	}
	if _, err := attach.wait(ctx); err != nil {
		return err
	}
	b.log.InfoContext(ctx, "browser started", slog.String("product", v.Product), slog.Int("pid", b.proc.pid()))
	return nil
}

// listen begins to read what the browser says. Its goroutines end with the
// connection.
func (b *Browser) listen() {
	go b.conn.run(b.ctx)
	go b.loop()
}

// Close closes our tabs under their guards. A browser that we launched then
// stores its profile and ends, and has ended when Close returns; from one that
// we attached to we part.
//
//nolint:contextcheck // a browser is ended also when nobody's time is left
func (b *Browser) Close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), closeTimeout)
	defer cancel()
	for _, p := range b.openPages() {
		_ = p.close(ctx) // the browser ends anyway
	}
	if b.joined() {
		b.detach()
		return nil
	}
	_, err := do(ctx, b.root(), browser.Close, cdp.Empty{})
	if err == nil || errors.Is(err, errGone) {
		err = b.proc.waitExit(ctx)
	}
	b.kill()
	if err != nil {
		return asError("close", fmt.Errorf("ending the browser: %w", err))
	}
	return nil
}

// kill ends the browser at once and waits for it.
func (b *Browser) kill() {
	b.proc.kill()
	b.detach()
}

// detach ends the connection.
func (b *Browser) detach() {
	b.cancel()
	b.conn.end(errGone)
}

// prepareProfile takes out of a profile what would send requests that no guard
// sees: pages that are loaded before anybody asks for them, and service workers
// that a tab which was not ours registered.
func prepareProfile(dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, "Default", "Service Worker")); err != nil {
		return fmt.Errorf("removing service workers: %w", err)
	}
	return quietPreferences(dir)
}
