package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The limits that hold where no option sets another.
const (
	DefaultMaxBytes = abi.MaxMetadata
	DefaultMaxDepth = abi.MaxJSONDepth // arrays and objects inside one another
)

// An Option changes one limit of Decode or Check.
type Option func(*options)

type options struct {
	maxBytes int
	maxDepth int
	anyText  bool
	anyKeys  bool
}

// MaxBytes limits the document to n bytes instead of DefaultMaxBytes.
func MaxBytes(n int) Option { return func(o *options) { o.maxBytes = n } }

// MaxDepth limits arrays and objects inside one another to n instead of
// DefaultMaxDepth.
func MaxDepth(n int) Option { return func(o *options) { o.maxDepth = n } }

// AnyText says that string values are data (page text, what a user typed) and
// may hold control and bidirectional characters. Keys may not.
func AnyText() Option { return func(o *options) { o.anyText = true } }

// AnyKeys says that the keys of maps and free-form values are data too: they may
// hold any character, and may differ by case alone. Equal keys are still refused,
// and so are unknown keys of structs.
func AnyKeys() Option { return func(o *options) { o.anyKeys = true } }

// Decode decodes the document into v, a pointer to a zero value, and refuses
// with an *Error what the package comment lists. *v changes only if the whole
// document is accepted.
//
// Keys of structs are those of encoding/json (tags, embedding), compared
// exactly. A json.RawMessage, an any or a type with its own UnmarshalJSON takes
// any value, whose keys are free but not equal to one another; such a method must
// decode strictly itself. Maps have string keys; a null is accepted for pointers,
// slices, maps and free values only; a fixed array takes exactly its length;
// []byte is canonical base64. Anything held by *v before is refused with
// BadDestination, because defaults that a document can leave standing decide as
// much as the document does: use a pointer for what may be absent.
func Decode(data []byte, v any, opts ...Option) error {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return &Error{Reason: BadDestination, Path: "$", Detail: fmt.Sprintf("%T is not a pointer to a value", v)}
	}
	if !p.Elem().IsZero() {
		return &Error{Reason: BadDestination, Path: "$", Detail: fmt.Sprintf("%T does not point to a zero value", v)}
	}
	t := p.Type().Elem()
	top, refused := check(data, t, opts)
	if refused != nil {
		return refused
	}
	fresh := reflect.New(t)
	if err := unmarshal(data, fresh, top); err != nil {
		return &Error{Reason: WrongType, Path: "$", Detail: err.Error(), Err: err}
	}
	p.Elem().Set(fresh.Elem())
	return nil
}

// Check refuses what Decode into a free-form value refuses, without decoding:
// the validator for what a connector returns and for values kept as
// json.RawMessage.
func Check(data []byte, opts ...Option) error {
	if _, err := check(data, nil, opts); err != nil {
		return err
	}
	return nil
}

// Members is Check, and returns what the document's outermost object holds: the
// values as they stand, sharing data's memory. It is nil for a document that is no
// object.
func Members(data []byte, opts ...Option) (map[string]json.RawMessage, error) {
	top, err := check(data, nil, opts)
	if err != nil {
		return nil, err
	}
	if b := bytes.TrimLeft(data, " \t\r\n"); b[0] != '{' {
		return nil, nil //nolint:nilnil // as the comment says
	}
	m := make(map[string]json.RawMessage, len(top))
	for _, s := range top {
		m[s.key] = data[s.from:s.to:s.to]
	}
	return m, nil
}

// check walks the document along type t; nil is the free form. It returns the
// members of the outermost object, if the document is one.
func check(data []byte, t reflect.Type, opts []Option) ([]span, *Error) {
	o := options{maxBytes: DefaultMaxBytes, maxDepth: DefaultMaxDepth}
	for _, set := range opts {
		set(&o)
	}
	if len(data) > o.maxBytes {
		return nil, &Error{Reason: TooLarge, Path: "$", Detail: fmt.Sprintf("%d bytes, limit %d", len(data), o.maxBytes)}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, &Error{Reason: ByteOrderMark, Path: "$"}
	}
	if !utf8.Valid(data) {
		return nil, &Error{Reason: InvalidUTF8, Path: "$", Offset: firstInvalid(data)}
	}
	w := &walker{options: o, data: data}
	if err := w.document(t); err != nil {
		err.Path = "$" + err.Path
		return nil, err
	}
	return w.top, nil
}

// firstInvalid returns the offset of the first byte that is not UTF-8.
func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(data)
}
