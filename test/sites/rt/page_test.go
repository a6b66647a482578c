package rt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

// A user is an account in a browser of its own.
type user struct {
	rig     *rig
	browser *browser.Browser
	t       *testing.T

	mu      sync.Mutex
	refused map[string]int // kind and path of what pages were refused
}

// A page serves one call's host calls, in the simplest way that is right for
// this connector. The host's own way is tested with the host.
type page struct {
	user *user
	page *browser.Page
	keep bool
}

func (u *user) spec(reads, writes []abi.Request, args []byte) guard.Spec {
	base := u.url("/")
	pattern := func(text string) origin.Pattern {
		p, err := origin.ParsePattern(strings.Replace(text, "{base_url}", u.rig.site.Base, 1))
		if err != nil {
			u.t.Fatal(err)
		}
		return p
	}
	s := guard.Spec{Base: base.Origin(), Reads: reads, Writes: writes, Args: args}
	for _, p := range u.rig.def.Origins {
		s.Origins = append(s.Origins, pattern(p))
	}
	for _, p := range u.rig.def.Resources {
		s.Resources = append(s.Resources, pattern(p))
	}
	return s
}

func (u *user) url(path string) origin.URL {
	parsed, err := origin.ParseURL(u.rig.site.Base + path)
	if err != nil {
		u.t.Fatal(err)
	}
	return parsed
}

// open opens a page under a tool's guard.
func (u *user) open(ctx context.Context, tool *abi.Tool, args []byte, writes []abi.Request) (*page, error) {
	g, err := guard.New(u.spec(tool.Reads, writes, args))
	if err != nil {
		return nil, err
	}
	p, err := u.browser.Open(ctx, browser.Policy{Check: func(r browser.Request) error {
		return g.Decide(guard.Observed{
			Method: r.Method, URL: r.URL, ContentType: r.ContentType, Body: r.Body,
			BodyComplete: r.BodyComplete, Kind: kindOf(r.Kind), Tokens: r.Tokens,
		})
	}})
	return &page{user: u, page: p}, err
}

func (u *user) unguarded(ctx context.Context, _ Attack) (*page, error) {
	p, err := u.browser.Open(ctx, browser.Policy{Check: func(browser.Request) error { return nil }})
	return &page{user: u, page: p}, err
}

func kindOf(k browser.Kind) guard.Kind {
	if k == browser.KindStyle {
		return guard.KindStylesheet
	}
	return guard.Kind(k)
}

// signIn fills the login form that the manifest names.
func (u *user) signIn(ctx context.Context, a Account) error {
	p, err := u.unguarded(ctx, Attack{})
	if err != nil {
		return err
	}
	defer p.shut()
	form := u.rig.def.Login.Form
	show := abi.Pages{SignedIn: []abi.Condition{{Selector: form.Password}}}
	if _, err := p.page.Navigate(ctx, browser.Navigation{URL: u.rig.site.Base + u.rig.def.Login.Path, Pages: show}); err != nil {
		return err
	}
	for _, s := range []abi.Step{
		{Op: abi.OpFill, Selector: form.Username, Value: a.Name},
		{Op: abi.OpFill, Selector: form.Password, Value: a.Password},
		{Op: abi.OpClick, Selector: form.Submit},
	} {
		if err := p.page.Act(ctx, s, abi.DialogCancel); err != nil {
			return err
		}
	}
	if _, err := p.page.Settle(ctx, abi.Pages{SignedIn: u.rig.def.Pages.SignedIn}, ""); err != nil {
		return err
	}
	name, found, err := p.page.Text(ctx, nil, u.rig.def.Account.Selector, u.rig.def.Account.Attr)
	if err == nil && (!found || name != a.Name) {
		err = abi.Errorf(abi.ErrSelectorDrift, "account", "the page says %q", name)
	}
	return err
}

func (p *page) close() {
	if !p.keep {
		p.shut()
	}
}

func (p *page) shut() {
	p.note()
	if err := p.page.Close(); err != nil {
		p.user.t.Error(err)
	}
}

func (p *page) note() {
	p.user.mu.Lock()
	defer p.user.mu.Unlock()
	if p.user.refused == nil {
		p.user.refused = map[string]int{}
	}
	for _, r := range p.page.Refused() {
		u, err := url.Parse(r.URL)
		if err == nil {
			p.user.refused[r.Method+" "+string(r.Kind)+" "+u.Path]++
		}
	}
}

// Read runs a program of the steps that the connector uses.
func (p *page) Read(ctx context.Context, program []byte) ([]byte, error) {
	var prog abi.Program
	if err := json.Unmarshal(program, &prog); err != nil {
		return nil, err
	}
	ans := abi.Answer{OK: true, Data: map[string]json.RawMessage{}}
	for i := range prog.Steps {
		if err := p.step(ctx, &prog.Steps[i], &ans); err != nil {
			return json.Marshal(abi.Answer{Step: i, Error: asError(err).Data()})
		}
	}
	info, err := p.page.Info(ctx)
	if err != nil {
		return nil, err
	}
	ans.Page = &info
	return json.Marshal(ans)
}

func (p *page) step(ctx context.Context, s *abi.Step, ans *abi.Answer) error {
	switch s.Op {
	case abi.OpNavigate:
		return p.visit(ctx, s.Path)
	case abi.OpExtract:
		x, err := p.page.Extract(ctx, *s.Schema)
		ans.Data[s.As], ans.Truncated = x.Table, ans.Truncated || x.Truncated
		return err
	}
	return abi.Errorf(abi.ErrUnsupportedAction, string(s.Op), "the connector has no need of it")
}

