package release

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text of a definition reaches a model that may obey it and a person who decides
// by it. Both have to see the same thing.

const (
	maxLine        = 120     // bytes of a title
	maxDescription = 1 << 10 // bytes of a description
)

// Line checks text of one line.
func (c *checker) line(path, s string) {
	c.text(path, s, maxLine)
	if strings.ContainsAny(s, "\n\t") {
		c.addf(path, "more than one line")
	}
}

// Text checks text that has to be there.
func (c *checker) text(path, s string, most int) {
	if strings.TrimSpace(s) == "" {
		c.addf(path, "missing")
		return
	}
	c.optionalText(path, s, most)
}

func (c *checker) optionalText(path, s string, most int) {
	if len(s) > most {
		c.addf(path, "longer than %d bytes", most)
	}
	if fault := hiddenText(s); fault != "" {
		c.addf(path, "%s", fault)
	}
	if fault := markup(s); fault != "" {
		c.addf(path, "%s", fault)
	}
	if fault := instruction(s); fault != "" {
		c.addf(path, "%s", fault)
	}
}

// HiddenText names the first character that a reader can't see or that changes
// how others are read, or is "".
func hiddenText(s string) string {
	if !utf8.ValidString(s) {
		return "not UTF-8"
	}
	for _, r := range s {
		if hidden(r) {
			return "holds the character " + fmt.Sprintf("%U", r) + ", which a reader can't see"
		}
	}
	return ""
}

func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r == '\u115f', r == '\u1160', r == '\u17b4', r == '\u17b5', r == '\u2800', r == '\u3164', r == '\uffa0': // blank letters
		return true
	case r >= '\U000e0100' && r <= '\U000e01ef': // variation selectors that carry hidden data
		return true
	case unicode.Is(unicode.Variation_Selector, r): // the others choose between text and emoji
		return r != '\ufe0e' && r != '\ufe0f'
	}
	// Cf: zero-width, bidirectional, tag characters. Cn: unassigned.
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)
}

// Markup names what looks like a tag, a comment or a link with a hidden target.
// Models read <IMPORTANT> as an instruction from someone above the text.
func markup(s string) string {
	for i := range len(s) {
		if n := markupAt(s[i:]); n > 0 {
			return "holds markup at " + strconv.Quote(s[i:i+n]) + "; use plain words"
		}
	}
	return ""
}

// MarkupAt is the length of what starts a tag, entity, image or link.
func markupAt(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch next := s[1]; s[0] {
	case '<':
		if strings.IndexByte("/!?|", next) >= 0 || next > '9' && asciiAlnum(next) {
			return 2
		}
	case '!':
		if next == '[' {
			return 2
		}
	case ']':
		if next == '(' {
			return 2
		}
	case '&':
		name := strings.TrimPrefix(s[1:], "#")
		end := strings.IndexByte(name, ';')
		if end > 0 && end <= 32 && strings.IndexFunc(name[:end], func(r rune) bool { return r > '~' || !asciiAlnum(byte(r)) }) < 0 {
			return len(s) - len(name) + end + 1
		}
	}
	return 0
}

func asciiAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}
