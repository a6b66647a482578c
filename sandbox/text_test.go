package sandbox

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain text, żółć 🙂":       "plain text, żółć 🙂",
		"a\nb\r\tc\x00\x7f":        `a\x0ab\x0d\x09c\x00\x7f`,
		"\x1b[31mred":              `\x1b[31mred`,
		"\u009b31m":                `\u{9b}31m`,
		"\u202eabc\u2066\u200f":    `\u{202e}abc\u{2066}\u{200f}`,
		"\u2028\u2029\ufeff\u200b": `\u{2028}\u{2029}\u{feff}\u{200b}`,
		"\xff\xc0":                 `\xff\xc0`,
		"\ufffd":                   "\ufffd",
		"\U000e0041":               `\u{e0041}`,
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"\x80", 0, ""}, {"\x80\x80", 1, "\x80"}, {"abcd", 3, "abc"}, {"", 0, ""}, {"ż", 1, ""}, {"aż", 2, "a"}, {"a🙂", 4, "a"}, {"\x80\x80\x80\x80\x80", 4, "\x80\x80\x80\x80"},
	} {
		if got := clip(tt.in, tt.n); got != tt.want {
			t.Errorf("clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, in := range []string{`{}`, " {\"a\":\"]]]{{{\"}\n", `{"a":"\\\"[["}`, nested(abi.MaxJSONDepth)} {
		if err := checkJSON([]byte(in)); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, in := range []string{
		"", " ", "x", "1", "null", `"{}"`, "[]", "{", "{}{}", "{} x", `{"a":1,}`, `{'a':1}`, "{\"a\":\"\xff\"}", "\ufeff{}",
		"{\"a\":\"\n\"}", `{"a":1,"a":2}`, nested(abi.MaxJSONDepth + 1), nested(100_000), strings.Repeat("[", 1_000_000),
	} {
		err := checkJSON([]byte(in))
		if err == nil {
			t.Errorf("%.40q is accepted", in)
			continue
		}
		wantError(t, err, abi.ErrInvalidResult)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, in string) {
		out := visible(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("visible(%q) = %q", in, out)
		}
		if c := clip(in, len(in)/2); len(c) > len(in)/2 || !strings.HasPrefix(in, c) {
			t.Errorf("clip(%q) = %q", in, c)
		}
	})
}

func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"a":["\"]"]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var m map[string]any
		err := checkJSON(in)
		if err == nil && json.Unmarshal(in, &m) != nil {
			t.Errorf("%q is accepted and is no object", in)
		}
	})
}
