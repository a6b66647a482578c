package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// A Change is one thing that is different between two releases of a plugin.
type Change struct {
	Kind ChangeKind `json:"kind"`
	Who  string     `json:"who"`  // the connector or tool that it is about
	Text string     `json:"text"` // in plain words
}

// String is the change on one line.
func (c Change) String() string { return c.Who + ": " + c.Text }

// A ChangeKind says what a change asks of a person.
type ChangeKind string

// The kinds of change.
const (
	Wider    ChangeKind = "wider"    // it may do more: a person has to agree
	Told     ChangeKind = "told"     // what models or people are told of it, or what it takes a page for, is different: likewise
	Narrower ChangeKind = "narrower" // it may do less
	Noted    ChangeKind = "noted"    // worth knowing, and no more than that
)

// Asks reports whether one of the changes needs a person's yes. Only what takes
// something away does not: what this version doesn't know how to compare asks.
func Asks(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Kind != Narrower && c.Kind != Noted })
}

// Compare lists what a release may do more, less or otherwise than the one before
// it, with the settings put in as in [Explain]. Nothing listed means that the two
// may do and tell the same; the module's code may still be another.
func Compare(before, after abi.Release, settings map[string]string) []Change {
	c := &comparer{explainer: explainer{settings: settings}}
	if before.Category != after.Category {
		c.add(Wider, after.Name, "is of category %s, and was of %s", after.Category, before.Category)
	}
	c.text(after.Name, "title", before.Title, after.Title)
	c.text(after.Name, "description", before.Description, after.Description)
	was := map[string]*abi.Connector{}
	for i := range before.Connectors {
		was[before.Connectors[i].ID] = &before.Connectors[i]
	}
	for i := range after.Connectors {
		con := &after.Connectors[i]
		if old, ok := was[con.ID]; ok {
			c.connectors(old, con)
		} else {
			c.newLines(abi.Release{Name: after.Name, Connectors: []abi.Connector{*con}})
		}
		delete(was, con.ID)
	}
	for i := range before.Connectors {
		if id := before.Connectors[i].ID; was[id] != nil {
			c.add(Narrower, id, "is gone, with all its tools")
		}
	}
	c.notices(before, after)
	return c.changes
}

// A comparer collects changes.
type comparer struct {
	explainer
	changes []Change
}

func (c *comparer) add(kind ChangeKind, who, format string, args ...any) {
	c.changes = append(c.changes, Change{kind, who, fmt.Sprintf(format, args...)})
}

// newLines adds all that Explain says of something that is new.
func (c *comparer) newLines(r abi.Release) {
	for _, l := range Explain(r, c.settings) {
		who, text, _ := strings.Cut(l, ": ")
		if !strings.HasPrefix(text, readThis) { // notices does
			c.add(Wider, who, "new: %s", text)
		}
	}
}

// set compares two lists of words: what is added is wider, what is gone narrower.
func (c *comparer) set(who, lead string, was, is []string, say func(string) string) {
	for _, s := range is {
		if !slices.Contains(was, s) {
			c.add(Wider, who, "new: %s%s", lead, say(s))
		}
	}
	for _, s := range was {
		if !slices.Contains(is, s) {
			c.add(Narrower, who, "no longer: %s%s", lead, say(s))
		}
	}
}

