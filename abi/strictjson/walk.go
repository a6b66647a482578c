package strictjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// A walker reads one document once, along the type that it will be decoded into.
// Nothing is decoded here: what the walker accepts, encoding/json reads in the
// one way that is left.
type walker struct {
	options
	data  []byte
	pos   int
	depth int
	top   []span // the members of the outermost object
}

// A shape is what a destination accepts, pointers resolved.
type shape struct {
	t        reflect.Type // nil: any value
	text     bool         // a string, handed to UnmarshalText
	nullable bool
}

// document walks the whole input.
func (w *walker) document(t reflect.Type) *Error {
	if err := w.value(t); err != nil {
		return err
	}
	w.space()
	if w.pos < len(w.data) {
		return w.fail(TrailingData, w.data[w.pos:])
	}
	return nil
}

// value walks one value into a destination of type t; nil takes anything.
func (w *walker) value(t reflect.Type) *Error {
	w.space()
	if w.pos == len(w.data) {
		return w.syntax("the document ends where a value is expected")
	}
	s := knownShape(t)
	switch c := w.data[w.pos]; {
	case c == '{':
		return w.nested(s, w.object)
	case c == '[':
		return w.nested(s, w.array)
	case c == '"':
		return w.text(s)
	case c == '-' || isDigit(c):
		return w.number(s)
	default:
		return w.literal(s)
	}
}

// What types are never changes, so it is found out once: these are caches, and
// hold no more than there are types that a document is decoded into.
var (
	shapes  sync.Map // reflect.Type to shape
	structs sync.Map // reflect.Type to *structKeys
)

// knownShape is shapeOf, remembered.
func knownShape(t reflect.Type) shape {
	if t == nil {
		return shape{nullable: true}
	}
	if v, ok := shapes.Load(t); ok {
		if s, ok := v.(shape); ok {
			return s
		}
	}
	s := shapeOf(t)
	shapes.Store(t, s)
	return s
}

// shapeOf resolves pointers and the methods that take a value over.
func shapeOf(t reflect.Type) shape {
	s := shape{t: t, nullable: t == nil}
	for s.t != nil {
		p := reflect.PointerTo(s.t)
		switch {
		case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
			return shape{nullable: true}
		case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
			s.text = true
			return s
		case s.t.Kind() == reflect.Pointer:
			s.t, s.nullable = s.t.Elem(), true
		case s.t.Kind() == reflect.Interface && s.t.NumMethod() == 0:
			return shape{nullable: true}
		default:
			if s.t.Kind() == reflect.Slice || s.t.Kind() == reflect.Map {
				s.nullable = true
			}
			return s
		}
	}
	return s
}

// kind is the kind of value that the shape takes, Invalid for any.
func (s shape) kind() reflect.Kind {
	switch {
	case s.text:
		return reflect.String
	case s.t == nil:
		return reflect.Invalid
	}
	return s.t.Kind()
}

// nested walks an array or object one level deeper.
func (w *walker) nested(s shape, walk func(shape) *Error) *Error {
	if w.depth == w.maxDepth {
		err := w.fail(TooDeep, nil)
		err.Detail = fmt.Sprintf("limit %d", w.maxDepth)
		return err
	}
	w.depth++
	err := walk(s)
	w.depth--
	return err
}

// object walks an object into a struct, a map or a free value.
func (w *walker) object(s shape) *Error {
	var known *structKeys
	var elem reflect.Type
	switch s.kind() {
	case reflect.Invalid:
	case reflect.Struct:
		known = keysOf(s.t)
	case reflect.Map:
		if !plainMap(s.t) {
			return w.wrong(BadDestination, s, "a map whose keys are not plain strings")
		}
		elem = s.t.Elem()
	default:
		return w.wrong(WrongType, s, "an object")
	}
	var seen keySet
	return w.members('}', func(int) *Error {
		return w.member(known, elem, &seen)
	})
}

