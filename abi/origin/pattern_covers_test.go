package origin

import "testing"

func TestPatternCovers(t *testing.T) {
	for _, c := range []struct {
		p, q string
		want bool
	}{
		{"https://a.example/*", "https://a.example/*", true},
		{"https://a.example/*", "https://a.example/x/*", true},
		{"https://a.example/x/*", "https://a.example/*", false},
		{"https://a.example/x/*", "https://a.example/x/y", false}, // a no is never wrong
		{"https://*.a.example/*", "https://b.a.example/*", true},
		{"https://*.a.example/*", "https://a.example/*", true},
		{"https://*.a.example/*", "https://*.b.a.example/*", true},
		{"https://b.a.example/*", "https://*.a.example/*", false},
		{"https://a.example/*", "https://*.a.example/*", false},
		{"https://*.a.example/*", "https://evila.example/*", false},
		{"*://a.example/*", "http://a.example/*", true},
		{"https://a.example/*", "*://a.example/*", false},
		{"https://a.example/*", "http://a.example/*", false},
		{"https://a.example:*/*", "https://a.example:8443/*", true},
		{"https://a.example/*", "https://a.example:8443/*", false},
		{"https://a.example:8443/*", "https://a.example:*/*", false},
	} {
		p, err := ParsePattern(c.p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ParsePattern(c.q)
		if err != nil {
			t.Fatal(err)
		}
		if p.Covers(q) != c.want {
			t.Errorf("%q covers %q: %v", c.p, c.q, !c.want)
		}
	}
	if (Pattern{}).Covers(Pattern{}) {
		t.Error("the zero pattern covers itself")
	}
}
