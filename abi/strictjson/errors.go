package strictjson

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Reason names the rule that refused a document. It is a target of errors.Is.
type Reason string

// The reasons. The list is append-only.
const (
	Syntax           Reason = "syntax"            // not JSON (RFC 8259)
	TooLarge         Reason = "too_large"         // more bytes than MaxBytes
	TooDeep          Reason = "too_deep"          // more nested arrays and objects than MaxDepth
	ByteOrderMark    Reason = "byte_order_mark"   // starts with U+FEFF
	InvalidUTF8      Reason = "invalid_utf8"      // bytes that are not UTF-8
	LoneSurrogate    Reason = "lone_surrogate"    // an escape of half a surrogate pair
	TrailingData     Reason = "trailing_data"     // something after the value
	DuplicateKey     Reason = "duplicate_key"     // a key twice in one object
	UnknownKey       Reason = "unknown_key"       // a key that the destination does not have
	FoldedKey        Reason = "folded_key"        // equal to another key only after folding
	ControlCharacter Reason = "control_character" // C0, DEL or C1 in a string, beside \t \n \r in a value
	BidiControl      Reason = "bidi_control"      // a character that changes the writing direction
	NotInteger       Reason = "not_integer"       // a number with fraction or exponent, for an integer
	OutOfRange       Reason = "out_of_range"      // a number that the destination cannot hold
	WrongType        Reason = "wrong_type"        // another kind of value than the destination's
	BadDestination   Reason = "bad_destination"   // the caller's fault: see Decode
)

// Error makes a Reason usable as a target of errors.Is.
func (r Reason) Error() string { return string(r) }

// text is the reason as a person reads it.
func (r Reason) text() string {
	return strings.ReplaceAll(string(r), "_", " ")
}

// An Error says why a document was refused, and where.
type Error struct {
	Reason Reason
	Path   string // from the root: $.connectors[0].tools[1]
	Value  string // the key or value at fault, shortened; may be empty
	Detail string // what was expected; may be empty
	Offset int    // byte offset in the document
	Err    error  // the cause, where a destination's own method refused
}

// Error implements error, as in
//
//	$.wasm.size: not integer: "1e3"
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Path, e.Reason.text())
	if e.Value != "" {
		fmt.Fprintf(&b, ": %q", e.Value)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	}
	if e.Value == "" && e.Detail == "" {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's Reason.
func (e *Error) Is(target error) bool {
	r, ok := target.(Reason)
	return ok && r == e.Reason
}

// inKey puts an object's key in front of the path while the walk unwinds.
func (e *Error) inKey(key []byte) *Error {
	if plainKey(key) {
		e.Path = "." + string(key) + e.Path
	} else {
		e.Path = fmt.Sprintf("[%q]", shorten(key)) + e.Path
	}
	return e
}

// inElem puts an array's index in front of the path while the walk unwinds.
func (e *Error) inElem(i int) *Error {
	e.Path = fmt.Sprintf("[%d]", i) + e.Path
	return e
}

// plainKey reports whether a key reads well after a dot.
func plainKey(key []byte) bool {
	if len(key) == 0 || len(key) > maxShown {
		return false
	}
	for _, c := range key {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// maxShown bounds the part of a hostile value that an error repeats, in bytes.
const maxShown = 80

// shorten returns at most maxShown bytes of a value, cut between runes.
func shorten(v []byte) string {
	if len(v) <= maxShown {
		return string(v)
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(v[cut]) {
		cut--
	}
	return string(v[:cut]) + "…"
}