// plainMap reports whether two keys of the document can't become one in the map.
func plainMap(t reflect.Type) bool {
	return t.Key().Kind() == reflect.String &&
		!reflect.PointerTo(t.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// member walks one "key": value.
func (w *walker) member(known *structKeys, elem reflect.Type, seen *keySet) *Error {
	if w.pos == len(w.data) || w.data[w.pos] != '"' {
		return w.syntax("expected a key")
	}
	start := w.pos
	raw, hidden, err := w.str()
	if err != nil {
		return err
	}
	key := unescape(raw)
	if err := w.checkKey(key, hidden, known, seen); err != nil {
		err.Offset = start
		return err
	}
	if w.space(); w.pos == len(w.data) || w.data[w.pos] != ':' {
		return w.syntax("expected a colon")
	}
	w.pos++
	if known != nil {
		elem = known.types[string(key)]
	}
	w.space()
	from := w.pos
	if err := w.value(elem); err != nil {
		return err.inKey(key)
	}
	if w.depth == 1 {
		w.top = append(w.top, span{key: string(key), from: from, to: w.pos})
	}
	return nil
}

// checkKey applies the rules for keys, in the order in which they explain most.
func (w *walker) checkKey(key []byte, hidden Reason, known *structKeys, seen *keySet) *Error {
	if known == nil && w.anyKeys {
		if seen.has(key, false) {
			return w.fail(DuplicateKey, key)
		}
		seen.add(key, false)
		return nil
	}
	if hidden != "" {
		return w.fail(hidden, key)
	}
	if known != nil && !known.has(key) {
		return w.unknown(key, known)
	}
	if seen.has(key, false) {
		return w.fail(DuplicateKey, key)
	}
	if known == nil && seen.has(key, true) {
		err := w.fail(FoldedKey, key)
		err.Detail = "another key of the object differs only by case or folding"
		return err
	}
	seen.add(key, known == nil)
	return nil
}

// unknown tells a key that was meant to pass for another from a plain stranger.
func (w *walker) unknown(key []byte, known *structKeys) *Error {
	if twin := known.folded(key); twin != "" {
		err := w.fail(FoldedKey, key)
		err.Detail = fmt.Sprintf("differs from %q only by case or folding", twin)
		return err
	}
	return w.fail(UnknownKey, key)
}

// array walks an array into a slice, an array or a free value.
func (w *walker) array(s shape) *Error {
	var elem reflect.Type
	switch s.kind() {
	case reflect.Invalid:
	case reflect.Slice, reflect.Array:
		elem = s.t.Elem()
		if isBytes(s.t) {
			return w.wrong(WrongType, s, "an array")
		}
	default:
		return w.wrong(WrongType, s, "an array")
	}
	n := 0
	err := w.members(']', func(i int) *Error {
		n = i + 1
		if err := w.value(elem); err != nil {
			return err.inElem(i)
		}
		return nil
	})
	if err == nil && s.kind() == reflect.Array && n != s.t.Len() {
		return w.wrong(WrongType, s, fmt.Sprintf("an array of %d", n))
	}
	return err
}

// members walks what stands between brackets, separated by commas.
func (w *walker) members(end byte, each func(i int) *Error) *Error {
	w.pos++ // the opening bracket
	if w.space(); w.pos < len(w.data) && w.data[w.pos] == end {
		w.pos++
		return nil
	}
	for i := 0; ; i++ {
		w.space()
		if err := each(i); err != nil {
			return err
		}
		w.space()
		switch {
		case w.pos == len(w.data):
			return w.syntax(fmt.Sprintf("the document ends before %q", end))
		case w.data[w.pos] == end:
			w.pos++
			return nil
		case w.data[w.pos] != ',':
			return w.syntax(fmt.Sprintf("expected a comma or %q", end))
		}
		w.pos++
	}
}

// text walks a string value.
func (w *walker) text(s shape) *Error {
	start := w.pos
	raw, hidden, err := w.str()
	if err != nil {
		return err
	}
	if hidden != "" && !w.anyText {
		err := w.fail(hidden, unescape(raw))
		err.Offset = start
		return err
	}
	switch {
	case s.kind() == reflect.Invalid:
	case s.kind() == reflect.String && s.t != reflect.TypeFor[json.Number]():
	case !s.text && isBytes(s.t):
		return w.base64(unescape(raw))
	default:
		return w.wrong(WrongType, s, "a string")
	}
	return nil
}

// isBytes reports whether encoding/json reads t from base64.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// base64 accepts the one encoding of a byte string: padded, without line breaks.
func (w *walker) base64(text []byte) *Error {
	b, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil || base64.StdEncoding.EncodedLen(len(b)) != len(text) {
		e := w.fail(WrongType, text)
		e.Detail = "expected base64"
		return e
	}
	return nil
}

// literal walks true, false and null.
func (w *walker) literal(s shape) *Error {
	rest := w.data[w.pos:]
	for _, word := range []string{"true", "false", "null"} {
		if len(rest) < len(word) || string(rest[:len(word)]) != word {
			continue
		}
		ok := s.kind() == reflect.Invalid || s.kind() == reflect.Bool
		if word == "null" {
			ok = s.nullable
		}
		if !ok {
			return w.wrong(WrongType, s, word)
		}
		w.pos += len(word)
		return nil
	}
	return w.syntax("expected a value")
}

// wrong says what stood there and what the destination takes.
func (w *walker) wrong(reason Reason, s shape, got string) *Error {
	err := w.fail(reason, nil)
	err.Detail = fmt.Sprintf("%s, expected %s", got, s.expected())
	return err
}

// expected names what the shape takes in the words of JSON.
func (s shape) expected() string {
	switch s.kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		if s.t == reflect.TypeFor[json.Number]() {
			return "a number"
		}
		return "a string"
	case reflect.Slice:
		if isBytes(s.t) {
			return "a base64 string"
		}
		return "an array"
	case reflect.Array:
		return fmt.Sprintf("an array of %d", s.t.Len())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		if k := s.kind(); k >= reflect.Int && k <= reflect.Uintptr {
			return "an integer"
		}
		return "nothing that JSON has"
	}
}