// words are a list's values as text.
func words[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// connectors compares one connector's grants and pages, and then its tools.
func (c *comparer) connectors(was, is *abi.Connector) {
	id := is.ID
	if was.BaseURL != is.BaseURL {
		c.add(Wider, id, "works on %s, and worked on %s", c.fill(is.BaseURL), c.fill(was.BaseURL))
	}
	c.patterns(id, "may open and read pages of ", was.Origins, is.Origins)
	c.patterns(id, "pages may load files from ", was.Resources, is.Resources)
	named(c, id, "the setting", was.Settings, is.Settings, func(s abi.Setting) string { return s.Name })
	c.login(id, was.Login, is.Login)
	if is.Health != nil && !same(was.Health, is.Health) {
		c.add(Wider, id, "new: may be opened at %s, to see whether somebody is signed in, and who", is.Health.Path)
	}
	if !same(was.Pages, is.Pages) || !same(was.Account, is.Account) {
		c.add(Told, id, "tells in another way whether somebody is signed in, and who: %s", c.recognised(is))
	}
	c.text(id, "title", was.Title, is.Title)
	c.text(id, "description", was.Description, is.Description)
	if was.Tab != is.Tab || was.Activation != is.Activation {
		c.add(Told, id, "has tab %q and activation %q, and had %q and %q", is.Tab, is.Activation, was.Tab, was.Activation)
	}
	c.tools(was, is)
	named(c, id, "the prompt", was.Prompts, is.Prompts, func(p abi.Prompt) string { return p.Name })
}

// recognised says how a connector knows its pages and its account.
func (c *comparer) recognised(con *abi.Connector) string {
	var parts []string
	for _, s := range con.Pages.SignedIn {
		parts = append(parts, "signed in where "+c.condition(s))
	}
	if con.Account != nil {
		parts = append(parts, fmt.Sprintf("the account's name is at %q", con.Account.Selector))
	}
	return strings.Join(parts, "; ")
}

// patterns compares two lists of grants. One that an older one covers is no new one.
func (c *comparer) patterns(who, lead string, was, is []string) {
	for _, s := range is {
		if !slices.ContainsFunc(was, func(old string) bool { return covers(old, s) }) {
			c.add(Wider, who, "new: %s%s", lead, c.fill(s))
		}
	}
	for _, s := range was {
		if !slices.Contains(is, s) {
			c.add(Narrower, who, "no longer: %s%s", lead, c.fill(s))
		}
	}
}

// covers reports whether a grant covers another one. Grants of a setting are
// compared by their paths.
func covers(old, grant string) bool {
	if old == grant {
		return true
	}
	name, rest, ok := template(old)
	other, _, okToo := template(grant)
	if ok || okToo {
		return ok && okToo && name == other && rest == "/*"
	}
	p, err := origin.ParsePattern(old)
	q, err2 := origin.ParsePattern(grant)
	return err == nil && err2 == nil && p.Covers(q)
}

func (c *comparer) login(id string, was, is *abi.Login) {
	if is == nil {
		if was != nil {
			c.add(Narrower, id, "no longer: has a sign-in page")
		}
		return
	}
	var before abi.Login
	if was != nil {
		before = *was
	}
	c.set(id, "signing in may pass through ", before.Origins, is.Origins, c.fill)
	rest := *is
	before.Origins, rest.Origins = nil, nil
	if was == nil || !same(before, rest) {
		e := explainer{settings: c.settings}
		e.login(&abi.Connector{ID: id, Login: &rest})
		for _, l := range e.lines {
			_, text, _ := strings.Cut(l, ": ")
			c.add(Wider, id, "signing in is another: %s", text)
		}
	}
}

// named compares definitions by name: one that is new or another asks.
func named[T any](c *comparer, who, what string, was, is []T, name func(T) string) {
	before, after := map[string]T{}, map[string]T{}
	for _, v := range was {
		before[name(v)] = v
	}
	for _, v := range is {
		after[name(v)] = v
	}
	for _, n := range sorted(after) {
		switch old, ok := before[n]; {
		case !ok:
			c.add(Wider, who, "new: %s %s: %s", what, n, described(after[n]))
		case !same(old, after[n]):
			c.add(Told, who, "%s %s is another: %s", what, n, changed(old, after[n]))
		}
	}
	for _, n := range sorted(before) {
		if _, ok := after[n]; !ok {
			c.add(Narrower, who, "no longer: %s %s", what, n)
		}
	}
}

// text compares what is shown to people and models.
func (c *comparer) text(who, what, was, is string) {
	if was != is {
		c.add(Told, who, "its %s is now %s, and was %s", what, strconv.Quote(is), strconv.Quote(was))
	}
}

// text is a value's JSON, for comparing and for showing.
func text(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func same(a, b any) bool { return text(a) == text(b) }
