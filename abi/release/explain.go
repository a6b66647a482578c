package release

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Explain says in plain words what a release may do, one sentence a line: for
// review, at install and at update. Every grant, resource, login, read and write
// has a line, each starting with the connector or tool that it is about. Values
// from the release stand in quotes wherever they are not names. Settings replace
// their {templates}; the others stay as they are.
func Explain(r abi.Release, settings map[string]string) []string {
	e := explainer{settings: settings}
	if len(r.Connectors) == 0 {
		return []string{fmt.Sprintf("%s is of category %s: this host lists it and does not run it", r.Name, r.Category)}
	}
	for i := range r.Connectors {
		e.connector(&r.Connectors[i])
	}
	for _, n := range Notices(r) {
		e.lines = append(e.lines, n.String())
	}
	return e.lines
}

// ExplainTool is the part of [Explain] that is about one tool, without its name
// in front: for confirmations.
func ExplainTool(t *abi.Tool, settings map[string]string) []string {
	e := explainer{settings: settings}
	e.tool("", t)
	for i, l := range e.lines {
		e.lines[i] = strings.TrimPrefix(l, ": ")
	}
	return e.lines
}

// ExplainRequest says in plain words which requests an entry of reads or writes
// lets through.
func ExplainRequest(r *abi.Request, settings map[string]string) string {
	e := explainer{settings: settings}
	return e.request(r)
}

func (e *explainer) request(r *abi.Request) string {
	var b strings.Builder
	b.WriteString(r.Method + " " + e.fill(r.Origin) + plain(r.Path, "/_-.~{}:@!$&'()*+="))
	clause := func(lead string, params []abi.Param) {
		for i := range params {
			if i > 0 {
				lead = ","
			}
			b.WriteString(lead + " " + explainParam(&params[i]))
		}
	}
	clause(" where", r.Params)
	clause("; in the query", r.Query)
	switch {
	case len(r.Fields) > 0:
		clause(fmt.Sprintf("; in the %s body", r.Encoding), r.Fields)
	case r.Encoding != "" && r.Encoding != abi.EncodingNone:
		fmt.Fprintf(&b, "; with an empty %s body", r.Encoding)
	}
	if r.Dialog == abi.DialogAccept {
		b.WriteString("; the page's question is answered with yes")
	}
	return b.String()
}

func explainParam(p *abi.Param) string {
	name := plain(p.Name, "_-.{}[]:$")
	if strings.Contains(p.Name, abi.AnyNumber) {
		name += " (" + abi.AnyNumber + ": any number)"
	}
	if p.Optional {
		name = "optionally " + name
	}
	switch {
	case p.Arg != "":
		how := ""
		if p.Transform != "" && p.Transform != abi.TransformExact {
			how = " (" + string(p.Transform) + ")"
		}
		return fmt.Sprintf("%s is the argument %s%s", name, p.Arg, how)
	case p.Const != nil:
		return name + " is " + strconv.Quote(*p.Const)
	case p.Empty:
		return name + " is empty"
	case p.Token:
		return name + " is a token that the page itself holds"
	}
	return fmt.Sprintf("%s is any %s", name, anyWords(p))
}

// Plain quotes what could be taken for part of the sentence: everything that
// holds more than ASCII letters, digits and the given punctuation.
func plain(s, punctuation string) string {
	for i := range len(s) {
		if !asciiAlnum(s[i]) && strings.IndexByte(punctuation, s[i]) < 0 {
			return strconv.Quote(s)
		}
	}
	return s
}

func anyWords(p *abi.Param) string {
	words := map[abi.ValueType]string{
		abi.ValueInt: "whole number", abi.ValueSlug: "short name", abi.ValueHex: "hexadecimal number", abi.ValueText: "text",
	}[p.Any]
	if p.MaxLen > 0 {
		words += fmt.Sprintf(" up to %d bytes", p.MaxLen)
	}
	return words
}

// An explainer collects lines.
type explainer struct {
	settings map[string]string
	lines    []string
}

func (e *explainer) sayf(who, format string, args ...any) {
	e.lines = append(e.lines, who+": "+fmt.Sprintf(format, args...))
}

