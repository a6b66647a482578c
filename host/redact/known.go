package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// MinSecret is the length in bytes from which on a known secret is looked for.
const MinSecret = 4

// A needle is one byte string to look for on behalf of a secret.
type needle struct {
	of     string // the secret
	text   string
	base64 bool // line breaks within don't count
}

// needlesOf lists what to look for: the secret itself, its hex form, and the
// part of its base64 form that does not depend on what stands around it, for
// each of the three alignments and in both alphabets.
func needlesOf(secret string) []needle {
	digits := hex.EncodeToString([]byte(secret))
	all := []needle{
		{of: secret, text: secret},
		{of: secret, text: digits},
		{of: secret, text: strings.ToUpper(digits)},
	}
	urlAlphabet := strings.NewReplacer("+", "-", "/", "_")
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + secret
		enc := base64.RawStdEncoding.EncodeToString([]byte(padded))
		from := (before*8 + 5) / 6 // the first character that holds nothing else
		to := len(padded) * 8 / 6  // after the last one
		if to-from < MinSecret {
			continue
		}
		all = append(all, needle{of: secret, text: enc[from:to], base64: true})
		if s := urlAlphabet.Replace(enc[from:to]); s != enc[from:to] {
			all = append(all, needle{of: secret, text: s, base64: true})
		}
	}
	return all
}

// findKnown returns where needles stand in s, in s as it is and in every
// reading of it.
func findKnown(s string, needles []needle) []span {
	if len(needles) == 0 {
		return nil
	}
	var found []span
	for _, r := range readings(s) {
		unfolded := reading{}
		if strings.ContainsAny(r.text, "\r\n") {
			unfolded = r.decode(unfold())
		}
		for _, n := range needles {
			found = append(found, r.find(n)...)
			if n.base64 {
				found = append(found, unfolded.find(n)...)
			}
		}
	}
	return found
}

// find returns where n stands, as spans of the source.
func (r reading) find(n needle) []span {
	var found []span
	for at := 0; ; {
		i := strings.Index(r.text[at:], n.text)
		if i < 0 {
			return found
		}
		from, to := at+i, at+i+len(n.text)
		at = from + 1
		if n.base64 { // the characters beside it hold some of the secret's bits
			from, to = widen(r.text, from, to)
		}
		found = append(found, r.source(from, to))
	}
}

// widen takes in one more character on each side, and the padding.
func widen(s string, from, to int) (int, int) {
	if from > 0 && isBase64(s[from-1]) {
		from--
	}
	if to < len(s) && isBase64(s[to]) {
		to++
	}
	for to < len(s) && s[to] == '=' {
		to++
	}
	return from, to
}

func isBase64(c byte) bool {
	return isHexDigit(c) || c >= 'g' && c <= 'z' || c >= 'G' && c <= 'Z' || strings.IndexByte("+/-_", c) >= 0
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
