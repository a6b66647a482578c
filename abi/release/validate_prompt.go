package release

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// maxOneOf is how many values an argument's closed list may have.
const maxOneOf = 64

func (c *checker) prompts(path string, con *abi.Connector) {
	c.count(path, len(con.Prompts), 0, abi.MaxPrompts)
	names := map[string]bool{}
	for _, t := range con.Tools {
		names[t.Name] = true
	}
	for i := range con.Prompts {
		at := fmt.Sprintf("%s[%d]", path, i)
		p := &con.Prompts[i]
		if names[p.Name] {
			c.addf(at+".name", "%q is the name of another tool or prompt", shorten(p.Name))
		}
		names[p.Name] = true
		c.prompt(at, con, p)
	}
}

func (c *checker) prompt(path string, con *abi.Connector, p *abi.Prompt) {
	c.match(path+".name", p.Name, `[a-z][a-z0-9]*(_[a-z0-9]+)*`)
	if full := con.ID + "_" + p.Name; len(full) > abi.MaxToolName {
		c.addf(path+".name", "%q is longer than %d bytes with the connector's id", shorten(full), abi.MaxToolName)
	}
	c.line(path+".title", p.Title)
	c.text(path+".description", p.Description, maxDescription)
	c.text(path+".text", p.Text, abi.MaxPromptText)
	used, fault := PromptParts(p.Text)
	if fault != "" {
		c.addf(path+".text", "%s", fault)
		return
	}
	c.count(path+".arguments", len(p.Arguments), 0, abi.MaxPromptArgs)
	given := map[string]bool{}
	for i := range p.Arguments {
		a := &p.Arguments[i]
		at := fmt.Sprintf("%s.arguments[%d]", path, i)
		switch {
		case given[a.Name]:
			c.addf(at+".name", "%q stands there twice", shorten(a.Name))
		case !slices.ContainsFunc(used, func(part PromptPart) bool { return part.Arg == a.Name }):
			c.addf(at+".name", "the text has no {%s}", shorten(a.Name))
		}
		given[a.Name] = true
		c.promptArgument(at, con, a)
	}
	for _, part := range used {
		if part.Arg != "" && !given[part.Arg] {
			c.addf(path+".text", "no argument is called {%s}", shorten(part.Arg))
		}
	}
}

func (c *checker) promptArgument(path string, con *abi.Connector, a *abi.PromptArgument) {
	c.match(path+".name", a.Name, `[a-z][a-z0-9_]{0,30}`)
	c.line(path+".description", a.Description)
	c.count(path+".one_of", len(a.OneOf), 0, maxOneOf)
	for i, v := range a.OneOf {
		at := fmt.Sprintf("%s.one_of[%d]", path, i)
		c.line(at, v)
		if slices.Contains(a.OneOf[:i], v) {
			c.addf(at, "%q stands there twice", shorten(v))
		}
	}
	if a.From == nil {
		return
	}
	if len(a.OneOf) > 0 {
		c.addf(path, "it has one_of or from, not both")
	}
	c.column(path+".from", con, *a.From)
}

// toolValues checks where a tool's arguments take their values from.
func (c *checker) toolValues(path string, con *abi.Connector, t *abi.Tool, input *Schema) {
	c.count(path+".values", len(t.Values), 0, maxList)
	seen := map[string]bool{}
	for i, v := range t.Values {
		at := fmt.Sprintf("%s.values[%d]", path, i)
		if seen[v.Arg] {
			c.addf(at+".arg", "%q stands there twice", shorten(v.Arg))
		}
		seen[v.Arg] = true
		c.argument(&requestCheck{args: input}, at+".arg", v.Arg)
		c.column(at+".from", con, v.From)
	}
}

// column checks that a column can be read without arguments and changes nothing.
func (c *checker) column(path string, con *abi.Connector, col abi.Column) {
	i := slices.IndexFunc(con.Tools, func(t abi.Tool) bool { return t.Name == col.Tool })
	if i < 0 {
		c.addf(path+".tool", "the connector has no tool %q", shorten(col.Tool))
		return
	}
	t := &con.Tools[i]
	if t.IsDestructive() {
		c.addf(path+".tool", "%q changes data: values are completed while somebody types", shorten(col.Tool))
	}
	var in struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(t.Input, &in) != nil || len(in.Required) > 0 {
		c.addf(path+".tool", "%q needs arguments", shorten(col.Tool))
	}
	if fault := columnFault(t.Output, col.Column); fault != "" {
		c.addf(path+".column", "%q: %s", shorten(col.Column), fault)
	}
}

// columnFault says why an output schema has no such column, or is "".
func columnFault(output json.RawMessage, column string) string {
	list, field, ok := strings.Cut(column, ".")
	if !ok || !isName(list) || !isName(field) {
		return "not of the form list.field"
	}
	var root schemaNode
	if json.Unmarshal(output, &root) != nil {
		return "the output schema can't be read"
	}
	rows, ok := root.property(list, &root)
	if !ok || !rows.is("array") || rows.Items == nil {
		return "the output has no list of that name"
	}
	value, ok := rows.Items.property(field, &root)
	if !ok || !onlyScalars(slices.DeleteFunc(value.types(), func(t string) bool { return t == "null" })) {
		return "the list's rows have no plain value of that name"
	}
	return ""
}

// A schemaNode is as much of a schema as a column is found by.
type schemaNode struct {
	Ref        string                 `json:"$ref"`
	Defs       map[string]*schemaNode `json:"$defs"`
	Type       json.RawMessage        `json:"type"`
	Properties map[string]*schemaNode `json:"properties"`
	Items      *schemaNode            `json:"items"`
}

// resolved follows one reference to the root's definitions; there are none to
// others (see CompileSchema).
func (n *schemaNode) resolved(root *schemaNode) *schemaNode {
	name, ok := strings.CutPrefix(n.Ref, "#/$defs/")
	if def := root.Defs[name]; ok && def != nil {
		return def
	}
	return n
}

func (n *schemaNode) property(name string, root *schemaNode) (*schemaNode, bool) {
	p := n.resolved(root).Properties[name]
	if p == nil {
		return nil, false
	}
	return p.resolved(root), true
}

func (n *schemaNode) types() []string {
	var one string
	if json.Unmarshal(n.Type, &one) == nil {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(n.Type, &many) // neither: it has no types
	return many
}

func (n *schemaNode) is(kind string) bool { return slices.Equal(n.types(), []string{kind}) }

// A PromptPart is a piece of a prompt's text: literal, or an argument.
type PromptPart struct {
	Text string
	Arg  string // its name; empty for literal text
}

// PromptParts splits a prompt's text at its arguments, or says what is wrong with it.
func PromptParts(text string) (parts []PromptPart, fault string) {
	for rest := text; ; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			return append(parts, PromptPart{Text: rest}), ""
		}
		name, after, ok := strings.Cut(rest[i+1:], "}")
		switch {
		case rest[i] == '}':
			return nil, "a brace is not opened"
		case !ok:
			return nil, "a brace is not closed"
		case !isName(name):
			return nil, "{" + shorten(name) + "} is not a name"
		}
		parts = append(parts, PromptPart{Text: rest[:i]}, PromptPart{Arg: name})
		rest = after
	}
}
