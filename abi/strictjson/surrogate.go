package strictjson

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// ReplaceLoneSurrogates returns the document with every escape of half a
// surrogate pair replaced by \ufffd, which is as long. It is for text out of
// pages alone: a string of JavaScript may end in the middle of an emoji, and
// JSON.stringify writes that as an escape. It returns data itself where there is
// nothing to replace, changes nothing else, and takes linear time.
func ReplaceLoneSurrogates(data []byte) []byte {
	out := data
	for i := 0; i < len(data); {
		j := bytes.IndexByte(data[i:], '\\')
		if j < 0 {
			break
		}
		i += j
		r, ok := hexEscape(data[i:])
		switch {
		case !ok:
			i += 2 // another escape, perhaps of a backslash
		case !utf16.IsSurrogate(r):
			i += escapeLen
		case isPair(r, data[i+escapeLen:]):
			i += 2 * escapeLen
		default:
			if &out[0] == &data[0] {
				out = slices.Clone(data)
			}
			copy(out[i:], `\ufffd`)
			i += escapeLen
		}
	}
	return out
}

// isPair reports whether the escape at the start of rest completes r.
func isPair(r rune, rest []byte) bool {
	low, ok := hexEscape(rest)
	return ok && utf16.DecodeRune(r, low) != utf8.RuneError
}
