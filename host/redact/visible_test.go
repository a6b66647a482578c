package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

func TestVisible(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain text, Zürich, 東京, 😀", "plain text, Zürich, 東京, 😀"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\x1b]8;;https://evil.example\x07click\x1b]8;;\x07", `\x1b]8;;https://evil.example\x07click\x1b]8;;\x07`},
		{"\u009b2J", `\u009b2J`},
		{"a\x9bb", `a\x9bb`},
		{"line\r\nline\ttab\b\x00\x7f", `line\r\nline\ttab\x08\x00\x7f`},
		{"approve \u202egnp.exe", `approve \u202egnp.exe`},
		{"zero\u200bwidth\ufeff\u00ad\u2060", `zero\u200bwidth\ufeff\u00ad\u2060`},
		{"tag\U000e0041\U000e007f", `tag\U000e0041\U000e007f`},
		{"hidden\ufe0f\U000e0101\u3164\u2800", `hidden\ufe0f\U000e0101\u3164\u2800`},
		{"\u2028\u2029\u0085", `\u2028\u2029\u0085`},
		{`\n`, `\\n`},
		{"\xff\xfe", `\xff\xfe`},
		{"\ufffd", "\ufffd"},
		{"\xed\xa0\x80", `\xed\xa0\x80`},
		{"a\u00a0b\u3000c", "a\u00a0b\u3000c"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := redact.Visible(tt.in); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := redact.VisibleText("a\tb\nc\\n\r\x1b"); got != "a\tb\nc\\n\\r\\x1b" {
		t.Errorf("text became %q", got)
	}
}

// Every character that there is, and every byte that is none.
func TestVisibleLetsNoControlThrough(t *testing.T) {
	seen := make(map[string]rune, unicode.MaxRune)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		got := redact.Visible(string(r))
		if other, ok := seen[got]; ok {
			t.Fatalf("%U and %U both look like %q", r, other, got)
		}
		seen[got] = r
		if got == string(r) || r < 0x100 { // the others are escapes, and so ASCII
			checkVisible(t, got)
			checkVisible(t, strings.ReplaceAll(redact.VisibleText(string(r)+"x"), "\n", ""))
		} else if strings.Trim(got, `\uU0123456789abcdef`) != "" {
			t.Errorf("%U became %q", r, got)
		}
	}
	for b := range 256 {
		checkVisible(t, redact.Visible(string([]byte{byte(b)})))
		checkVisible(t, redact.Visible(string([]byte{'a', byte(b), 0xc2, 'z'})))
	}
}

// What is written as JSON is the same value, and can be seen.
func TestVisibleJSON(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 || r > 0x3400 && r < 0xf900 || r > 0x20000 && r%0x1001 != 0x41 {
			continue
		}
		want := `a"\` + string(r) + "b\n"
		doc, err := json.Marshal(map[string]string{want: want})
		if err != nil {
			t.Fatal(err)
		}
		got := redact.VisibleJSON(doc)
		if r < 0xa0 || len(got) == len(doc) { // the others are escapes, and so ASCII
			checkVisible(t, string(got))
		}
		var back map[string]string
		if err := json.Unmarshal(got, &back); err != nil || len(back) != 1 || back[want] != want {
			t.Fatalf("%U became %s, which is %q, %v", r, got, back, err)
		}
	}
	if got := string(redact.VisibleJSON([]byte("{\n  \"a\u009b\": \"\xff\u202e\U000e0041 ü\"\n}\n"))); got != "{\n  \"a\\u009b\": \"\\ufffd\\u202e\\udb40\\udc41 ü\"\n}\n" {
		t.Errorf("it became %q", got)
	}
}

func checkVisible(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%q is not UTF-8", s)
	}
	for _, r := range s {
		if r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
			t.Errorf("%U went through", r)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := redact.Visible(s)
		checkVisible(t, got)
		if strings.Contains(got, "\t") {
			t.Errorf("a tab in %q", got)
		}
	})
}
