package release

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Text is one piece of text in a release that a model or a person reads.
type Text struct {
	Of    string // the plugin, the connector, or the listed name of the tool or prompt
	Place string // what it is of that: "description", "input.properties.status.description"
	Text  string
}

// Texts lists every text of a release in a fixed order: titles, descriptions,
// prompts, and what stands in schemas, names of members included.
func Texts(r abi.Release) []Text {
	l := &textList{}
	l.add(r.Name, "title", r.Title)
	l.add(r.Name, "description", r.Description)
	for i := range r.Connectors {
		l.connector(&r.Connectors[i])
	}
	return l.list
}

type textList struct{ list []Text }

func (l *textList) add(of, place, text string) {
	if text != "" {
		l.list = append(l.list, Text{of, place, text})
	}
}

func (l *textList) connector(c *abi.Connector) {
	l.add(c.ID, "title", c.Title)
	l.add(c.ID, "description", c.Description)
	for _, s := range c.Settings {
		l.add(c.ID, "setting "+s.Name+" title", s.Title)
		l.add(c.ID, "setting "+s.Name+" description", s.Description)
		l.add(c.ID, "setting "+s.Name+" default", s.Default)
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		name := c.ID + "_" + t.Name
		l.add(name, "title", t.Title)
		l.add(name, "description", t.Description)
		l.schema(name, "input", t.Input)
		l.schema(name, "output", t.Output)
	}
	for i := range c.Prompts {
		p := &c.Prompts[i]
		name := c.ID + "_" + p.Name
		l.add(name, "title", p.Title)
		l.add(name, "description", p.Description)
		l.add(name, "text", p.Text)
		for _, a := range p.Arguments {
			l.add(name, "argument "+a.Name, a.Description)
			for i, v := range a.OneOf {
				l.add(name, fmt.Sprintf("argument %s value %d", a.Name, i+1), v)
			}
		}
	}
}

func (l *textList) schema(of, place string, raw json.RawMessage) {
	var v any
	if json.Unmarshal(raw, &v) == nil { // whoever admits it says what is wrong
		l.value(of, place, v)
	}
}

func (l *textList) value(of, place string, v any) {
	switch v := v.(type) {
	case string:
		l.add(of, place, v)
	case bool, float64:
		l.add(of, place, fmt.Sprint(v))
	case []any:
		for i, item := range v {
			l.value(of, place+"["+strconv.Itoa(i)+"]", item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			l.value(of, place+"."+key, v[key])
		}
	}
}
