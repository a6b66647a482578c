package release

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Grants are what a connector's other rules refer to.
type grants struct {
	urls map[string]bool // settings of type url
	all  map[string]bool // settings of any type
	// Origins that may be navigated to, as "{setting}" or in the form that
	// patterns have without their path.
	origins map[string]bool
}

// Grants checks where a connector may go.
func (c *checker) grants(path string, con *abi.Connector) *grants {
	g := &grants{urls: map[string]bool{}, all: map[string]bool{}, origins: map[string]bool{}}
	for _, s := range con.Settings {
		g.all[s.Name] = true
		g.urls[s.Name] = s.Type == abi.SettingURL
	}
	c.count(path+".origins", len(con.Origins), 1, maxList)
	for i, o := range con.Origins {
		if base, ok := c.pattern(fmt.Sprintf("%s.origins[%d]", path, i), o, g); ok {
			g.origins[base] = true
		}
	}
	c.count(path+".resources", len(con.Resources), 0, maxList)
	for i, r := range con.Resources {
		c.pattern(fmt.Sprintf("%s.resources[%d]", path, i), r, g)
	}
	c.baseURL(path+".base_url", con.BaseURL, g)
	return g
}

func (c *checker) baseURL(path, s string, g *grants) {
	base := s
	switch name, rest, ok := template(s); {
	case s == "":
		c.addf(path, "missing")
		return
	case ok:
		if rest != "" {
			c.addf(path, "%q: nothing may follow the setting", shorten(s))
		}
		if !c.urlSetting(path, name, g) {
			return
		}
		base = "{" + name + "}"
	default:
		if !c.settingURL(path, s) {
			return
		}
		base = originPart(s)
	}
	if !g.granted(base) {
		c.addf(path, "%q is not covered by origins", shorten(s))
	}
}

// Pattern checks "{setting}/path/*" or a match pattern, and returns what stands
// before its path.
func (c *checker) pattern(path, s string, g *grants) (base string, ok bool) {
	if name, rest, isTemplate := template(s); isTemplate {
		if !strings.HasPrefix(rest, "/") {
			c.addf(path, "%q: a path such as /* has to follow the setting", shorten(s))
			return "", false
		}
		c.sitePath(path, strings.ReplaceAll(rest, "*", "x"))
		return "{" + name + "}", c.urlSetting(path, name, g)
	}
	if err := checkPattern(s); err != nil {
		c.addf(path, "%v", err)
		return "", false
	}
	return originPart(s), true
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
	if err := checkOrigin(s); err != nil {
		c.addf(path, "%v", err)
		return false
	}
	return true
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

// Granted reports whether origins cover an origin or "{setting}".
func (g *grants) granted(origin string) bool {
	if g.origins[origin] {
		return true
	}
	scheme, host, ok := strings.Cut(origin, "://")
	if !ok {
		return false
	}
	for {
		if g.origins[scheme+"://*."+host] {
			return true
		}
		_, rest, ok := strings.Cut(host, ".")
		if !ok {
			return false
		}
		host = rest
	}
}

// Template splits "{setting}rest".
func template(s string) (setting, rest string, ok bool) {
	if !strings.HasPrefix(s, "{") {
		return "", "", false
	}
	return strings.Cut(s[1:], "}")
}

// OriginPart is what stands before a pattern's or URL's path.
func originPart(s string) string {
	scheme, rest, _ := strings.Cut(s, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// SettingURL checks an http(s) URL without query and fragment.
func (c *checker) settingURL(path, s string) bool {
	rest := strings.TrimPrefix(s, originPart(s))
	if err := checkOrigin(originPart(s)); err != nil || strings.ContainsAny(rest, "?#\\ ") || hiddenText(s) != "" {
		c.addf(path, "%q is not an http or https URL without query and fragment", shorten(s))
		return false
	}
	return true
}

const hostSyntax = `[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9][0-9]{0,4})?`

func checkOrigin(s string) error {
	if !regexp.MustCompile(`^https?://` + hostSyntax + `$`).MatchString(s) {
		return fmt.Errorf("%q is not an origin such as https://example.org", shorten(s))
	}
	return nil
}

func checkPattern(s string) error {
	if !regexp.MustCompile(`^https?://(\*\.)?` + hostSyntax + `/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$`).MatchString(s) {
		return fmt.Errorf("%q is not a match pattern such as https://example.org/*", shorten(s))
	}
	return nil
}
