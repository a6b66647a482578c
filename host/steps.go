package host

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// step runs one step and puts what it yields into ans.
func (g *grantedPage) step(ctx context.Context, s *abi.Step, ans *abi.Answer) error {
	if s.Op != abi.OpNavigate {
		if err := g.here(); err != nil {
			return err
		}
	}
	switch s.Op {
	case abi.OpNavigate:
		return g.navigate(ctx, s)
	case abi.OpWait:
		return g.page.Wait(ctx, s.Within, s.Selector, s.State, waitTimeout(s.TimeoutMS))
	case abi.OpExtract:
		return g.extract(ctx, s, ans)
	case abi.OpExists:
		ok, err := g.page.Exists(ctx, s.Within, s.Selector)
		return put(ans, s, ok, err)
	case abi.OpPage:
		info, err := g.page.Info(ctx)
		return put(ans, s, info, err)
	case abi.OpHTML:
		html, cut, err := g.page.HTML(ctx, s.Within, s.Selector, htmlLimit(s.Max))
		return put(ans, s, map[string]any{"html": html, "truncated": cut}, err)
	case abi.OpSnapshot:
		text, cut, err := g.page.Snapshot(ctx, s.Within, s.Selector, s.Max)
		return put(ans, s, map[string]any{"text": text, "truncated": cut}, err)
	case abi.OpScreenshot:
		return g.screenshot(ctx, s, ans)
	case abi.OpClick, abi.OpFill, abi.OpSelect, abi.OpCheck, abi.OpPress:
		return g.act(ctx, s)
	}
	return abi.Errorf(abi.ErrUnsupportedAction, "program", "this host has no step %q", s.Op)
}

// here refuses whatever a step would do to a page outside the connector's
// origins, such as an identity provider's that a redirect led to.
func (g *grantedPage) here() error {
	at := g.page.URL()
	if at == "" || at == "about:blank" {
		return nil
	}
	u, err := origin.ParseURL(at)
	if err == nil && slices.ContainsFunc(g.site.origins, func(p origin.Pattern) bool { return p.MatchOrigin(u) }) {
		return nil
	}
	if err == nil && g.guard.IsLogin(u) {
		return abi.Errorf(abi.ErrAuthExpired, "page", "the tab is at the identity provider %q", u.Origin()).WithHint("%s", g.loginCmd)
	}
	return abi.Errorf(abi.ErrOriginDenied, "page", "the tab is at %q, outside the connector's origins", at)
}

// put stores a step's value under the name that the module gave it.
func put(ans *abi.Answer, s *abi.Step, value any, err error) error {
	if err != nil {
		return err
	}
	if s.As == "" {
		return abi.Errorf(abi.ErrInvalidArgs, string(s.Op), `"as" is empty`)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	ans.Data[s.As] = data
	return nil
}

func (g *grantedPage) navigate(ctx context.Context, s *abi.Step) error {
	u, err := g.site.url(s.Path)
	if err != nil {
		return abi.Errorf(abi.ErrInvalidArgs, "navigate", "path %q: %w", s.Path, err)
	}
	return g.visit(ctx, u, g.referrer(), s.Wait)
}

// referrer is what a click on the current page would send; some applications
// refuse a request that has none.
func (g *grantedPage) referrer() string {
	if u, err := origin.ParseURL(g.page.URL()); err == nil && u.Origin() == g.site.base.Origin() {
		return u.String()
	}
	return g.site.base.String()
}

// act runs one step that changes the page. If it led to another document, that
// page is judged as navigate's would be.
func (g *grantedPage) act(ctx context.Context, s *abi.Step) error {
	_ = g.page.Refused() // what was refused before is not this step's
	if err := g.page.Act(ctx, *s, g.dialog); err != nil {
		return g.refusal(err)
	}
	if s.Wait == "" {
		return nil
	}
	v, err := g.page.Settle(ctx, g.site.pages, s.Wait)
	if err != nil {
		return g.refusal(err)
	}
	return g.classify(v)
}

// refusal prefers the guard's own words: a click that led to a refused request
// shows up in the page only as something that did not happen.
func (g *grantedPage) refusal(err error) error {
	for _, r := range g.page.Refused() {
		if r.Kind == browser.KindDocument || r.Kind == browser.KindPopup {
			return r.Err
		}
	}
	return err
}

// extract reads a table, and the pages that follow it.
func (g *grantedPage) extract(ctx context.Context, s *abi.Step, ans *abi.Answer) error {
	if s.Schema == nil {
		return abi.Errorf(abi.ErrInvalidArgs, "extract", `"schema" is missing`)
	}
	if s.As == "" {
		return abi.Errorf(abi.ErrInvalidArgs, "extract", `"as" is empty`)
	}
	got, err := g.page.Extract(ctx, *s.Schema)
	if err != nil {
		return err
	}
	if s.Schema.Next == nil || got.Next == "" {
		ans.Data[s.As], ans.Truncated = got.Table, ans.Truncated || got.Truncated
		return nil
	}
	return g.follow(ctx, s, got.Table, got.Next, ans)
}

// rawTable is an abi.Table whose rows stay as they came.
type rawTable struct {
	Cols []string          `json:"cols"`
	Rows []json.RawMessage `json:"rows"`
}

func (g *grantedPage) follow(ctx context.Context, s *abi.Step, first json.RawMessage, next string, ans *abi.Answer) error {
	var all rawTable
	if err := json.Unmarshal(first, &all); err != nil {
		return err
	}
	limit := s.Schema.Limit
	if limit <= 0 || limit > abi.MaxRows {
		limit = abi.MaxRows
	}
	pages := min(s.Schema.Next.Max, abi.MaxFollow)
	for ; next != "" && len(all.Rows) < limit; pages-- {
		if pages == 0 {
			ans.Truncated = true
			break
		}
		more, err := g.nextPage(ctx, s, next)
		if err != nil {
			return err
		}
		all.Rows, next = append(all.Rows, more.rows...), more.next
	}
	if len(all.Rows) > limit {
		all.Rows, ans.Truncated = all.Rows[:limit], true
	}
	return put(ans, s, all, nil)
}

type pageRows struct {
	rows []json.RawMessage
	next string
}

func (g *grantedPage) nextPage(ctx context.Context, s *abi.Step, next string) (pageRows, error) {
	u, err := origin.ParseURL(next)
	if err != nil {
		return pageRows{}, abi.Errorf(abi.ErrOriginDenied, "extract", "next page %q: %w", next, err)
	}
	if err := g.visit(ctx, u, g.referrer(), ""); err != nil {
		return pageRows{}, err
	}
	got, err := g.page.Extract(ctx, *s.Schema)
	if err != nil {
		return pageRows{}, err
	}
	var t rawTable
	if err := json.Unmarshal(got.Table, &t); err != nil {
		return pageRows{}, err
	}
	return pageRows{rows: t.Rows, next: got.Next}, nil
}

func waitTimeout(ms int) time.Duration {
	d := time.Duration(ms) * time.Millisecond
	if d <= 0 || d > abi.WaitTimeout {
		return abi.WaitTimeout
	}
	return d
}

func htmlLimit(n int) int {
	if n <= 0 || n > abi.MaxHTML {
		return abi.MaxHTML
	}
	return n
}
