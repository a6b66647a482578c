package host

import (
	"context"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// SignedOut says what a logout removed.
type SignedOut struct {
	Cookies int      // how many
	Origins []string // whose stored data
}

// Logout removes, from our browser's profile and after a person agreed, what a
// connector's site keeps there: its cookies and its stored data. With identity,
// the same of the identity providers that the connector names, which other
// connectors may use too; without it, the site may sign in again through one.
// The site is not told.
func (h *Host) Logout(ctx context.Context, id string, identity bool, show func(Question) error) (SignedOut, error) {
	conn, ok := h.catalog.Load().connectors[id]
	if !ok {
		return SignedOut{}, abi.Errorf(abi.ErrNotFound, "logout", "no connector %q is installed", id).WithHint("drawbridge list")
	}
	hosts := newSiteHosts(conn.site, identity)
	lines := []string{"forgets      cookies and stored data of " + strings.Join(hosts.origins, ", ")}
	if others := identityOnly(conn.site); len(others) > 0 && !identity {
		lines = append(lines, "keeps        the session at "+strings.Join(others, ", ")+", through which the site may sign in again (--identity forgets it too)")
	}
	if err := h.Questions.Ask(ctx, "Sign out of "+conn.def.Title+" in drawbridge's browser?", lines, show); err != nil {
		return SignedOut{}, err
	}
	h.signin.Lock()
	defer h.signin.Unlock()
	h.tabs.forget(id)
	b, err := h.tabs.browsers.get(ctx)
	if err != nil {
		return SignedOut{}, err
	}
	n, err := b.Forget(ctx, hosts.mine, hosts.origins)
	if err != nil {
		return SignedOut{}, err
	}
	h.health.LoggedOut(id)
	return SignedOut{Cookies: n, Origins: hosts.origins}, h.Note(ctx, "signed out", id)
}

// A siteHosts is the part of the web whose data is a site's own.
type siteHosts struct {
	patterns []origin.Pattern
	names    []string // hosts whose parents' cookies reach them
	origins  []string // sorted
}

func newSiteHosts(s *site, identity bool) siteHosts {
	h := siteHosts{patterns: s.origins}
	list := []origin.Origin{s.base.Origin()}
	for _, p := range s.origins {
		list = append(list, p.Origins()...)
	}
	if identity {
		list = append(list, s.login...)
	}
	for _, o := range list {
		u, err := origin.ParseURL(string(o))
		if err != nil {
			continue // it was parsed before
		}
		h.names = append(h.names, u.Host())
		h.origins = append(h.origins, string(o))
	}
	slices.Sort(h.origins)
	h.origins = slices.Compact(h.origins)
	return h
}

// mine reports whether a cookie of domain is sent to the site. One that a parent
// domain keeps for all its names is: it may be the session.
func (h siteHosts) mine(domain string, below bool) bool {
	if slices.Contains(h.names, domain) || slices.ContainsFunc(h.patterns, func(p origin.Pattern) bool { return p.MatchHost(domain) }) {
		return true
	}
	return below && slices.ContainsFunc(h.names, func(n string) bool { return strings.HasSuffix(n, "."+domain) })
}

// identityOnly lists the identity providers that are no part of the site itself.
func identityOnly(s *site) (list []string) {
	own := newSiteHosts(s, false).origins
	for _, o := range s.login {
		if !slices.Contains(own, string(o)) {
			list = append(list, string(o))
		}
	}
	return list
}
