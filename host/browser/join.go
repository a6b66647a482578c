package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// AttachOptions say which running browser to attach to: by its address, or by
// its profile, which finds it again after it was restarted.
type AttachOptions struct {
	URL     string // ws://127.0.0.1:PORT/devtools/browser/ID; see [ParseEndpoint]
	Profile string // absolute path of a profile directory, if URL is empty; see [FindEndpoint]
	Logger  *slog.Logger
	// Wrap, if set, stands between this package and the connection.
	Wrap func(chromedp.Transport) chromedp.Transport
}

// attachTimeout bounds the time from the dial to the end of the checks.
const attachTimeout = 20 * time.Second

// minVersion is the first Chromium that has every command which the guard needs.
const minVersion = 149

// Attach joins a browser that the user has started, over one connection. It
// looks at nothing of the user's: no tab is attached to, held, moved or closed,
// and no setting is changed. Tabs of ours are in no window and end with the
// connection. A browser in which the guard would not hold is refused.
func Attach(ctx context.Context, o AttachOptions) (*Browser, error) {
	e, err := o.Endpoint()
	if err != nil {
		return nil, err
	}
	if uid, ok := listener(e.Port); ok && uid != os.Getuid() {
		return nil, abi.Errorf(abi.ErrCapabilityDenied, "attach", "port %d is another user's", e.Port).WithHint("restart the browser")
	}
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	ws, err := remote.DialContext(ctx, e.URL())
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, abi.Errorf(abi.ErrConsentPending, "attach", "the browser at port %d takes the connection and does not answer: %w", e.Port, err).
			WithHint("it may be asking you whether to allow remote debugging: look at its window, allow it, and call again")
	}
	if err != nil {
		return nil, abi.Errorf(abi.ErrBrowserGone, "attach", "no browser answers at %q: %w", e.URL(), err).
			WithHint("it has ended or was restarted: start it again; --attach-profile finds a restarted one by itself")
	}
	tr := chromedp.Transport(ws)
	if o.Wrap != nil {
		tr = o.Wrap(tr)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := newBrowser(tr, nil, Options{Logger: o.Logger})
	if err := b.join(ctx); err != nil {
		b.detach()
		return nil, asError("attach", err)
	}
	return b, nil
}

// Endpoint says where the browser is, without talking to it.
func (o AttachOptions) Endpoint() (Endpoint, error) {
	if o.URL != "" {
		return ParseEndpoint(o.URL)
	}
	return FindEndpoint(o.Profile)
}

// join checks that this is a browser in which the guard holds.
func (b *Browser) join(ctx context.Context) error {
	b.listen() //nolint:contextcheck // the connection outlives the call that made it
	v, err := do(ctx, b.root(), browser.GetVersion, cdp.Empty{})
	if err != nil {
		return err
	}
	if n := major(v.Product); n < minVersion {
		return abi.Errorf(abi.ErrUnsupportedAction, "attach", "the browser is %q, and attaching needs Chromium %d or newer", v.Product, minVersion)
	}
	if err := b.preloadsNothing(ctx); err != nil {
		return err
	}
	b.log.InfoContext(ctx, "attached to a browser", slog.String("product", v.Product))
	return nil
}

// major is the first number of a product such as "Chrome/156.0.8078.114", or 0.
func major(product string) int {
	_, version, _ := strings.Cut(product, "/")
	number, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// errPreloads is what a browser that sends requests ahead of its user is refused with.
func errPreloads() error {
	return abi.Errorf(abi.ErrUnsupportedAction, "attach",
		"this browser loads pages ahead of its user, which no guard sees: a page could make it send what a tool may not").
		WithHint("switch off \"Preload pages\" at chrome://settings/performance, then call again")
}

// preloadsNothing makes sure that the setting "Preload pages" is off, by asking
// for a prefetch in a tab of ours: the browser says why it does not. The address
// is one at which nobody listens.
func (b *Browser) preloadsNothing(ctx context.Context) error {
	p, err := b.Open(ctx, Policy{})
	if err != nil {
		return fmt.Errorf("opening a tab: %w", err)
	}
	defer func() { _ = p.close(ctx) }()
	if err := p.tryPrefetch(ctx); err != nil && !errors.Is(err, errGone) {
		return err
	}
	told := preloadUnknown
	err = p.watch(ctx, func() bool { told = p.preloading; return told != preloadUnknown })
	switch {
	case told == preloadOff:
		return nil
	case told == preloadOn, errors.Is(err, context.DeadlineExceeded): // it does, or does not say
		return errPreloads()
	}
	return err
}
