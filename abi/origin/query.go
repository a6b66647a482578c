package origin

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxPairs is the number of pairs that a query or form may have.
const MaxPairs = 100

// A Pair is one name and value of a query string or form, decoded.
type Pair struct {
	Name, Value string
}

// ParseQuery parses what stands after the question mark, or a body of type
// application/x-www-form-urlencoded, in order. It refuses whatever two servers
// could read in two ways: a name twice, a semicolon (a separator to some), an
// empty pair or name, percent signs that encode nothing, text that is not UTF-8,
// control characters other than \t \n \r in values, and more than MaxPairs pairs.
func ParseQuery(raw string) ([]Pair, error) {
	if raw == "" {
		return nil, nil
	}
	if strings.Contains(raw, ";") {
		return nil, errors.New("a semicolon separates parameters for some servers")
	}
	if n := strings.Count(raw, "&") + 1; n > MaxPairs {
		return nil, fmt.Errorf("%d parameters, limit %d", n, MaxPairs)
	}
	var pairs []Pair
	seen := map[string]bool{}
	for piece := range strings.SplitSeq(raw, "&") {
		p, err := parsePair(piece)
		if err != nil {
			return nil, err
		}
		if seen[p.Name] {
			return nil, fmt.Errorf("the parameter %q stands twice", shorten(p.Name))
		}
		seen[p.Name] = true
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func parsePair(piece string) (Pair, error) {
	rawName, rawValue, _ := strings.Cut(piece, "=")
	name, err := unescape(strings.ReplaceAll(rawName, "+", " "))
	if err != nil {
		return Pair{}, fmt.Errorf("parameter name %q: %w", shorten(rawName), err)
	}
	if name == "" || strings.ContainsFunc(name, isControl) {
		return Pair{}, fmt.Errorf("parameter name %q is empty or holds a control character", shorten(name))
	}
	value, err := unescape(strings.ReplaceAll(rawValue, "+", " "))
	if err != nil {
		return Pair{}, fmt.Errorf("parameter %q: %w", shorten(name), err)
	}
	if !CleanText(value) {
		return Pair{}, fmt.Errorf("parameter %q holds a control character", shorten(name))
	}
	return Pair{Name: name, Value: value}, nil
}

// CleanText reports whether a decoded value is UTF-8 without C0 controls, DEL or
// C1 controls other than tab and line ends.
func CleanText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return isControl(r) && r != '\t' && r != '\n' && r != '\r'
	})
}

// unescape decodes percent-encoding and refuses what is not that, or not UTF-8.
func unescape(s string) (string, error) {
	if strings.Contains(s, "%") {
		out := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			if s[i] != '%' {
				out = append(out, s[i])
				continue
			}
			c, ok := hexByte(s[i:])
			if !ok {
				return "", errors.New("a percent sign that encodes nothing")
			}
			out = append(out, c)
			i += 2
		}
		s = string(out)
	}
	if !utf8.ValidString(s) {
		return "", errors.New("not UTF-8")
	}
	return s, nil
}
