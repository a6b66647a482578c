package browser

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Wait waits until what selector matches, inside within, is in a state. It is
// one message, and one more for each document that the page goes on to. A
// timeout of 0 is [abi.WaitTimeout].
func (p *Page) Wait(ctx context.Context, within []string, selector string, state abi.WaitState, timeout time.Duration) error {
	if timeout <= 0 {
		timeout = abi.WaitTimeout
	}
	if state == "" {
		state = abi.StateAttached
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+margin)
	defer cancel()
	return p.run(ctx, "wait", func(ctx context.Context) error {
		late := abi.Errorf(abi.ErrTimeout, "wait", "%q was not %s within %s", selector, state, timeout)
		for {
			deadline, _ := ctx.Deadline()
			left := time.Until(deadline) - margin
			if left < 0 {
				return late
			}
			var ok bool
			arg := map[string]any{"within": within, "selector": selector, "state": state, "ms": left.Milliseconds()}
			err := p.invoke(ctx, "wait", arg, &ok)
			switch {
			case errors.Is(err, errNavigated):
			case errors.Is(err, context.DeadlineExceeded), err == nil && !ok:
				return late
			default:
				return err
			}
		}
	})
}

// Extracted is what an extraction read.
type Extracted struct {
	Table     json.RawMessage `json:"table"` // an [abi.Table]
	Rows      int             `json:"rows"`
	Next      string          `json:"next"`      // the absolute URL of the link that Schema.Next matches, if it does
	Truncated bool            `json:"truncated"` // there is more than the row limit or [abi.MaxAnswer] bytes
}

// Extract reads what a schema describes, in one message. What does not look as
// described is selector_drift, with the column, the row from 1 and the selector.
// A column that is an optional list without a match is an empty list; an
// optional nested table without rows has none.
func (p *Page) Extract(ctx context.Context, e abi.Extraction) (Extracted, error) {
	var x Extracted
	err := p.run(ctx, "extract", func(ctx context.Context) error {
		schema, err := compile(&e)
		if err != nil {
			return err
		}
		return p.ask(ctx, "extract", map[string]any{"schema": schema, "budget": tableBudget}, &x)
	})
	return x, err
}

// ExtractHTML reads what a schema describes from markup, which is parsed and
// never rendered: no script runs and nothing is loaded. Relative URLs in it
// resolve against base.
func (p *Page) ExtractHTML(ctx context.Context, html, base string, e abi.Extraction) (Extracted, error) {
	var x Extracted
	err := p.run(ctx, "extract", func(ctx context.Context) error {
		schema, err := compile(&e)
		if err != nil {
			return err
		}
		if len(e.Within) > 0 {
			return abi.Errorf(abi.ErrInvalidArgs, "extract", "a response has no frames and shadow roots to look within")
		}
		return p.ask(ctx, "extractHTML", map[string]any{"html": html, "base": base, "schema": schema, "budget": tableBudget}, &x)
	})
	return x, err
}

// Exists reports whether selector matches anything now.
func (p *Page) Exists(ctx context.Context, within []string, selector string) (bool, error) {
	var found bool
	err := p.run(ctx, "exists", func(ctx context.Context) error {
		return p.ask(ctx, "exists", map[string]any{"within": within, "selector": selector}, &found)
	})
	return found, err
}

// Info says where the page is.
func (p *Page) Info(ctx context.Context) (abi.PageInfo, error) {
	var info abi.PageInfo
	err := p.run(ctx, "page", func(ctx context.Context) error { return p.ask(ctx, "page", nil, &info) })
	return info, err
}

// HTML returns the markup of the first element that selector matches, or of the
// whole document, cut to at most limit bytes; 0 and more than [abi.MaxHTML] are
// MaxHTML.
func (p *Page) HTML(ctx context.Context, within []string, selector string, limit int) (html string, truncated bool, err error) {
	if limit <= 0 || limit > abi.MaxHTML {
		limit = abi.MaxHTML
	}
	var a struct {
		HTML      string `json:"html"`
		Truncated bool   `json:"truncated"`
	}
	err = p.run(ctx, "html", func(ctx context.Context) error {
		return p.ask(ctx, "html", map[string]any{"within": within, "selector": selector, "max": limit}, &a)
	})
	html = clip(a.HTML, limit)
	return html, a.Truncated || len(html) < len(a.HTML), err
}

// Text returns the text, or with attr that attribute, of the one element that
// selector matches; found is false if there is none. Several are
// target_ambiguous.
func (p *Page) Text(ctx context.Context, within []string, selector, attr string) (text string, found bool, err error) {
	var a *string
	err = p.run(ctx, "text", func(ctx context.Context) error {
		return p.ask(ctx, "text", map[string]any{"within": within, "selector": selector, "attr": attr}, &a)
	})
	if err != nil || a == nil {
		return "", false, err
	}
	return *a, true, nil
}
