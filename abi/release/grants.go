package release

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// Grants are what a connector's other rules refer to.
type grants struct {
	urls     map[string]bool // settings of type url
	all      map[string]bool // settings of any type
	settings map[string]bool // that origins are granted of
	patterns []origin.Pattern
}

// Grants checks where a connector may go.
func (c *checker) grants(path string, con *abi.Connector) *grants {
	g := &grants{urls: map[string]bool{}, all: map[string]bool{}, settings: map[string]bool{}}
	for _, s := range con.Settings {
		g.all[s.Name] = true
		g.urls[s.Name] = s.Type == abi.SettingURL
	}
	c.count(path+".origins", len(con.Origins), 1, maxList)
	for i, o := range con.Origins {
		setting, pattern := c.pattern(fmt.Sprintf("%s.origins[%d]", path, i), o, g)
		g.settings[setting] = true
		g.patterns = append(g.patterns, pattern)
	}
	c.count(path+".resources", len(con.Resources), 0, maxList)
	for i, r := range con.Resources {
		c.pattern(fmt.Sprintf("%s.resources[%d]", path, i), r, g)
	}
	c.baseURL(path+".base_url", con.BaseURL, g)
	return g
}

func (c *checker) baseURL(path, s string, g *grants) {
	switch name, rest, ok := template(s); {
	case s == "":
		c.addf(path, "missing")
		return
	case ok && rest != "":
		c.addf(path, "%q: nothing may follow the setting", shorten(s))
		return
	case ok && !c.urlSetting(path, name, g), !ok && !c.settingURL(path, s):
		return
	}
	if !g.granted(s) {
		c.addf(path, "%q is not covered by origins", shorten(s))
	}
}

// Pattern checks "{setting}/path/*" or a match pattern. It returns the setting or
// the pattern, both zero if there is none.
func (c *checker) pattern(path, s string, g *grants) (setting string, p origin.Pattern) {
	if name, rest, ok := template(s); ok {
		if !strings.HasPrefix(rest, "/") {
			c.addf(path, "%q: a path such as /* has to follow the setting", shorten(s))
			return "", p
		}
		c.sitePath(path, strings.ReplaceAll(rest, "*", "x"))
		if !c.urlSetting(path, name, g) {
			return "", p
		}
		return name, p
	}
	p, err := origin.ParsePattern(s)
	switch {
	case err != nil:
		c.addf(path, "%v", err)
	case p.String() != s:
		c.addf(path, "%q is spelled %q", shorten(s), shorten(p.String()))
	}
	return "", p
}

// OriginOf checks "{setting}" or an origin.
func (c *checker) originOf(path, s string, g *grants) bool {
	if name, rest, ok := template(s); ok {
		if rest != "" {
			c.addf(path, "%q: nothing may follow the setting", shorten(s))
			return false
		}
		return c.urlSetting(path, name, g)
	}
	o, err := origin.ParseOrigin(s)
	switch {
	case err != nil:
		c.addf(path, "%v", err)
	case string(o) != s:
		c.addf(path, "%q is spelled %q", shorten(s), shorten(string(o)))
	}
	return err == nil && string(o) == s
}

func (c *checker) urlSetting(path, name string, g *grants) bool {
	switch {
	case g.urls[name]:
		return true
	case g.all[name]:
		c.addf(path, "the setting {%s} is not of type url", shorten(name))
	default:
		c.addf(path, "no setting is called {%s}", shorten(name))
	}
	return false
}

// Granted reports whether origins cover "{setting}" or the origin of a URL.
func (g *grants) granted(s string) bool {
	if name, _, ok := template(s); ok {
		return g.settings[name]
	}
	u, err := origin.ParseURL(s)
	return err == nil && slices.ContainsFunc(g.patterns, func(p origin.Pattern) bool { return p.MatchOrigin(u) })
}

// Template splits "{setting}rest".
func template(s string) (setting, rest string, ok bool) {
	if !strings.HasPrefix(s, "{") {
		return "", "", false
	}
	return strings.Cut(s[1:], "}")
}

// SettingURL checks an http(s) URL without query and fragment.
func (c *checker) settingURL(path, s string) bool {
	u, err := origin.ParseURL(s)
	if err != nil || u.String() != s && u.String() != s+"/" || strings.ContainsAny(s, "?#") {
		c.addf(path, "%q is not an http or https URL without query and fragment", shorten(s))
		return false
	}
	return true
}
