package browsertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

func testGuard(t *testing.T, s Subject) {
	t.Run("control", func(t *testing.T) { testControl(t, s) })
	t.Run("vectors", func(t *testing.T) { testVectors(t, s) })
	t.Run("lifetime", func(t *testing.T) { testLifetime(t, s) })
	if !s.Whole {
		return
	}
	t.Run("refusals", func(t *testing.T) { testRefusals(t, s) })
	t.Run("schemes", func(t *testing.T) { testSchemes(t, s) })
	t.Run("requests", func(t *testing.T) { testRequests(t, s) })
	t.Run("bodies", func(t *testing.T) { testBodyTold(t, s) })
}

// testControl shows that every vector reaches the server when nobody guards.
func testControl(t *testing.T, s Subject) {
	site := NewSite(t)
	serveVectors(site)
	for _, v := range vectors() {
		if !s.Whole && !v.launchOff {
			continue // the engine is the same
		}
		t.Run(v.name, func(t *testing.T) {
			ctx := deadline(t)
			f := s.Foreign(t)
			if err := f.Go(ctx, site.URL("app", "/v/"+v.name)); err != nil {
				t.Fatal(err)
			}
			if !site.WaitFor("/v/"+v.name, limit) {
				t.Fatal("the tab never asked for the page")
			}
			if v.click {
				if err := f.Click(ctx, "#go"); err != nil {
					t.Fatal(err)
				}
			}
			if v.leave {
				if err := f.Go(ctx, site.URL("app", "/plain")); err != nil {
					t.Fatal(err)
				}
			}
			if v.isOff(s) {
				if !site.WaitFor("/tried?/hit/"+v.name, limit) || site.Saw("/hit/"+v.name) {
					t.Error("the browser does it")
				}
			} else if !site.WaitFor("/hit/"+v.name, 10*time.Second) {
				t.Error("without a guard the vector does not reach the server: it proves nothing")
			}
			if err := f.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// testVectors shows that none does when the policy says no.
func testVectors(t *testing.T, s Subject) {
	site := NewSite(t)
	serveVectors(site)
	for _, v := range vectors() {
		if !s.Whole && !v.differs() {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			p := open(t, s, refuseHits)
			ctx := deadline(t)
			_, err := p.Navigate(ctx, browser.Navigation{URL: site.URL("app", "/v/"+v.name)})
			if err != nil {
				wantCode(t, err, abi.ErrOriginDenied) // a page that leads straight there
			}
			if v.click {
				if err := p.Act(ctx, abi.Step{Op: abi.OpClick, Selector: "#go"}, ""); err != nil {
					wantCode(t, err, abi.ErrOriginDenied)
				}
			}
			if v.leave {
				visit(t, p, site.URL("app", "/plain"))
			}
			if !v.absent || !s.Attached {
				awaitStopped(t, site, p, v)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if site.Saw("/hit/" + v.name) {
				t.Error("the request reached the server")
			}
		})
	}
	awaitNothing(t, s, site)
}

// awaitNothing gives what no vector tried the time of another visit.
func awaitNothing(t *testing.T, s Subject, site *Site) {
	t.Helper()
	visit(t, open(t, s, allow), site.URL("app", "/plain"))
	if site.Saw("/hit/") {
		t.Errorf("a request reached the server later: %v", site.Hits())
	}
}

// awaitStopped waits until the guard has had the vector's request in its hands.
func awaitStopped(t *testing.T, site *Site, p *browser.Page, v vector) {
	t.Helper()
	goal := "/hit/" + v.name
	if v.instead != "" {
		goal = v.instead
	}
	switch {
	case v.silent && strings.Contains(v.page, "/tried"):
		if !site.WaitFor("/tried?/hit/"+v.name, limit) {
			t.Fatal("the page never tried")
		}
	case v.silent:
		err := p.Wait(deadline(t), nil, ":root[data-done]", abi.StateAttached, 0)
		if err != nil {
			t.Fatalf("the page never tried: %v", err)
		}
	default:
		eventually(t, "a refusal of "+goal, func() bool {
			return slices.ContainsFunc(p.Refused(), func(r browser.Refusal) bool { return strings.Contains(r.URL, goal) && r.Err != nil })
		})
	}
}
