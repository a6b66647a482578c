package strictjson

import (
	"encoding/json"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// space skips the four characters that JSON calls white space.
func (w *walker) space() {
	for w.pos < len(w.data) {
		switch w.data[w.pos] {
		case ' ', '\t', '\n', '\r':
			w.pos++
		default:
			return
		}
	}
}

// str scans a string and returns its spelling with the quotes, and why
// only data may hold its first character of that kind, or "".
func (w *walker) str() (raw []byte, hidden Reason, err *Error) {
	start := w.pos
	for w.pos++; w.pos < len(w.data); {
		if n := plainPrefix(w.data[w.pos:]); n > 0 {
			w.pos += n
			continue
		}
		var r rune
		switch c := w.data[w.pos]; {
		case c == '"':
			w.pos++
			return w.data[start:w.pos], hidden, nil
		case c == '\\':
			if r, err = w.escape(); err != nil {
				return nil, "", err
			}
		case c < ' ':
			return nil, "", w.syntax("a control character in a string is not escaped")
		default: // DEL, or beyond ASCII
			var n int
			r, n = utf8.DecodeRune(w.data[w.pos:])
			w.pos += n
		}
		if hidden == "" {
			hidden = hiddenReason(r)
		}
	}
	return nil, "", w.syntax("the document ends in a string")
}

// plainPrefix counts the bytes of a string that come first and stand for themselves.
func plainPrefix(b []byte) int {
	for i, c := range b {
		if !isPlain(c) {
			return i
		}
	}
	return len(b)
}

// isPlain reports whether a byte in a string stands for itself: most do.
func isPlain(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }

// escape scans one escape sequence, or the two of a surrogate pair.
func (w *walker) escape() (rune, *Error) {
	if w.pos+1 >= len(w.data) {
		return 0, w.syntax("the document ends in an escape")
	}
	switch c := w.data[w.pos+1]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		w.pos += 2
		if c == 'b' || c == 'f' {
			return '\b', nil // both are control characters
		}
		return ' ', nil // visible, or one of \n \r \t
	case 'u':
		return w.unicodeEscape()
	}
	return 0, w.syntax("unknown escape")
}

func (w *walker) unicodeEscape() (rune, *Error) {
	r, ok := hexEscape(w.data[w.pos:])
	if !ok {
		return 0, w.syntax("expected four hexadecimal digits")
	}
	if !utf16.IsSurrogate(r) {
		w.pos += escapeLen
		return r, nil
	}
	if low, ok := hexEscape(w.data[w.pos+escapeLen:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			w.pos += 2 * escapeLen
			return pair, nil
		}
	}
	return 0, w.fail(LoneSurrogate, w.data[w.pos:w.pos+escapeLen])
}

// escapeLen is the length of \uXXXX.
const escapeLen = 6

// hexEscape reads \uXXXX at the start of b.
func hexEscape(b []byte) (rune, bool) {
	if len(b) < escapeLen || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:escapeLen] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// hiddenReason says why only data may hold r; "" if it may stand anywhere.
func hiddenReason(r rune) Reason {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ""
	case r < ' ' || r >= 0x7f && r <= 0x9f:
		return ControlCharacter
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return BidiControl
	}
	return ""
}

// unescape returns what a scanned string means. Most strings mean what they
// spell, and are not copied.
func unescape(raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	if !slices.Contains(inner, '\\') {
		return inner
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		panic("BUG: strictjson: a scanned string does not decode: " + err.Error())
	}
	return []byte(s)
}

// syntax refuses what is not JSON at the current byte.
func (w *walker) syntax(detail string) *Error {
	return &Error{Reason: Syntax, Detail: detail, Offset: w.pos, Value: shorten(w.data[w.pos:min(w.pos+8, len(w.data))])}
}

// fail refuses a value at the current byte.
func (w *walker) fail(reason Reason, value []byte) *Error {
	return &Error{Reason: reason, Value: shorten(value), Offset: w.pos}
}
