package release

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

const (
	maxSettings  = 32
	maxList      = 64      // entries of origins, resources, conditions, reads, writes, params
	maxSelector  = 1 << 10 // bytes
	maxVersion   = 64      // bytes
	maxShortText = 256     // bytes of a license, a URL, a setting's default
)

// Validate holds a manifest against every rule of package abi. The error is
// [Problems].
func Validate(m abi.Manifest) error {
	c := &checker{}
	c.head(m)
	c.count("$.connectors", len(m.Connectors), 0, abi.MaxConnectors)
	switch {
	case m.Category == abi.CategoryConnector && len(m.Connectors) == 0:
		c.addf("$.connectors", "missing: a plugin of category connector has at least one")
	case m.Category != abi.CategoryConnector && len(m.Connectors) > 0:
		c.addf("$.connectors", "only a plugin of category connector has connectors")
	}
	ids := map[string]bool{}
	for i := range m.Connectors {
		path := "$.connectors[" + strconv.Itoa(i) + "]"
		id := m.Connectors[i].ID
		if ids[id] {
			c.addf(path+".id", "%q stands there twice", shorten(id))
		}
		ids[id] = true
		c.connector(path, &m.Connectors[i])
	}
	c.sharedSettings(m.Connectors)
	return c.err()
}

func (c *checker) head(m abi.Manifest) {
	c.match("$.name", m.Name, `[a-z][a-z0-9-]{0,40}`)
	c.version("$.version", m.Version)
	switch m.Category {
	case abi.CategoryConnector, abi.CategoryPipelineNode, abi.CategoryMCPServer, abi.CategoryTool, abi.CategoryOther:
	default:
		c.addf("$.category", "%q is none of connector, pipeline-node, mcp-server, tool and other", shorten(string(m.Category)))
	}
	c.line("$.title", m.Title)
	c.text("$.description", m.Description, maxDescription)
	if m.License != "" {
		c.match("$.license", m.License, `[A-Za-z0-9.+() -]{1,256}`)
	}
	c.httpsURL("$.homepage", m.Homepage)
	c.httpsURL("$.source.repo", m.Source.Repo)
	if m.Source.Commit != "" {
		c.match("$.source.commit", m.Source.Commit, `[0-9a-f]{40}|[0-9a-f]{64}`)
	}
	c.count("$.maintainers", len(m.Maintainers), 0, maxList)
	for i, name := range m.Maintainers {
		c.line(fmt.Sprintf("$.maintainers[%d]", i), name)
	}
}

func (c *checker) connector(path string, con *abi.Connector) {
	c.match(path+".id", con.ID, `[a-z][a-z0-9]{0,20}`)
	c.line(path+".title", con.Title)
	c.optionalText(path+".description", con.Description, maxDescription)
	c.settings(path+".settings", con.Settings)
	g := c.grants(path, con)
	c.login(path+".login", con.Login, g)
	c.pages(path+".pages", con.Pages, g)
	if con.Account != nil {
		if con.Health == nil {
			c.addf(path+".account", "needs health: it is read from that page")
		}
		c.selector(path+".account.selector", con.Account.Selector)
		c.attribute(path+".account.attr", con.Account.Attr)
	}
	if con.Health != nil {
		c.sitePath(path+".health.path", con.Health.Path)
	}
	if con.Tab != "" && con.Tab != abi.TabOwn {
		c.addf(path+".tab", "%q is not known; the only mode is own", shorten(string(con.Tab)))
	}
	switch con.Activation {
	case "", abi.ActivationAlways, abi.ActivationWhenOpen:
	default:
		c.addf(path+".activation", "%q is neither always nor when-open", shorten(string(con.Activation)))
	}
	c.tools(path+".tools", con, g)
	c.prompts(path+".prompts", con)
}

// sharedSettings checks that connectors that name the same setting mean the same: a
// person is asked for one value, and is shown what it is good for.
func (c *checker) sharedSettings(connectors []abi.Connector) {
	first := map[string]abi.Setting{}
	for i := range connectors {
		for j, s := range connectors[i].Settings {
			if before, ok := first[s.Name]; ok && (before.Type != s.Type || before.Default != s.Default || before.Required != s.Required) {
				c.addf(fmt.Sprintf("$.connectors[%d].settings[%d]", i, j), "%q is another setting than the one of that name in a connector before", shorten(s.Name))
			}
			first[s.Name] = s
		}
	}
}

func (c *checker) settings(path string, settings []abi.Setting) {
	c.count(path, len(settings), 0, maxSettings)
	names := map[string]bool{}
	for i, s := range settings {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.match(at+".name", s.Name, `[a-z][a-z0-9_]{0,30}`)
		if names[s.Name] {
			c.addf(at+".name", "%q stands there twice", shorten(s.Name))
		}
		names[s.Name] = true
		c.line(at+".title", s.Title)
		c.optionalText(at+".description", s.Description, maxDescription)
		c.settingDefault(at, s)
	}
}

func (c *checker) settingDefault(path string, s abi.Setting) {
	c.optionalText(path+".default", s.Default, maxShortText)
	switch s.Type {
	case abi.SettingURL:
		if s.Default != "" {
			c.settingURL(path+".default", s.Default)
		}
	case abi.SettingString:
	case abi.SettingInteger:
		if s.Default != "" {
			c.match(path+".default", s.Default, `-?(0|[1-9][0-9]{0,14})`)
		}
	case abi.SettingBoolean:
		if s.Default != "" {
			c.match(path+".default", s.Default, `true|false`)
		}
	default:
		c.addf(path+".type", "%q is none of url, string, integer and boolean", shorten(string(s.Type)))
	}
}

