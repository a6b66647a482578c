package strictjson

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Kind is what a JSON value is.
type Kind int

// The kinds of RFC 8259, section 3; Invalid stands for none of them.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// A Scanner walks an accepted document value by value, in order, without building
// anything. It is for documents that Decode or Check accepted: of others, it takes
// some that they refuse. Each method moves past the value that it is about, and
// reports false, from then on, where none of its kind stands.
type Scanner struct {
	w      walker
	text   string // the document; what needs no unescaping is a part of it
	broken bool
}

// NewScanner begins at the document's one value. The document must be UTF-8.
func NewScanner(data []byte) *Scanner {
	return &Scanner{
		w:      walker{data: data, options: options{maxDepth: DefaultMaxDepth}},
		text:   string(data),
		broken: !utf8.Valid(data),
	}
}

// Kind tells, by its first byte, what comes next.
func (s *Scanner) Kind() Kind {
	s.w.space()
	if s.broken || s.w.pos == len(s.w.data) {
		return Invalid
	}
	switch c := s.w.data[s.w.pos]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == '-' || isDigit(c):
		return Number
	case c == 'n':
		return Null
	case c == 't' || c == 'f':
		return Bool
	}
	return Invalid
}

// Done reports whether the document ends here, and was read without a fault.
func (s *Scanner) Done() bool {
	s.w.space()
	return !s.broken && s.w.pos == len(s.w.data)
}

// Null moves past null.
func (s *Scanner) Null() bool { return s.word("null") }

// Bool returns true or false.
func (s *Scanner) Bool() (value, ok bool) {
	if s.Kind() == Bool && s.w.data[s.w.pos] == 't' {
		return true, s.word("true")
	}
	return false, s.word("false")
}

func (s *Scanner) word(w string) bool {
	if s.w.space(); s.broken || !strings.HasPrefix(s.text[s.w.pos:], w) {
		return s.fail()
	}
	s.w.pos += len(w)
	return true
}

// Number returns a number as it is spelt.
func (s *Scanner) Number() (json.Number, bool) {
	if s.Kind() != Number {
		return "", s.fail()
	}
	from := s.w.pos
	for s.w.pos < len(s.w.data) && strings.IndexByte("+-.0123456789Ee", s.w.data[s.w.pos]) >= 0 {
		s.w.pos++
	}
	return json.Number(s.text[from:s.w.pos]), true
}

// String returns what a string means.
func (s *Scanner) String() (string, bool) {
	if s.Kind() != String {
		return "", s.fail()
	}
	from := s.w.pos + 1
	raw, _, err := s.w.str()
	switch {
	case err != nil:
		return "", s.fail()
	case slices.Contains(raw, '\\'):
		return string(unescape(raw)), true
	}
	return s.text[from : s.w.pos-1], true
}

// Array calls each for every element; each moves past it, and reports whether to
// go on.
func (s *Scanner) Array(each func() bool) bool {
	return s.list(Array, ']', each)
}

// Object calls each for every member; each moves past its value, and reports
// whether to go on.
func (s *Scanner) Object(each func(key string) bool) bool {
	return s.list(Object, '}', func() bool {
		key, ok := s.String()
		if s.w.space(); !ok || s.w.pos == len(s.w.data) || s.w.data[s.w.pos] != ':' {
			return false
		}
		s.w.pos++
		return each(key)
	})
}

func (s *Scanner) list(k Kind, end byte, each func() bool) bool {
	if s.Kind() != k || s.w.depth == s.w.maxDepth {
		return s.fail()
	}
	s.w.depth++
	err := s.w.members(end, func(int) *Error {
		if each() && !s.broken {
			return nil
		}
		return errStopped
	})
	s.w.depth--
	if err != nil {
		return s.fail()
	}
	return true
}

// errStopped ends a list; nobody sees it.
var errStopped = &Error{Reason: Syntax, Path: "$"}

func (s *Scanner) fail() bool {
	s.broken = true
	return false
}

// Value returns what an accepted document means: map[string]any, []any, string,
// [json.Number], bool or nil. It is what encoding/json makes of it with UseNumber,
// several times faster, and only for a document that Decode or Check accepted:
// ok is false for some that they refuse.
func Value(data []byte) (v any, ok bool) {
	s := NewScanner(data)
	v, ok = s.value()
	return v, ok && s.Done()
}

func (s *Scanner) value() (any, bool) {
	switch s.Kind() {
	case Object:
		m := map[string]any{}
		return m, s.Object(func(key string) (ok bool) {
			m[key], ok = s.value()
			return ok
		})
	case Array:
		a := []any{}
		ok := s.Array(func() bool {
			v, ok := s.value()
			a = append(a, v)
			return ok
		})
		return a, ok
	case String:
		return s.String()
	case Number:
		return s.Number()
	case Bool:
		return s.Bool()
	case Null:
		return nil, s.Null()
	case Invalid:
	}
	return nil, s.fail()
}
