package release

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxWork bounds one validation, in units of about 100 ns. The largest honest
// result (5000 rows of 40 columns) needs a tenth.
const maxWork = 20_000_000

// A node is what one subschema costs: the shape of the schema with nothing but
// numbers in it. A meter walks it beside the document, as the validator will, and
// stops where the validator would not.
type node struct {
	fixed   int // for any value
	perText int // for each 16 bytes of a string
	perKey  int // for each 16 bytes of a member's name
	unique  bool

	same       []*node // for the same value
	members    map[string]*node
	anyMember  []*node // for every member: patternProperties, additionalProperties
	names      *node
	prefix     []*node
	items      *node
	contains   *node
	size, high int // subschemas with references followed; how they nest
}

// A meter has so much work left.
type meter struct{ left int }

func (m *meter) spend(n int) bool {
	m.left -= n
	return m.left >= 0
}

// Visit reports whether the work was enough.
func (m *meter) visit(n *node, v any) bool {
	if n == nil {
		return true
	}
	if !m.spend(1 + n.fixed) {
		return false
	}
	for _, s := range n.same {
		if !m.visit(s, v) {
			return false
		}
	}
	switch v := v.(type) {
	case string:
		return m.spend(n.perText * (1 + len(v)/16))
	case []any:
		return m.array(n, v)
	case map[string]any:
		return m.object(n, v)
	}
	return true
}

func (m *meter) array(n *node, v []any) bool {
	// Up to 20 items are compared in pairs, more by their hashes.
	if n.unique && !m.spend(20*weight(v)) {
		return false
	}
	for i, item := range v {
		each := n.items
		if i < len(n.prefix) {
			each = n.prefix[i]
		}
		if !m.visit(each, item) || !m.visit(n.contains, item) {
			return false
		}
	}
	return true
}

func (m *meter) object(n *node, v map[string]any) bool {
	for name, member := range v {
		if !m.spend(1+n.perKey*(1+len(name)/16)) || !m.visit(n.names, name) || !m.visit(n.members[name], member) {
			return false
		}
		for _, s := range n.anyMember {
			if !m.visit(s, member) {
				return false
			}
		}
	}
	return true
}

// Weight is the number of values in v, long strings counted as several.
func weight(v any) int {
	sum := 1
	switch v := v.(type) {
	case string:
		sum += len(v) / 64
	case []any:
		for _, item := range v {
			sum += weight(item)
		}
	case map[string]any:
		for _, item := range v {
			sum += 1 + weight(item)
		}
	}
	return sum
}

// Node makes the node of a subschema that walk accepted. A reference into itself
// has no size, so it is refused, and so is a small schema that expands into a
// large one.
func (a *admission) node(v any, path string) (*node, *Problem) {
	s, ok := v.(map[string]any)
	if !ok {
		return &node{size: 1, high: 1}, nil
	}
	n := &node{size: 1, members: map[string]*node{}}
	if p := a.weigh(n, s, path); p != nil {
		return nil, p
	}
	if ref, ok := s["$ref"].(string); ok {
		sub, p := a.follow(ref, path+".$ref")
		if p != nil {
			return nil, p
		}
		n.same = append(n.same, sub)
		n.take(sub)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if name == "$defs" {
			continue
		}
		if p := a.subschemas(n, name, s[name], path+"."+name); p != nil {
			return nil, p
		}
	}
	n.high++
	switch {
	case n.size > maxExpanded:
		return nil, &Problem{Path: path, Msg: fmt.Sprintf("expands to more than %d subschemas", maxExpanded)}
	case n.high > maxSchemaDepth+1:
		return nil, &Problem{Path: path, Msg: fmt.Sprintf("subschemas nested deeper than %d", maxSchemaDepth)}
	}
	return n, nil
}

// Take adds what a subschema needs.
func (n *node) take(sub *node) {
	n.size += sub.size
	n.high = max(n.high, sub.high)
}

func (a *admission) subschemas(n *node, keyword string, v any, path string) *Problem {
	return eachSubschema(a.keywords[keyword].subschemas, v, path, func(v any, at string) *Problem {
		sub, p := a.node(v, at)
		if p != nil {
			return p
		}
		n.take(sub)
		switch keyword {
		case "properties":
			n.members[strings.TrimPrefix(at, path+".")] = sub
		case "patternProperties", "additionalProperties":
			n.anyMember = append(n.anyMember, sub)
		case "propertyNames":
			n.names = sub
		case "prefixItems":
			n.prefix = append(n.prefix, sub)
		case "items":
			n.items = sub
		case "contains":
			n.contains = sub
		default:
			n.same = append(n.same, sub)
		}
		return nil
	})
}

// Weigh adds up a subschema's own keywords. Numbers are compared as fractions,
// which takes microseconds.
func (a *admission) weigh(n *node, s map[string]any, path string) *Problem {
	const number = 20
	values, _ := s["enum"].([]any)
	if c, ok := s["const"]; ok {
		values = append(slices.Clip(values), c)
	}
	for _, v := range values {
		n.fixed++
		if _, ok := v.(json.Number); ok {
			n.fixed += number
		}
	}
	for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if _, ok := s[name]; ok {
			n.fixed += number
		}
	}
	if slices.Contains(typesOf(s["type"]), "integer") {
		n.fixed += number / 2
	}
	n.unique = s["uniqueItems"] == true
	if pattern, ok := s["pattern"].(string); ok {
		n.perText += a.count(pattern)
	}
	patterns, _ := s["patternProperties"].(map[string]any)
	for pattern := range patterns {
		n.perKey += a.count(pattern)
	}
	if a.program > maxPrograms {
		return &Problem{Path: path, Msg: "the regular expressions are too large together"}
	}
	return nil
}

// Count is the size of a pattern that isPattern accepted.
func (a *admission) count(pattern string) int {
	n, err := programSize(pattern)
	if err != nil {
		n = maxProgram
	}
	a.program += n
	return n
}

func (a *admission) follow(ref, path string) (*node, *Problem) {
	name := defName(ref)
	if n, begun := a.nodes[name]; begun {
		if n == nil {
			return nil, &Problem{Path: path, Msg: fmt.Sprintf("%q refers to itself", shorten(ref))}
		}
		return n, nil
	}
	target, ok := a.defs[name]
	if !ok {
		return nil, &Problem{Path: path, Msg: fmt.Sprintf("%q refers to nothing", shorten(ref))}
	}
	a.nodes[name] = nil
	n, p := a.node(target, "$.$defs."+name)
	a.nodes[name] = n
	return n, p
}

// DefName is the name in #/$defs/name, the only form of reference.
func defName(ref string) string { return strings.TrimPrefix(ref, "#/$defs/") }