func (c *checker) login(path string, login *abi.Login, g *grants) {
	if login == nil {
		return
	}
	c.sitePath(path+".path", login.Path)
	c.count(path+".origins", len(login.Origins), 0, maxList)
	for i, o := range login.Origins {
		c.originOf(fmt.Sprintf("%s.origins[%d]", path, i), o, g)
	}
	if cb := login.Callback; cb != nil {
		if cb.Method != "GET" && cb.Method != "POST" {
			c.addf(path+".callback.method", "%q is neither GET nor POST", shorten(cb.Method))
		}
		c.sitePath(path+".callback.path", cb.Path)
		if len(login.Origins) == 0 {
			c.addf(path+".callback", "a callback needs an identity provider in login.origins")
		}
	}
	if f := login.Form; f != nil {
		c.selector(path+".form.username", f.Username)
		c.selector(path+".form.password", f.Password)
		c.selector(path+".form.submit", f.Submit)
		if f.Next != "" {
			c.selector(path+".form.next", f.Next)
		}
	}
}

func (c *checker) pages(path string, p abi.Pages, g *grants) {
	lists := []struct {
		name       string
		required   bool
		conditions []abi.Condition
	}{{"signed_in", true, p.SignedIn}, {"signed_out", true, p.SignedOut}, {"forbidden", false, p.Forbidden}, {"missing", false, p.Missing}}
	for _, l := range lists {
		at := path + "." + l.name
		if l.required && len(l.conditions) == 0 {
			c.addf(at, "missing: without it a page of a signed-out user can't be told from an empty one")
		}
		c.count(at, len(l.conditions), 0, maxList)
		for i, cond := range l.conditions {
			c.condition(fmt.Sprintf("%s[%d]", at, i), cond, g)
		}
	}
}

func (c *checker) condition(path string, cond abi.Condition, g *grants) {
	if cond == (abi.Condition{}) {
		c.addf(path, "the condition is empty: it would hold on every page")
		return
	}
	for _, s := range []struct{ name, value string }{{"selector", cond.Selector}, {"absent", cond.Absent}} {
		if s.value != "" {
			c.selector(path+"."+s.name, s.value)
		}
	}
	if cond.Origin != "" {
		c.originOf(path+".origin", cond.Origin, g)
	}
	if cond.Path != "" {
		c.sitePath(path+".path", strings.TrimSuffix(cond.Path, "*"))
	}
	c.optionalText(path+".title", cond.Title, maxShortText)
	c.optionalText(path+".text", cond.Text, maxShortText)
	if cond.Status != 0 && (cond.Status < 100 || cond.Status > 599) {
		c.addf(path+".status", "%d is no HTTP status", cond.Status)
	}
}

// Small rules.

func (c *checker) match(path, value, pattern string) {
	if value == "" {
		c.addf(path, "missing")
	} else if !c.syntax(pattern).MatchString(value) {
		c.addf(path, "%q does not match %s", shorten(value), pattern)
	}
}

// Syntax compiles a pattern once for each look at a manifest.
func (c *checker) syntax(pattern string) *regexp.Regexp {
	re, ok := c.compiled[pattern]
	if !ok {
		re = regexp.MustCompile(`^(?:` + pattern + `)$`)
		if c.compiled == nil {
			c.compiled = map[string]*regexp.Regexp{}
		}
		c.compiled[pattern] = re
	}
	return re
}

func (c *checker) count(path string, n, least, most int) {
	if n < least {
		c.addf(path, "missing: at least %d expected", least)
	}
	if n > most {
		c.addf(path, "%d entries, at most %d", n, most)
	}
}

// Version is Semantic Versioning 2.0.0 without a leading v.
func (c *checker) version(path, v string) {
	const num, ident = `(?:0|[1-9][0-9]{0,8})`, `(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`
	c.match(path, v, num+`\.`+num+`\.`+num+`(?:-`+ident+`(?:\.`+ident+`)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`)
	if len(v) > maxVersion {
		c.addf(path, "longer than %d bytes", maxVersion)
	}
}

func (c *checker) httpsURL(path, s string) {
	if s == "" {
		return
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(s) > maxShortText || hiddenText(s) != "" || strings.ContainsAny(s, " <>\"\\\n\t") {
		c.addf(path, "%q is not an https URL", shorten(s))
	}
}

// Selector refuses what can't be one; the browser knows the rest.
func (c *checker) selector(path, s string) {
	switch {
	case strings.TrimSpace(s) == "":
		c.addf(path, "missing")
	case len(s) > maxSelector:
		c.addf(path, "longer than %d bytes", maxSelector)
	case hiddenText(s) != "":
		c.addf(path, "%s", hiddenText(s))
	}
}

func (c *checker) attribute(path, s string) {
	if s != "" {
		c.match(path, s, `[a-z][a-z0-9-]{0,63}`)
	}
}

// SitePath is an absolute path on the base URL's origin, as written in a page's
// address: no query, nothing that a URL parser would change.
func (c *checker) sitePath(path, s string) {
	switch {
	case s == "":
		c.addf(path, "missing")
	case len(s) > maxSelector:
		c.addf(path, "longer than %d bytes", maxSelector)
	case !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//"):
		c.addf(path, "%q does not start with one slash", shorten(s))
	case strings.ContainsAny(s, "?#\\\"<>^`|") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		c.addf(path, "%q is not a path", shorten(s))
	case slices.ContainsFunc(strings.Split(s, "/"), isDotSegment):
		c.addf(path, "%q holds a dot segment", shorten(s))
	}
}

func isDotSegment(s string) bool {
	s = strings.ReplaceAll(strings.ToLower(s), "%2e", ".")
	return s == "." || s == ".."
}
