package release_test

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// A text is the sum of its parts.
func FuzzPromptParts(f *testing.F) {
	for _, s := range []string{"", "a", "{a}", "a {b} c {b}", "{a}{b}", "{", "}", "{}", "{a b}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, fault := release.PromptParts(text)
		if fault != "" {
			return
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
			if p.Arg != "" {
				b.WriteString("{" + p.Arg + "}")
			}
		}
		if b.String() != text {
			t.Errorf("%q falls into %+v", text, parts)
		}
	})
}
