package origin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestPatternVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root(t), "test", "vectors", "match", "patterns.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Pattern string
		Valid   bool
		Note    string
		URLs    []struct {
			URL   string
			Match int
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range vectors {
		p, err := ParsePattern(v.Pattern)
		if (err == nil) != v.Valid {
			t.Errorf("ParsePattern(%q): %v, want valid %v (%s)", v.Pattern, err, v.Valid, v.Note)
			continue
		}
		for _, u := range v.URLs {
			parsed, err := ParseURL(u.URL)
			if got := err == nil && p.Match(parsed); got != (u.Match == 1) {
				t.Errorf("%s, %q: match %v, want %v (%v)", v.Pattern, u.URL, got, u.Match == 1, err)
			}
		}
	}
}

// More patterns of the kinds above.
func TestPatternsRefused(t *testing.T) {
	for _, raw := range []string{
		"*", "*://*", "https://*:*/*", "https://**.example.com/*", "https://*.*.example.com/*", "https://a.*/*",
		"https://*example.com/*", "https://example.com*/*", "https://*.localhost/*", "https://*.s3.amazonaws.com/*",
		"https://*.uk/*", "https://*.xn--p1ai/*", "https://*.рф/*", "https://*.127.0.0.1/*", "https://*.[::1]/*",
		"wss://host/*", "*s://host/*", "https:/host/*", "https:host/*", "https://host", "https://host:/*",
		"https://host:0/*", "https://host:00080/*", "https://host:+80/*", "https://host:80*/*", "https://host:65536/*",
		"https://host:8０/*", "https://:443/*", "https://[::1/*", "https://[::1]x/*", "https://[::1]:x/*", "https://[fe80::1%25eth0]/*",
		"https://user:@host/*", "https://@host/*", "https://host/a/../*", "https://host/./*", "https://host/%2e%2e/*",
		"https://host/a b", "https://host/é/*", "https://host/a\\b", "https://host/\t*", "https://host\n/*",
		"https://ho\u00adst\u0000/*", "https://host../*", "https://.host/*", "https://host-/*", "https://a.b-/*",
		"https://host/*\u202e", "https://ẞ.example/*", "https://1.2.3.+4/*", "https://1.2.3.4.5/*", "https://256.1.1.1/*",
		"https://host/\xff", "https://host|/*", "https://h^st/*",
	} {
		if p, err := ParsePattern(raw); err == nil {
			t.Errorf("ParsePattern(%q) = %q, want an error", raw, p)
		}
	}
}

func TestPatternString(t *testing.T) {
	for raw, want := range map[string]string{
		"https://MANTIS.example/*":        "https://mantis.example/*",
		"https://bücher.example/*":        "https://xn--bcher-kva.example/*",
		"https://\u0430pple.example/*":    "https://xn--pple-43d.example/*",
		"https://host:443/*":              "https://host/*",
		"http://host:443/*":               "http://host:443/*",
		"*://host:443/*":                  "*://host:443/*",
		"https://*.a.example:*/x/*/y":     "https://*.a.example:*/x/*/y",
		"https://0xc0a80001/*":            "https://192.168.0.1/*",
		"http://[2001:0db8:0:0::1]:80/*":  "http://[2001:db8::1]/*",
		"http://tracker.localhost:8080/*": "http://tracker.localhost:8080/*",
		"http://*.tracker.localhost/*":    "http://*.tracker.localhost/*",
		"http://localhost/*":              "http://localhost/*",
	} {
		p, err := ParsePattern(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if p.String() != want {
			t.Errorf("%q prints as %q, want %q", raw, p, want)
		}
		if again, err := ParsePattern(p.String()); err != nil || again != p {
			t.Errorf("%q does not parse back: %v", p, err)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, url string
		want         bool
	}{
		{"*://host:443/*", "http://host:443/", true},
		{"*://host:443/*", "https://host/", true},
		{"*://host:443/*", "http://host/", false},
		{"*://host/*", "http://host:443/", false},
		{"https://host/a*b*c", "https://host/abc", true},
		{"https://host/a*b*c", "https://host/a-b-b-c", true},
		{"https://host/a*b*c", "https://host/acb", false},
		{"https://host/ab*ba", "https://host/aba", false},
		{"https://host/a", "https://host/a?x=1", true},
		{"https://host/a", "https://host/a/", false},
		{"https://host/*.css", "https://host/x.css?v=3", true},
		{"https://host/*.css", "https://host/x?y=.css", false},
		{"https://host/*.css", "https://host/x#.css", false},
		{"https://*.a.example/*", "https://x..a.example/", false},
		{"https://*.a.example/*", "https://x.y.a.example/", true},
		{"https://*.a.example/*", "https://a.example./", false},
		{"https://host/*", "https://host:0/", false},
		{"https://host:*/*", "https://host:0/", true},
		{"http://tracker.localhost:8080/*", "http://tracker.localhost:8080/x", true},
		{"http://tracker.localhost:8080/*", "http://auth.localhost:8080/x", false},
		{"http://127.0.0.1:9131/*", "http://127.1:9131/x", true},
		{"http://127.0.0.1:9131/*", "http://localhost:9131/x", false},
	} {
		p, err := ParsePattern(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		u, err := ParseURL(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(u); got != tc.want {
			t.Errorf("%s, %s: %v, want %v", tc.pattern, tc.url, got, tc.want)
		}
	}
	if (Pattern{}).Match(URL{}) || (Pattern{}).MatchOrigin(URL{}) {
		t.Error("the zero pattern matches the zero URL")
	}
}

func FuzzParsePattern(f *testing.F) {
	f.Add("https://*.example.com:8443/docs/*", "https://a.example.com:8443/docs/x")
	f.Add("*://host:*/*", "http://host:1/")
	f.Add("https://[2001:db8::1]/*", "https://[2001:0db8::1]")
	f.Fuzz(func(t *testing.T, rawPattern, rawURL string) {
		p, err := ParsePattern(rawPattern)
		if err != nil {
			return
		}
		if again, err := ParsePattern(p.String()); err != nil || again != p {
			t.Errorf("%q does not parse back from %q: %v", rawPattern, p, err)
		}
		u, err := ParseURL(rawURL)
		if err == nil && p.Match(u) && (!p.MatchOrigin(u) || u.Scheme() != "http" && u.Scheme() != "https") {
			t.Errorf("%q matches %q", rawPattern, rawURL)
		}
	})
}

// root finds the repository's root.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}