func (e *explainer) connector(c *abi.Connector) {
	e.sayf(c.ID, "works as you on %s", e.fill(c.BaseURL))
	for _, s := range c.Settings {
		e.sayf(c.ID, "knows the setting %s (%s)", s.Name, s.Type)
	}
	for _, o := range c.Origins {
		e.sayf(c.ID, "may open and read pages of %s", e.fill(o))
	}
	for _, r := range c.Resources {
		e.sayf(c.ID, "pages may load files from %s; the connector can't read them", e.fill(r))
	}
	if c.Health != nil {
		e.sayf(c.ID, "may be opened at %s, to see whether somebody is signed in, and who", c.Health.Path)
	}
	e.login(c)
	for _, s := range c.Pages.SignedIn {
		e.sayf(c.ID, "takes you for signed in where %s", e.condition(s))
	}
	if c.Account != nil {
		e.sayf(c.ID, "reads the account's name at %q", c.Account.Selector)
	}
	for i := range c.Tools {
		e.tool(c.ID+"_"+c.Tools[i].Name, &c.Tools[i])
	}
	for i := range c.Prompts {
		e.prompt(c.ID+"_"+c.Prompts[i].Name, &c.Prompts[i])
	}
}

// prompt says what a prompt offers, its text in full: a model will read it.
func (e *explainer) prompt(name string, p *abi.Prompt) {
	e.sayf(name, "offers a text to begin with, %q:", p.Title)
	for line := range strings.SplitSeq(strings.TrimSuffix(p.Text, "\n"), "\n") {
		e.sayf(name, "| %s", line)
	}
	for _, a := range p.Arguments {
		if a.From != nil {
			e.sayf(name, "completes %s by calling %s", a.Name, a.From.Tool)
		}
	}
}

func (e *explainer) login(c *abi.Connector) {
	if c.Login == nil {
		e.sayf(c.ID, "has no sign-in page: sign in by hand")
		return
	}
	e.sayf(c.ID, "you sign in at %s; the connector takes no part in it", c.Login.Path)
	for _, o := range c.Login.Origins {
		e.sayf(c.ID, "signing in may pass through %s", e.fill(o))
	}
	if cb := c.Login.Callback; cb != nil {
		e.sayf(c.ID, "signing in may return by %s %s", cb.Method, cb.Path)
	}
	if f := c.Login.Form; f != nil {
		then := ""
		if f.Next != "" {
			then = fmt.Sprintf(", with %q between them,", f.Next)
		}
		e.sayf(c.ID, "the host types name and password into %q and %q%s and presses %q", f.Username, f.Password, then, f.Submit)
	}
}

func (e *explainer) condition(c abi.Condition) string {
	var parts []string
	add := func(given bool, format string, args ...any) {
		if given {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(c.Origin != "", "the page is of %s", e.fill(c.Origin))
	add(c.Path != "", "its path is %q", c.Path)
	add(c.Status != 0, "its status is %d", c.Status)
	add(c.Title != "", "its title contains %q", c.Title)
	add(c.Selector != "", "it holds %q", c.Selector)
	add(c.Absent != "", "it does not hold %q", c.Absent)
	add(c.Text != "", "its text contains %q", c.Text)
	return strings.Join(parts, " and ")
}

func (e *explainer) tool(name string, t *abi.Tool) {
	if t.IsDestructive() {
		e.sayf(name, "CHANGES data, and asks you before each call: %q", t.Title)
	} else {
		e.sayf(name, "reads only: %q", t.Title)
	}
	for _, c := range t.Capabilities {
		e.sayf(name, "%s", capabilityWords(c))
	}
	for _, v := range t.Values {
		e.sayf(name, "completes %s by calling %s", v.Arg, v.From.Tool)
	}
	for i := range t.Reads {
		e.sayf(name, "may read by %s", e.request(&t.Reads[i]))
	}
	for i := range t.Writes {
		times := "once"
		if n := t.Writes[i].Max; n > 1 {
			times = fmt.Sprintf("up to %d times", n)
		}
		e.sayf(name, "may WRITE %s in a call by %s", times, e.request(&t.Writes[i]))
	}
}

func capabilityWords(c abi.Capability) string {
	switch c {
	case abi.CapRead:
		return "opens pages and reads them"
	case abi.CapAct:
		return "clicks and types in pages"
	case abi.CapFetch:
		return "sends requests with your login, without showing a page"
	case abi.CapProgress:
		return "reports progress"
	case abi.CapScreenshot:
		return "takes PICTURES of pages, which your client and its model see whole: what they show can't be redacted"
	}
	return "uses " + strconv.Quote(string(c))
}

// Fill replaces the template of a setting that has a value.
func (e *explainer) fill(s string) string {
	name, rest, ok := template(s)
	value := e.settings[name]
	if !ok || value == "" {
		return s
	}
	return strings.TrimSuffix(value, "/") + rest
}
