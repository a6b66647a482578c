package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Err returns why the tab is of no use any more, or nil. A crash is not for
// good: the next navigation revives the tab.
func (p *Page) Err() error { return asError("page", p.gone()) }

// URL is where the tab's document was loaded from; empty before the first one.
// It asks the browser nothing, so a page that is stuck can't hold it up.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.url
}

// Settle waits until the document that is there, or one that it leads to, shows
// which kind of page it is, as Navigate does after it went somewhere.
func (p *Page) Settle(ctx context.Context, pages abi.Pages, wait string) (Visit, error) {
	var v Visit
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, abi.NavigateTimeout)
		defer cancel()
	}
	err := p.run(ctx, "settle", func(ctx context.Context) error {
		var err error
		v, err = p.classify(ctx, Navigation{Pages: pages, Wait: wait})
		return err
	})
	return v, err
}

// Show goes to a URL and brings the tab to the front, for a person to use it.
func (p *Page) Show(ctx context.Context, url string) error {
	return p.run(ctx, "show", func(ctx context.Context) error {
		if err := httpURL("show", url); err != nil {
			return err
		}
		if err := p.goTo(ctx, Navigation{URL: url}); err != nil {
			return err
		}
		_, err := do(ctx, p.s, page.BringToFront, cdp.Empty{})
		return err
	})
}
