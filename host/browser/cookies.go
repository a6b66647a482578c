package browser

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Cookies are a browser's session cookies, to be carried in memory from a
// browser with a window, where the user signed in, to one without; a profile
// does not store them. They can be counted and nothing else: they are secrets.
type Cookies struct{ params []*network.CookieParam }

// Len returns their number.
func (c Cookies) Len() int { return len(c.params) }

// String tells nothing of what they hold.
func (c Cookies) String() string { return "cookies" }

// Cookies returns the browser's session cookies.
func (b *Browser) Cookies(ctx context.Context) (Cookies, error) {
	res, err := do(ctx, b.root(), storage.GetCookies, storage.GetCookiesParams{})
	if err != nil {
		return Cookies{}, asError("cookies", err)
	}
	var c Cookies
	for _, k := range res.Cookies {
		if k.Session {
			c.params = append(c.params, paramOf(k))
		}
	}
	return c, nil
}

func paramOf(k *network.Cookie) *network.CookieParam {
	return &network.CookieParam{
		Name: k.Name, Value: k.Value, Domain: k.Domain, Path: k.Path, Secure: k.Secure, HTTPOnly: k.HTTPOnly,
		SameSite: k.SameSite, Priority: k.Priority, SourceScheme: k.SourceScheme, SourcePort: k.SourcePort, PartitionKey: k.PartitionKey,
	}
}

// SetCookies adds cookies to the browser's.
func (b *Browser) SetCookies(ctx context.Context, c Cookies) error {
	if c.Len() == 0 {
		return nil
	}
	_, err := do(ctx, b.root(), storage.SetCookies, storage.SetCookiesParams{Cookies: c.params})
	return asError("cookies", err)
}

// Forget removes what the browser keeps of a site: every cookie that mine says is
// the site's, and all that the origins have stored. mine is given a cookie's
// domain, and whether names below it get the cookie too. It returns how many
// cookies there were, and fails if one is left.
func (b *Browser) Forget(ctx context.Context, mine func(domain string, below bool) bool, origins []string) (int, error) {
	page, err := b.Open(ctx, Policy{}) // storage is cleared by way of a tab; it loads nothing
	if err != nil {
		return 0, err
	}
	defer func() { _ = page.Close() }()
	params, err := b.cookiesOf(ctx, mine)
	if err != nil {
		return 0, err
	}
	for _, p := range params {
		p.Value, p.Expires = "", 1 // long ago: the browser drops it
	}
	if err := b.SetCookies(ctx, Cookies{params}); err != nil {
		return 0, err
	}
	for _, o := range origins {
		_, err := do(ctx, page.s, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: o, StorageTypes: "all"})
		if err != nil {
			return 0, asError("forget", err)
		}
	}
	left, err := b.cookiesOf(ctx, mine)
	if err == nil && len(left) > 0 {
		err = abi.Errorf(abi.ErrInternal, "forget", "the browser keeps %d cookies", len(left))
	}
	return len(params), err
}

func (b *Browser) cookiesOf(ctx context.Context, mine func(domain string, below bool) bool) ([]*network.CookieParam, error) {
	res, err := do(ctx, b.root(), storage.GetCookies, storage.GetCookiesParams{})
	if err != nil {
		return nil, asError("cookies", err)
	}
	var list []*network.CookieParam
	for _, k := range res.Cookies {
		if domain, below := strings.CutPrefix(k.Domain, "."); mine(domain, below) {
			list = append(list, paramOf(k))
		}
	}
	return list, nil
}
