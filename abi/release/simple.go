package release

import (
	"encoding/json"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
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

// fits reports whether a document certainly fits. It takes time in proportion to
// the document, and none for values that it would have to build.
func (p *simple) fits(doc []byte) bool {
	s := strictjson.NewScanner(doc)
	return p.value(s) && s.Done()
}

func (p *simple) value(s *strictjson.Scanner) bool {
	switch s.Kind() {
	case strictjson.String:
		v, ok := s.String()
		return ok && p.is("string") && p.length(len(v), func() int { return utf8.RuneCountInString(v) })
	case strictjson.Array:
		return p.is("array") && p.list(s)
	case strictjson.Object:
		return p.is("object") && p.object(s)
	case strictjson.Number:
		v, ok := s.Number()
		return ok && small(v) && (p.is("number") || p.is("integer"))
	case strictjson.Bool:
		_, ok := s.Bool()
		return ok && p.is("boolean")
	case strictjson.Null:
		return s.Null() && p.is("null")
	case strictjson.Invalid:
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

// anything is a schema that says nothing.
func anything() *simple { return &simple{most: -1} }

func (p *simple) list(s *strictjson.Scanner) bool {
	items, n := p.items, 0
	if items == nil {
		items = anything()
	}
	return s.Array(func() bool {
		n++
		return items.value(s)
	}) && p.length(n, func() int { return n })
}

func (p *simple) object(s *strictjson.Scanner) bool {
	missing := len(p.required)
	return s.Object(func(name string) bool {
		if slices.Contains(p.required, name) {
			missing--
		}
		sub, known := p.members[name]
		switch {
		case known:
			return sub.value(s)
		case p.closed:
			return false
		}
		return anything().value(s)
	}) && missing == 0
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
