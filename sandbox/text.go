package sandbox

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// visible makes text from a guest safe for a terminal and for one line of a
// log: what is not printable, bidirectional controls and line ends included, is
// written as an escape.
func visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// clip cuts s to at most n bytes, at the edge of a character where it has one.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for cut := n; cut >= 0 && cut > n-utf8.UTFMax; cut-- {
		if utf8.RuneStart(s[cut]) {
			return s[:cut]
		}
	}
	return s[:n]
}

// checkJSON refuses output that is not exactly one JSON object in UTF-8, is
// nested deeper than abi.MaxJSONDepth, or names a member twice. Extism returns an
// empty output without an error when a guest names memory that it doesn't have.
func checkJSON(b []byte) error {
	if len(b) == 0 {
		return invalidResult("no output")
	}
	if err := strictjson.Check(b, strictjson.MaxBytes(len(b)), strictjson.AnyText(), strictjson.AnyKeys()); err != nil {
		return invalidResult("output that is not JSON: %w", err)
	}
	if bytes.TrimLeft(b, " \t\r\n")[0] != '{' {
		return invalidResult("output that is not a JSON object")
	}
	return nil
}

func invalidResult(format string, args ...any) error {
	return abi.Errorf(abi.ErrInvalidResult, "guest", format, args...)
}
