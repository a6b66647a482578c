package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// A rawBrowser is a Chromium that nobody guards: what a test shows to be stopped
// is first shown to happen in it.
type rawBrowser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // to chromedp it is the browser
}

// raw starts one in which alice is signed in at the site.
func raw(t *testing.T, s *site.Site) *rawBrowser {
	t.Helper()
	path, err := browser.Find()
	if err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	cookie, err := s.SignIn("alice")
	if err != nil {
		t.Fatal(err)
	}
	_, err = chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{Name: cookie.Name, Value: cookie.Value, URL: s.AppURL()})
	if err != nil {
		t.Fatal(err)
	}
	return &rawBrowser{t: t, ctx: ctx}
}

// visit goes to a URL in a tab of its own and runs scripts there as a user's
// gesture. Leave goes elsewhere; the tab stays.
func (b *rawBrowser) visit(url string, scripts ...string) (leave func()) {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	_ = chromedp.Do(ctx, chromedp.Navigate(url)) // it may lead away while it loads
	yes := true
	for _, js := range scripts {
		if _, err := chromedp.Call(ctx, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: js, UserGesture: &yes}); err != nil {
			b.t.Fatalf("%s: %v", js, err)
		}
	}
	b.t.Cleanup(func() {
		stop()
		cancel()
	})
	return func() { _ = chromedp.Do(ctx, chromedp.Navigate("about:blank")) } // some send on the way out, and after it
}
