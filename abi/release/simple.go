package release

import (
	"encoding/json"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A simple is a schema of the few keywords that most results have: types, members,
// items and lengths. It can only say that a document fits; whatever it is not sure
// of is for the library, which also words what is wrong. A table of some hundred
// cells takes the library as long as everything else that the host does with it.
type simple struct {
	types    []string // nil: any
	least    int      // of characters, or of items
	most     int      // -1: no limit
	items    *simple  // nil: any
	members  map[string]*simple
	required []string
	closed   bool // no other members
}

// simpleFields are the fields of a compiled schema that newSimple understands, or
// that say nothing about a document.
func simpleFields() []string {
	return []string{
		"DraftVersion", "Location", "Types", "MinItems", "MaxItems", "Items2020", "MinLength", "MaxLength",
		"Properties", "Required", "AdditionalProperties",
		"Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated",
	}
}

// newSimple returns s as a simple, or nil if it is none.
func newSimple(s *jsonschema.Schema) *simple {
	if s == nil || otherFields(s) {
		return nil
	}
	p := &simple{most: -1, required: s.Required, members: map[string]*simple{}}
	switch allow := s.AdditionalProperties.(type) {
	case nil:
	case bool:
		p.closed = !allow
	default:
		return nil
	}
	if s.Types != nil {
		p.types = s.Types.ToStrings()
	}
	if len(p.types) != 1 && (s.MinLength != nil || s.MaxLength != nil || s.MinItems != nil || s.MaxItems != nil) {
		return nil // which of them holds depends on the value
	}
	for _, n := range []*int{s.MinLength, s.MinItems} {
		if n != nil {
			p.least = *n
		}
	}
	for _, n := range []*int{s.MaxLength, s.MaxItems} {
		if n != nil {
			p.most = *n
		}
	}
	if textual, listed := s.MinLength != nil || s.MaxLength != nil, s.MinItems != nil || s.MaxItems != nil; textual && p.types[0] != "string" ||
		listed && p.types[0] != "array" {
		return nil
	}
	return p.withParts(s)
}

// otherFields reports whether s has a keyword that is not among simpleFields.
func otherFields(s *jsonschema.Schema) bool {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && !v.Field(i).IsZero() && !slices.Contains(simpleFields(), f.Name) {
			return true
		}
	}
	return false
}

// withParts adds the subschemas, or returns nil if one of them is not simple.
func (p *simple) withParts(s *jsonschema.Schema) *simple {
	if s.Items2020 != nil {
		if p.items = newSimple(s.Items2020); p.items == nil {
			return nil
		}
	}
	for name, sub := range s.Properties {
		if p.members[name] = newSimple(sub); p.members[name] == nil {
			return nil
		}
	}
	return p
}

// fits reports whether v certainly fits. It takes time in proportion to v.
func (p *simple) fits(v any) bool {
	switch v := v.(type) {
	case string:
		return p.is("string") && p.length(len(v), func() int { return utf8.RuneCountInString(v) })
	case []any:
		return p.is("array") && p.length(len(v), func() int { return len(v) }) && p.list(v)
	case map[string]any:
		return p.is("object") && p.object(v)
	case json.Number:
		return small(v) && (p.is("number") || p.is("integer"))
	case bool:
		return p.is("boolean")
	case nil:
		return p.is("null")
	}
	return false
}

func (p *simple) is(name string) bool { return p.types == nil || slices.Contains(p.types, name) }

// length compares a length with the limits; exact, which is asked only if need
// be, is never more than n.
func (p *simple) length(n int, exact func() int) bool {
	if p.least == 0 && (p.most < 0 || n <= p.most) {
		return true
	}
	n = exact()
	return n >= p.least && (p.most < 0 || n <= p.most)
}

func (p *simple) list(v []any) bool {
	return p.items == nil || !slices.ContainsFunc(v, func(item any) bool { return !p.items.fits(item) })
}

func (p *simple) object(v map[string]any) bool {
	for _, name := range p.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	for name, member := range v {
		sub, ok := p.members[name]
		if !ok && p.closed || ok && !sub.fits(member) {
			return false
		}
	}
	return true
}

// small reports whether a number is an integer that every reader reads alike.
func small(n json.Number) bool {
	digits := string(n)
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 15 {
		return false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
