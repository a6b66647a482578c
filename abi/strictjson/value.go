package strictjson

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Value returns what an accepted document means: map[string]any, []any, string,
// [json.Number], bool or nil. It is what encoding/json makes of it with UseNumber,
// several times faster, and only for a document that Decode or Check accepted:
// ok is false for some that they refuse.
func Value(data []byte) (v any, ok bool) {
	if !utf8.Valid(data) {
		return nil, false
	}
	r := reader{walker: walker{data: data, options: options{maxDepth: DefaultMaxDepth}}, text: string(data)}
	v, ok = r.value()
	r.space()
	return v, ok && r.pos == len(data)
}

// A reader builds the value of an accepted document.
type reader struct {
	walker
	text string // the document; what needs no unescaping is a part of it
}

func (r *reader) value() (any, bool) {
	r.space()
	if r.pos == len(r.data) || r.depth > r.maxDepth {
		return nil, false
	}
	switch c := r.data[r.pos]; {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		return r.string()
	case c == '-' || isDigit(c):
		from := r.pos
		for r.pos < len(r.data) && strings.IndexByte("+-.0123456789Ee", r.data[r.pos]) >= 0 {
			r.pos++
		}
		return json.Number(r.text[from:r.pos]), true
	}
	return r.literal()
}

func (r *reader) literal() (any, bool) {
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(r.text[r.pos:], word) {
			r.pos += len(word)
			if word == "null" {
				return nil, true
			}
			return word == "true", true
		}
	}
	return nil, false
}

func (r *reader) string() (string, bool) {
	if r.pos == len(r.data) || r.data[r.pos] != '"' {
		return "", false
	}
	from := r.pos + 1
	raw, _, err := r.str()
	switch {
	case err != nil:
		return "", false
	case slices.Contains(raw, '\\'):
		return string(unescape(raw)), true
	}
	return r.text[from : r.pos-1], true
}

func (r *reader) object() (map[string]any, bool) {
	m := map[string]any{}
	ok := r.list('}', func() bool {
		key, ok := r.string()
		if r.space(); !ok || r.pos == len(r.data) || r.data[r.pos] != ':' {
			return false
		}
		r.pos++
		m[key], ok = r.value()
		return ok
	})
	return m, ok
}

func (r *reader) array() ([]any, bool) {
	a := []any{}
	ok := r.list(']', func() bool {
		v, ok := r.value()
		a = append(a, v)
		return ok
	})
	return a, ok
}

// list reads what stands between brackets, separated by commas.
func (r *reader) list(end byte, each func() bool) bool {
	r.depth++
	err := r.members(end, func(int) *Error {
		if each() {
			return nil
		}
		return r.syntax("expected a value")
	})
	r.depth--
	return err == nil
}
