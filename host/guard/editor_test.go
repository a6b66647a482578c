package guard

import (
	"html"
	"strings"
	"testing"
)

// FuzzEditorText: what is typed is found again, and nothing with another element
// passes for text.
func FuzzEditorText(f *testing.F) {
	for _, s := range []string{"", "a\n\n  b", "<b>&amp;</b>", "é\u00a0\u00a0x", "<p>a</p>", "<br>", "&nbsp;", "<p>&nbsp;</p>", "\n<p>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = lines(s)
		made := "<p>" + strings.ReplaceAll(html.EscapeString(s), "\n", "<br />\n") + "</p>\n"
		if text, ok := editorText(made); !ok || text != typed(s) {
			t.Errorf("%q is read as %q, %v", made, text, ok)
		}
		if _, ok := editorText(s); ok {
			rest := strings.NewReplacer("<p>", "", "</p>", "", "<br>", "", "<br />", "").Replace(s)
			if strings.ContainsAny(rest, "<>") {
				t.Errorf("%q passes for text", s)
			}
		}
	})
}
