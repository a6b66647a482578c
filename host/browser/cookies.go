package browser

import (
	"context"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
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
		if !k.Session {
			continue
		}
		c.params = append(c.params, &network.CookieParam{
			Name: k.Name, Value: k.Value, Domain: k.Domain, Path: k.Path, Secure: k.Secure, HTTPOnly: k.HTTPOnly,
			SameSite: k.SameSite, Priority: k.Priority, SourceScheme: k.SourceScheme, SourcePort: k.SourcePort, PartitionKey: k.PartitionKey,
		})
	}
	return c, nil
}

// SetCookies adds cookies to the browser's.
func (b *Browser) SetCookies(ctx context.Context, c Cookies) error {
	if c.Len() == 0 {
		return nil
	}
	_, err := do(ctx, b.root(), storage.SetCookies, storage.SetCookiesParams{Cookies: c.params})
	return asError("cookies", err)
}
