package browser

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Fetch is one request that the page's document sends to its own origin, with
// its cookies.
type Fetch struct {
	Method      string
	URL         string // absolute, of the page's origin
	Accept      string
	ContentType string
	Body        []byte // nil: none
	MaxResponse int    // bytes; 0 and more than [abi.MaxBody] are MaxBody
}

// A Response is what came, after redirects within the origin. A status of 400
// and above is no error.
type Response struct {
	Status      int
	URL         string
	ContentType string
	Body        []byte // text, as UTF-8
}

// Fetch sends one request, in one message, and never sends it again. It goes
// through the tab's guard like every other; what the policy refuses, a hop of
// a redirect included, is the policy's own error. After any other error of a
// request that changes something its outcome is unknown.
func (p *Page) Fetch(ctx context.Context, f Fetch) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, abi.FetchTimeout)
	defer cancel()
	var r Response
	err := p.run(ctx, "fetch", func(ctx context.Context) error {
		if err := httpURL("fetch", f.URL); err != nil {
			return err
		}
		if len(f.Body) > abi.MaxBody {
			return abi.Errorf(abi.ErrLimitExceeded, "fetch", "a body of %d bytes is larger than %d", len(f.Body), abi.MaxBody)
		}
		var a struct {
			Status      int    `json:"status"`
			URL         string `json:"url"`
			ContentType string `json:"contentType"`
			Body        string `json:"body"`
		}
		err := p.invoke(ctx, "fetch", f.argument(ctx), &a)
		r = Response{Status: a.Status, URL: a.URL, ContentType: a.ContentType, Body: []byte(a.Body)}
		if errors.Is(err, errNetwork) {
			return p.unanswered(f, err)
		}
		return err
	})
	return r, err
}

func (f Fetch) argument(ctx context.Context) map[string]any {
	limit := f.MaxResponse
	if limit <= 0 || limit > abi.MaxBody {
		limit = abi.MaxBody
	}
	deadline, _ := ctx.Deadline() // Fetch has set one
	return map[string]any{
		"method": f.Method, "url": f.URL, "accept": f.Accept, "contentType": f.ContentType,
		"body": base64.StdEncoding.EncodeToString(f.Body), "hasBody": f.Body != nil,
		"max": limit, "ms": max(0, (time.Until(deadline) - margin).Milliseconds()),
	}
}

// unanswered says why a request failed without an answer.
func (p *Page) unanswered(f Fetch, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	url, _, _ := strings.Cut(f.URL, "#")
	for _, r := range slices.Backward(p.xhrRefused) {
		got, _, _ := strings.Cut(r.URL, "#")
		if got == url || r.redirect {
			return refusal("fetch", r.Err)
		}
	}
	return abi.Errorf(abi.ErrTimeout, "fetch", "%w: %s %q", err, f.Method, f.URL)
}

// Values returns what the form fields or meta elements that the selectors match
// hold, one value each, so that the host can put a page's own tokens into a
// request. The guard knows these values from then on.
func (p *Page) Values(ctx context.Context, selectors []string) ([]string, error) {
	var a struct {
		Tokens []string `json:"tokens"`
		Values []string `json:"values"`
	}
	err := p.run(ctx, "values", func(ctx context.Context) error {
		if err := p.ask(ctx, "values", map[string]any{"selectors": selectors}, &a); err != nil {
			return err
		}
		p.learn(a.Tokens)
		return nil
	})
	return a.Values, err
}
