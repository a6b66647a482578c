package browser

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Navigation says where to go and how to tell what came.
type Navigation struct {
	URL      string    // absolute, http or https
	Referrer string    // as a click would send it; may be empty
	Pages    abi.Pages // settings already filled in
	Wait     string    // a selector that has to match as well on a signed-in page
}

// A Class says which of the manifest's kinds of page a document is.
type Class string

// The classes.
const (
	SignedIn  Class = "signed_in"
	SignedOut Class = "signed_out"
	Forbidden Class = "forbidden"
	Missing   Class = "missing"
)

// A Visit is where a navigation ended.
type Visit struct {
	Info   abi.PageInfo
	Status int // of the document; 0 if it is not known
	Class  Class
}

// grace is how long a page may take to show what it is after a navigation of
// its own was refused.
const grace = time.Second

// margin is what the page's own clock is set short of the deadline, so that its
// answer is in time.
const margin = 250 * time.Millisecond

// Navigate goes to a URL and waits until the document shows which kind of page
// it is; it does not wait for images and the like. A document that is none of
// them by the deadline is selector_drift. A URL, or a hop of a redirect, that
// the policy refuses is the policy's own error. After a timeout the tab can be
// used again.
func (p *Page) Navigate(ctx context.Context, n Navigation) (Visit, error) {
	var v Visit
	ctx, cancel := context.WithTimeout(ctx, abi.NavigateTimeout)
	defer cancel()
	err := p.run(ctx, "navigate", func(ctx context.Context) error {
		if err := httpURL("navigate", n.URL); err != nil {
			return err
		}
		if err := p.goTo(ctx, n); err != nil {
			return err
		}
		var err error
		v, err = p.classify(ctx, n)
		return err
	})
	return v, err
}

// goTo returns when the document has begun to arrive.
func (p *Page) goTo(ctx context.Context, n Navigation) error {
	if err := p.revive(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	p.blank, p.tokens = false, nil
	asked, crashes := len(p.dialogs), p.crashes
	p.mu.Unlock()
	res, err := do(ctx, p.s, page.Navigate, page.NavigateParams{
		URL: n.URL, Referrer: n.Referrer, TransitionType: page.TransitionTypeLink,
		ReferrerPolicy: page.ReferrerPolicyUnsafeURL,
	})
	if err != nil {
		post(p.s, page.StopLoading, cdp.Empty{}) // frees the tab for the next call
		return err
	}
	if res.ErrorText != "" || res.IsDownload {
		return p.failed(n.URL, asked, &res)
	}
	if res.LoaderID == "" {
		return nil // within the same document
	}
	return p.arrive(ctx, res.LoaderID, crashes)
}

// failed says why a navigation brought no document.
func (p *Page) failed(to string, asked int, res *page.NavigateResult) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mainRefused != nil:
		return refusal("navigate", p.mainRefused)
	case res.IsDownload:
		return abi.Errorf(abi.ErrUnsupportedAction, "navigate", "%q is a download", to)
	case res.ErrorText != "net::ERR_ABORTED":
		return abi.Errorf(abi.ErrTimeout, "navigate", "no answer from %q: %s", to, res.ErrorText)
	}
	for _, d := range p.dialogs[min(asked, len(p.dialogs)):] {
		if d.Type == "beforeunload" {
			return abi.Errorf(abi.ErrDialogOpen, "navigate", "the page asked whether to leave it, and was told to stay")
		}
	}
	return abi.Errorf(abi.ErrUnsupportedAction, "navigate", "%q brought no document: it is empty, a download, or was left at once", to)
}

// classify waits until the document, or one that it leads to, shows what it is.
func (p *Page) classify(ctx context.Context, n Navigation) (Visit, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Visit{}, errors.New("navigation without a deadline")
	}
	for {
		left := time.Until(deadline) - margin
		p.mu.Lock()
		refused, loader := p.mainRefused, p.loader
		p.mu.Unlock()
		if refused != nil {
			left = min(left, grace)
		}
		v, err := p.look(ctx, n, left, refused)
		switch {
		case errors.Is(err, errNavigated):
		case err != nil:
			return v, err
		case v.Class == SignedOut && refused == nil && !sameOrigin(n.URL, v.Info.URL) && p.movesOn(ctx, loader):
		case v.Class != "":
			return v, nil
		default:
			return v, p.unknown(n, v)
		}
	}
}

// movesOn reports whether a document is left by itself within grace. An identity
// provider that still knows the user shows a page that posts itself back, which
// looks like one that asks for a password.
func (p *Page) movesOn(ctx context.Context, loader cdp.LoaderID) bool {
	moved := func() bool { return p.loader != loader || p.mainRefused != nil }
	short, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if p.await(short, func() bool { return p.away || moved() }) != nil {
		return false
	}
	return p.await(ctx, func() bool { return !p.away || moved() }) == nil
}

// sameOrigin compares two URLs of documents as Chromium writes them.
func sameOrigin(a, b string) bool {
	x, err := url.Parse(a)
	if err != nil {
		return false
	}
	y, err := url.Parse(b)
	return err == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// look asks the document once. It fails with errNavigated when the document is
// left, and when a refusal came that it did not know of.
func (p *Page) look(ctx context.Context, n Navigation, left time.Duration, known error) (Visit, error) {
	var a struct {
		abi.PageInfo
		Class  Class    `json:"class"`
		Status int      `json:"status"`
		Tokens []string `json:"tokens"`
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if known == nil {
		go func() {
			if p.await(asking, func() bool { return p.mainRefused != nil }) == nil {
				cancel(errNavigated)
			}
		}()
	}
	err := p.invoke(asking, "classify", map[string]any{"pages": n.Pages, "wait": n.Wait, "ms": left.Milliseconds()}, &a)
	if err != nil && errors.Is(context.Cause(asking), errNavigated) {
		err = errNavigated
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = abi.Errorf(abi.ErrTimeout, "navigate", "the page at %q did not answer by the deadline", n.URL)
	}
	p.learn(a.Tokens)
	return Visit{Info: a.PageInfo, Status: a.Status, Class: a.Class}, err
}

// unknown is the error for a page that is none of the manifest's.
func (p *Page) unknown(n Navigation, v Visit) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mainRefused != nil {
		return refusal("navigate", p.mainRefused)
	}
	also := ""
	if n.Wait != "" {
		also = " with what the connector waits for"
	}
	return abi.Errorf(abi.ErrSelectorDrift, "navigate",
		"the page %q (status %d, title %q) is none of signed in%s, signed out, forbidden and missing", v.Info.URL, v.Status, v.Info.Title, also)
}
