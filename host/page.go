package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

// A grantedPage is the page as one call of one tool may use it: what a module's
// host calls act on. Every address it goes to is checked here before the browser
// hears of it, and by the page's guard before anything is sent.
type grantedPage struct {
	site     *site
	page     *browser.Page
	guard    *guard.Guard
	loginCmd string     // what to run when nobody is signed in
	dialog   abi.Dialog // the answer to a confirm() that an act step raises
	progress func(done, total float64, message string)
	arrived  *abi.PageInfo    // where this program's last navigation ended
	spoil    func()           // makes the next call begin with a blank page; may be nil
	granted  []abi.Capability // the tool's own; its module may import more, for others
	album    *album           // the pictures that the call took
}

// may refuses a host call that the tool was not granted.
func (g *grantedPage) may(c abi.Capability) error {
	if slices.Contains(g.granted, c) {
		return nil
	}
	return abi.Errorf(abi.ErrCapabilityDenied, string(c), "capability %q is not granted to this tool", c)
}

// Read serves the host call read: a program of read steps.
func (g *grantedPage) Read(ctx context.Context, program []byte) ([]byte, error) {
	if err := g.may(abi.CapRead); err != nil {
		return nil, err
	}
	return g.run(ctx, program, abi.CapRead)
}

// Act serves the host call act: a program that may change the page.
func (g *grantedPage) Act(ctx context.Context, program []byte) ([]byte, error) {
	if err := g.may(abi.CapAct); err != nil {
		return nil, err
	}
	return g.run(ctx, program, abi.CapAct)
}

// Screenshot serves the host call screenshot: read steps, and pictures.
func (g *grantedPage) Screenshot(ctx context.Context, program []byte) ([]byte, error) {
	if err := g.may(abi.CapScreenshot); err != nil {
		return nil, err
	}
	return g.run(ctx, program, abi.CapScreenshot)
}

// Progress serves the host call progress.
func (g *grantedPage) Progress(_ context.Context, report []byte) ([]byte, error) {
	if err := g.may(abi.CapProgress); err != nil {
		return nil, err
	}
	var p abi.ProgressReport
	if err := strictjson.Decode(report, &p, strictjson.MaxBytes(abi.MaxProgram)); err != nil {
		return encode(&abi.Answer{Error: abi.Errorf(abi.ErrInvalidArgs, "progress", "%w", err).Data()})
	}
	if g.progress != nil {
		g.progress(p.Done, p.Total, p.Message)
	}
	return encode(&abi.Answer{OK: true})
}

func (g *grantedPage) run(ctx context.Context, program []byte, by abi.Capability) ([]byte, error) {
	ans := &abi.Answer{Data: map[string]json.RawMessage{}}
	g.arrived = nil
	steps, err := parseProgram(program, by)
	for i := 0; err == nil && i < len(steps); i++ {
		ans.Step = i
		if err = g.step(ctx, &steps[i], ans); err == nil {
			err = g.here() // the page may have moved meanwhile
		}
	}
	ans.Dialogs = g.page.Dialogs()
	if err != nil {
		ans.Data, ans.Error = nil, Safe(err).Data()
		return encode(ans)
	}
	ans.OK, ans.Step, ans.Page = true, 0, g.arrived
	return encode(ans)
}

// parseProgram reads what a module asks for by a capability; nothing in it is trusted.
func parseProgram(data []byte, by abi.Capability) ([]abi.Step, error) {
	var p abi.Program
	if err := strictjson.Decode(data, &p, strictjson.MaxBytes(abi.MaxProgram), strictjson.AnyText()); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "program", "%w", err)
	}
	if p.V != abi.Version {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "program", "version %d is not %d", p.V, abi.Version)
	}
	if len(p.Steps) > abi.MaxSteps {
		return nil, abi.Errorf(abi.ErrLimitExceeded, "program", "%d steps are more than %d", len(p.Steps), abi.MaxSteps)
	}
	for i := range p.Steps {
		op := p.Steps[i].Op
		if op.IsAct() && by != abi.CapAct || op == abi.OpScreenshot && by != abi.CapScreenshot {
			return nil, abi.Errorf(abi.ErrCapabilityDenied, "program", "step %d: %q does not stand in %s", i, op, by)
		}
	}
	return p.Steps, nil
}

// visit goes to u, which must be on the tool's lists, and says what the page
// turned out to be.
func (g *grantedPage) visit(ctx context.Context, u origin.URL, referrer, wait string) error {
	if err := g.guard.CheckNavigation(u); err != nil {
		return err
	}
	v, err := g.page.Navigate(ctx, browser.Navigation{URL: u.String(), Referrer: referrer, Pages: g.site.pages, Wait: wait})
	if errors.Is(err, abi.ErrDialogOpen) && g.spoil != nil {
		g.spoil() // the page asked to be kept, once; it would ask the next call again
	}
	if err != nil {
		return err
	}
	g.arrived = &v.Info
	return g.classify(v)
}

// classify turns what a page is into the error that it stands for.
func (g *grantedPage) classify(v browser.Visit) error {
	switch v.Class {
	case browser.SignedIn:
		return nil
	case browser.SignedOut:
		return abi.Errorf(abi.ErrAuthExpired, "navigate", "nobody is signed in at %q", g.site.base.Origin()).WithHint("%s", g.loginCmd)
	case browser.Forbidden:
		return abi.Errorf(abi.ErrForbidden, "navigate", "the signed-in account may not open %q", v.Info.URL)
	case browser.Missing:
		return abi.Errorf(abi.ErrNotFound, "navigate", "%q does not exist", v.Info.URL)
	}
	return abi.Errorf(abi.ErrSelectorDrift, "navigate", "%q is none of the pages that the connector knows", v.Info.URL)
}
