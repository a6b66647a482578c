package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// A site is a connector's signed definition with the user's settings put in:
// the only form in which addresses are used.
type site struct {
	base      origin.URL // with a path that ends in a slash
	origins   []origin.Pattern
	resources []origin.Pattern
	login     []origin.Origin
	pages     abi.Pages
}

// resolve puts settings into a connector's definition.
func resolve(c *abi.Connector, settings map[string]string) (*site, error) {
	r := resolver{connector: c, settings: settings}
	s := &site{base: r.base()}
	for _, p := range c.Origins {
		s.origins = append(s.origins, r.pattern(p))
	}
	for _, p := range c.Resources {
		s.resources = append(s.resources, r.pattern(p))
	}
	if c.Login != nil {
		for _, o := range c.Login.Origins {
			s.login = append(s.login, r.origin(o))
		}
	}
	s.pages = abi.Pages{
		SignedIn:  r.conditions(c.Pages.SignedIn),
		SignedOut: r.conditions(c.Pages.SignedOut),
		Forbidden: r.conditions(c.Pages.Forbidden),
		Missing:   r.conditions(c.Pages.Missing),
	}
	return s, r.err
}

// A resolver keeps the first error, so that what it fills reads as a list.
type resolver struct {
	connector *abi.Connector
	settings  map[string]string
	err       error
}

func (r *resolver) fail(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
}

// setting returns the URL that stands for "{name}" at the start of text, and
// the rest of text.
func (r *resolver) setting(text string) (origin.URL, string, bool) {
	name, rest, ok := strings.Cut(strings.TrimPrefix(text, "{"), "}")
	if !strings.HasPrefix(text, "{") || !ok {
		return origin.URL{}, text, false
	}
	value, ok := r.settings[name]
	if !ok || value == "" {
		r.fail(abi.Errorf(abi.ErrInvalidArgs, "settings", "setting %q of connector %q has no value", name, r.connector.ID).
			WithHint("drawbridge install … --set %s=https://…", name))
		return origin.URL{}, rest, true
	}
	u, err := origin.ParseURL(value)
	if err != nil {
		r.fail(abi.Errorf(abi.ErrInvalidArgs, "settings", "setting %q of connector %q is %q: %w", name, r.connector.ID, value, err))
	}
	return u, rest, true
}

func (r *resolver) base() origin.URL {
	text := r.connector.BaseURL
	if u, rest, ok := r.setting(text); ok {
		if r.err != nil {
			return u
		}
		text = u.String() + rest
	}
	if !strings.HasSuffix(text, "/") {
		text += "/"
	}
	u, err := origin.ParseURL(text)
	r.fail(err)
	return u
}

func (r *resolver) pattern(text string) origin.Pattern {
	if u, rest, ok := r.setting(text); ok {
		if r.err != nil {
			return origin.Pattern{}
		}
		text = string(u.Origin()) + strings.TrimSuffix(u.Path(), "/") + rest
	}
	p, err := origin.ParsePattern(text)
	if err != nil {
		r.fail(fmt.Errorf("reading pattern %q: %w", text, err))
	}
	return p
}

func (r *resolver) origin(text string) origin.Origin {
	u, _, ok := r.setting(text)
	if !ok {
		var err error
		u, err = origin.ParseURL(text)
		r.fail(err)
	}
	if r.err != nil {
		return ""
	}
	return u.Origin()
}

func (r *resolver) conditions(list []abi.Condition) []abi.Condition {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Origin != "" {
			list[i].Origin = string(r.origin(list[i].Origin))
		}
	}
	return list
}

// address is the base address as a person reads it, with its path where it has
// one: two installations on one origin are two systems.
func (s *site) address() string { return strings.TrimSuffix(s.base.String(), "/") }

// url resolves a connector's path against its base address. A path cannot
// leave the base by being absolute: "/x" stands below the base's own path.
func (s *site) url(path string) (origin.URL, error) {
	if strings.Contains(path, "://") {
		return origin.ParseURL(path)
	}
	return origin.ParseURL(strings.TrimSuffix(s.base.String(), "/") + "/" + strings.TrimPrefix(path, "/"))
}

// requests returns a tool's list with paths below the base's own path, and
// origins resolved.
func (s *site) requests(list []abi.Request, settings map[string]string, c *abi.Connector) ([]abi.Request, error) {
	r := resolver{connector: c, settings: settings}
	prefix := strings.TrimSuffix(s.base.Path(), "/")
	out := slices.Clone(list)
	for i := range out {
		if out[i].Origin == "" {
			out[i].Origin = string(s.base.Origin())
			out[i].Path = prefix + out[i].Path
			continue
		}
		out[i].Origin = string(r.origin(out[i].Origin))
	}
	return out, r.err
}
