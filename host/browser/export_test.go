package browser

import (
	"context"
	"errors"
	"strconv"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// OpenForeign opens a tab that is under nobody's policy, as a user would.
func (b *Browser) OpenForeign(ctx context.Context, url string) (target.ID, error) {
	t, err := do(ctx, b.root(), target.CreateTarget, target.CreateTargetParams{URL: url})
	return t.TargetID, err
}

// CloseForeign closes it.
func (b *Browser) CloseForeign(ctx context.Context, id target.ID) error {
	_, err := do(ctx, b.root(), target.CloseTarget, target.CloseTargetParams{TargetID: id})
	return err
}

// TargetTypes counts the targets of the browser by their type.
func (b *Browser) TargetTypes(ctx context.Context) (map[string]int, error) {
	res, err := do(ctx, b.root(), target.GetTargets, target.GetTargetsParams{})
	n := map[string]int{}
	for _, i := range res.TargetInfos {
		n[i.Type]++
	}
	return n, err
}

// Pid is the browser's process.
func (b *Browser) Pid() int { return b.proc.pid() }

// Exited is closed when the browser's process has been reaped.
func (b *Browser) Exited() <-chan struct{} { return b.proc.exited }

// Foreign is a tab under nobody's policy, for the suite.
type Foreign struct {
	b  *Browser
	s  session
	id target.ID
}

// NewForeign opens one.
func (b *Browser) NewForeign(ctx context.Context) (*Foreign, error) {
	t, err := do(ctx, b.root(), target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		return nil, err
	}
	if b.joined() {
		flat := true
		post(b.root(), target.AttachToTarget, target.AttachToTargetParams{TargetID: t.TargetID, Flatten: &flat})
	}
	s, err := b.claim(ctx, t.TargetID)
	return &Foreign{b: b, s: s, id: t.TargetID}, err
}

// Go navigates it and waits until the document is parsed, or has gone on.
func (f *Foreign) Go(ctx context.Context, url string) error {
	if _, err := do(ctx, f.s, page.Navigate, page.NavigateParams{URL: url}); err != nil {
		return err
	}
	err := f.eval(ctx, `new Promise(r => document.readyState === "complete" ? r() : addEventListener("load", r))`)
	if navigated(err) {
		return nil
	}
	return err
}

// Click clicks as a user's gesture.
func (f *Foreign) Click(ctx context.Context, selector string) error {
	return f.eval(ctx, "document.querySelector("+strconv.Quote(selector)+").click()")
}

func (f *Foreign) eval(ctx context.Context, js string) error {
	yes := true
	r, err := do(ctx, f.s, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: js, UserGesture: &yes, AwaitPromise: &yes})
	if err == nil && r.ExceptionDetails != nil {
		err = errors.New(r.ExceptionDetails.Text)
	}
	return err
}

// Close closes it.
func (f *Foreign) Close(ctx context.Context) error { return f.b.CloseForeign(ctx, f.id) }

// Crash ends the tab's renderer.
func (p *Page) Crash() { post(p.s, page.Crash, cdp.Empty{}) }

// CloseTarget closes the tab as a user would.
func (p *Page) CloseTarget() {
	post(p.b.root(), target.CloseTarget, target.CloseTargetParams{TargetID: p.target})
}

// RawExtract sends the message that Extract sends, and nothing else happens:
// what the browser itself takes.
func (p *Page) RawExtract(ctx context.Context, e abi.Extraction) (int, error) {
	s, err := compile(&e)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	world := p.world
	p.mu.Unlock()
	params, err := arguments(world, "extract", map[string]any{"schema": s, "budget": tableBudget})
	if err != nil {
		return 0, err
	}
	r, err := do(ctx, p.s, cdpruntime.CallFunctionOn, params)
	if err != nil {
		return 0, err
	}
	return len(r.Result.Value), nil
}

// QuietPreferences switches "Preload pages" off in a profile.
func QuietPreferences(profile string) error { return quietPreferences(profile) }

// A TabState is how a tab looks from outside.
type TabState struct {
	Type, Title, URL string
	Attached         bool
}

// Targets returns the browser's tabs, hidden ones included.
func (b *Browser) Targets(ctx context.Context) (map[target.ID]TabState, error) {
	res, err := do(ctx, b.root(), target.GetTargets, target.GetTargetsParams{})
	tabs := map[target.ID]TabState{}
	for _, i := range res.TargetInfos {
		if i.Type == "page" || i.Type == "other" {
			tabs[i.TargetID] = TabState{i.Type, i.Title, i.URL, i.Attached}
		}
	}
	return tabs, err
}

// Eval evaluates an expression in a foreign tab and returns its value as JSON.
func (b *Browser) Eval(ctx context.Context, f interface{ Close(context.Context) error }, js string) (string, error) {
	yes := true
	r, err := do(ctx, f.(*Foreign).s, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: js, AwaitPromise: &yes, ReturnByValue: &yes})
	if err == nil && r.ExceptionDetails != nil {
		err = errors.New(r.ExceptionDetails.Text)
	}
	return string(r.Result.Value), err
}
