package redact

import (
	"encoding/hex"
	"hash/maphash"
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxReadings bounds the work for a text that decodes and decodes.
const maxReadings = 48

// A reading is a text after some escapes have been decoded. at says where each
// byte of it comes from in the source; it is nil for the source itself.
type reading struct {
	text string
	at   []int32 // one more than bytes
}

// source returns the part of the source that text[from:to] was decoded from.
func (r reading) source(from, to int) span {
	if r.at == nil {
		return span{from, to}
	}
	return span{int(r.at[from]), int(r.at[to])}
}

// A decoder reads the escape that s begins with: what it stands for, and how
// many bytes it takes. Zero bytes say that there is none.
type decoder struct {
	begins string // the bytes that an escape may begin with
	read   func(s string) (text string, width int)
}

// readings returns s and what it decodes to by each escape and each sequence of
// escapes: a secret in JSON in a URL in an HTML attribute is plain in one of
// them. Those nearest to s come first.
func readings(s string) []reading {
	decoders := []decoder{
		{`%`, percent}, {`\`, backslash}, {`&`, entity}, {`%+`, query}, {`=`, quotedPrintable},
	}
	seed := maphash.MakeSeed()
	seen := map[uint64]bool{maphash.String(seed, s): true}
	all := []reading{{text: s}}
	for i := 0; i < len(all) && len(all) < maxReadings; i++ {
		for _, d := range decoders {
			if !strings.ContainsAny(all[i].text, d.begins) {
				continue
			}
			r := all[i].decode(d)
			if sum := maphash.String(seed, r.text); !seen[sum] {
				seen[sum] = true
				all = append(all, r)
			}
		}
	}
	return all
}

// decode returns the reading of r in which every escape of d is decoded.
func (r reading) decode(d decoder) reading {
	text := make([]byte, 0, len(r.text))
	at := make([]int32, 0, len(r.text)+1)
	for i := 0; i < len(r.text); {
		next := strings.IndexAny(r.text[i:], d.begins)
		if next < 0 {
			next = len(r.text) - i
		}
		for ; next > 0; next-- {
			text = append(text, r.text[i])
			at = append(at, int32(r.source(i, i).from))
			i++
		}
		if i == len(r.text) {
			break
		}
		s, width := d.read(r.text[i:])
		if width == 0 {
			s, width = r.text[i:i+1], 1
		}
		for j := range len(s) {
			text = append(text, s[j])
			at = append(at, int32(r.source(i, i).from))
		}
		i += width
	}
	at = append(at, int32(r.source(len(r.text), len(r.text)).from))
	return reading{text: string(text), at: at}
}

// percent reads %XX.
func percent(s string) (string, int) {
	if len(s) < 3 {
		return "", 0
	}
	b, err := hex.DecodeString(s[1:3])
	if err != nil {
		return "", 0
	}
	return string(b), 3
}

// query is percent for a query, where + is a space.
func query(s string) (string, int) {
	if s[0] == '+' {
		return " ", 1
	}
	return percent(s)
}

// quotedPrintable reads =XX and a soft line break.
func quotedPrintable(s string) (string, int) {
	for _, end := range []string{"=\r\n", "=\n"} {
		if strings.HasPrefix(s, end) {
			return "", len(end)
		}
	}
	return percent(s)
}

// unfold drops line breaks.
func unfold() decoder {
	return decoder{begins: "\r\n", read: func(string) (string, int) { return "", 1 }}
}

// backslash reads an escape of JSON or JavaScript: \n, \", \x3c, \u003c.
func backslash(s string) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	switch s[1] {
	case 'u':
		return unicodeEscape(s)
	case 'x':
		if text, width := percent(s[1:]); width > 0 {
			return text, width + 1
		}
		return "", 0
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	}
	_, w := utf8.DecodeRuneInString(s[1:])
	return s[1 : 1+w], 1 + w
}

// unicodeEscape reads \uXXXX, and a second one if it is half of a character.
func unicodeEscape(s string) (string, int) {
	hi, ok := hexRune(s)
	if !ok {
		return "", 0
	}
	if !utf16.IsSurrogate(hi) {
		return string(hi), 6
	}
	lo, ok := hexRune(s[6:])
	if !ok {
		return "", 0
	}
	return string(utf16.DecodeRune(hi, lo)), 12
}

// hexRune reads the \uXXXX that s begins with.
func hexRune(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	b, err := hex.DecodeString(s[2:6])
	if err != nil {
		return 0, false
	}
	return rune(b[0])<<8 | rune(b[1]), true
}

// entity reads an HTML character reference.
func entity(s string) (string, int) {
	end := 1
	for end < len(s) && end < 33 && (isBase64(s[end]) || s[end] == '#') {
		end++
	}
	if end == 1 || end == len(s) || s[end] != ';' {
		return "", 0
	}
	end++
	text := html.UnescapeString(s[:end])
	return text, end
}
