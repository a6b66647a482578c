package redact

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible makes s safe to show in one line of a terminal, and unambiguous:
// whatever would move the cursor, change colours or the order of reading, or
// not be seen at all is written as an escape, such as \n, \x1b or \u202e, and a
// backslash as two. Different strings look different.
func Visible(s string) string { return visible(s, false) }

// VisibleText is [Visible] for several lines: line feeds and tabs stay, and so
// do backslashes.
func VisibleText(s string) string { return visible(s, true) }

// VisibleJSON is [Visible] for a JSON text: the same value, in which what can't be
// seen is written as JSON writes an escape. encoding/json escapes what is below a
// space and leaves the rest, of which a terminal takes some for commands (U+009B).
func VisibleJSON(data []byte) []byte {
	out := make([]byte, 0, len(data)+16)
	for i := 0; i < len(data); {
		r, w := utf8.DecodeRune(data[i:])
		switch {
		case r < 0x7f: // JSON has no controls but those between its parts
			out = append(out, byte(r))
		case r != utf8.RuneError && shows(r):
			out = append(out, data[i:i+w]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		i += w
	}
	return out
}

func visible(s string, text bool) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || r == '\\' || !shows(r) }) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case text && (r == '\n' || r == '\t' || r == '\\'), r != '\\' && shows(r):
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
		i += w
	}
	return b.String()
}

func escape(r rune) string {
	switch r {
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// shows reports whether r is seen as itself. Go calls some characters printable
// that leave no mark; text can be hidden in them.
func shows(r rune) bool {
	if !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) {
		return false
	}
	switch {
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, // variation selectors
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // Hangul fillers
		r == 0x034f, r == 0x17b4, r == 0x17b5, r == 0x2800, // joiner, Khmer vowels, empty Braille
		r >= 0x180b && r <= 0x180f: // Mongolian selectors
		return false
	}
	return true
}