func (p *page) visit(ctx context.Context, path string) error {
	referrer := p.user.rig.site.Base + "/"
	if info, err := p.page.Info(ctx); err == nil && strings.HasPrefix(info.URL, referrer) {
		referrer = info.URL
	}
	v, err := p.page.Navigate(ctx, browser.Navigation{URL: p.user.rig.site.Base + path, Referrer: referrer, Pages: p.user.rig.def.Pages})
	if err != nil {
		return err
	}
	switch v.Class {
	case browser.SignedIn:
		return nil
	case browser.SignedOut:
		return abi.Errorf(abi.ErrAuthExpired, "navigate", "nobody is signed in").WithHint("drawbridge login rt")
	case browser.Forbidden:
		return abi.Errorf(abi.ErrForbidden, "navigate", "%q may not be seen", path)
	case browser.Missing:
		return abi.Errorf(abi.ErrNotFound, "navigate", "%q does not exist", path)
	}
	return abi.Errorf(abi.ErrSelectorDrift, "navigate", "%q is no known page", path)
}

// Act is not a capability of this connector.
func (p *page) Act(context.Context, []byte) ([]byte, error) {
	return nil, abi.Errorf(abi.ErrCapabilityDenied, "act", "the connector has no need of it")
}

// Progress is not one either.
func (p *page) Progress(context.Context, []byte) ([]byte, error) {
	return nil, abi.Errorf(abi.ErrCapabilityDenied, "progress", "the connector has no need of it")
}

// Fetch sends a form or JSON and reads HTML, if the answer is to be read at all.
func (p *page) Fetch(ctx context.Context, request []byte) ([]byte, error) {
	var req abi.FetchRequest
	if err := json.Unmarshal(request, &req); err != nil {
		return nil, err
	}
	f := browser.Fetch{Method: req.Method, URL: p.user.rig.site.Base + req.Path, Accept: req.Accept}
	if b := req.Body; b != nil && b.Encoding == abi.EncodingJSON {
		f.ContentType, f.Body = "application/json", b.JSON
	} else if b != nil {
		pairs := make([]string, len(b.Fields))
		for i, field := range b.Fields {
			pairs[i] = url.QueryEscape(field.Name) + "=" + url.QueryEscape(field.Value)
		}
		f.ContentType, f.Body = "application/x-www-form-urlencoded", []byte(strings.Join(pairs, "&"))
	}
	res, err := p.page.Fetch(ctx, f)
	ans := abi.FetchAnswer{OK: err == nil, Status: res.Status, URL: res.URL, ContentType: res.ContentType}
	if err == nil && req.Parse == abi.ParseHTML {
		var x browser.Extracted
		x, err = p.page.ExtractHTML(ctx, string(res.Body), res.URL, *req.Schema)
		ans.Table = x.Table
	}
	if err != nil {
		ans = abi.FetchAnswer{Error: asError(err).Data()}
	}
	return json.Marshal(ans)
}

func asError(err error) *abi.Error {
	if e, ok := err.(*abi.Error); ok { //nolint:errorlint // as the host calls return it
		return e
	}
	return abi.Errorf(abi.ErrInternal, "", "%w", err)
}

// A puppet does what an attack says, on a page that open has opened.
type puppet struct {
	user *user
	open func(ctx context.Context, a Attack) (*page, error)
	from string // where it starts; empty: at the ticket's page
}

// puppet is a module of a tool that reads.
func (u *user) puppet(tool *abi.Tool) *puppet {
	from := ""
	if len(tool.Reads) > 0 && tool.Reads[0].Path == "/Search/Results.html" {
		from = "/Search/Results.html?Query=id+%3E+0&Format=%27__id__%27&OrderBy=id&Order=DESC&Rows=1"
	}
	return &puppet{user: u, from: from, open: func(ctx context.Context, a Attack) (*page, error) {
		args, err := json.Marshal(map[string]int{"id": a.ID})
		if err != nil {
			return nil, err
		}
		return u.open(ctx, tool, args, nil)
	}}
}

// approved is a module of the tool that comments, after it was approved.
func (u *user) approved(tool *abi.Tool) *puppet {
	return &puppet{user: u, open: func(ctx context.Context, _ Attack) (*page, error) {
		return u.open(ctx, tool, []byte(`{"id":12,"text":"approved"}`), tool.Writes)
	}}
}

// Attack opens the ticket's page, or the list where that isn't granted, and does
// it from there.
func (p *puppet) Attack(ctx context.Context, a Attack) error {
	page, err := p.open(ctx, a)
	if err != nil {
		return err
	}
	defer page.close()
	from := cmp.Or(p.from, "/Ticket/Display.html?id="+strconv.Itoa(a.ID))
	if err := page.visit(ctx, from); err != nil {
		return fmt.Errorf("starting at %q: %v", from, err) //nolint:errorlint // a refusal of this is not the attack's
	}
	if a.Fetch == nil {
		return page.visit(ctx, a.Path)
	}
	raw, err := json.Marshal(a.Fetch)
	if err != nil {
		return err
	}
	data, err := page.Fetch(ctx, raw)
	if err != nil {
		return err
	}
	var ans abi.FetchAnswer
	if err := json.Unmarshal(data, &ans); err != nil {
		return err
	}
	if !ans.OK {
		return notOK(ans.Error)
	}
	return nil
}
