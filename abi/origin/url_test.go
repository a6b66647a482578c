package origin

import (
	"strings"
	"testing"
)

func TestParseURLRefuses(t *testing.T) {
	for _, raw := range []string{
		"", "/", "//host/", "host", "https:", "https://", "https:///", "http://#", "http://?q", "https://:80/",
		"file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "blob:https://host/uuid", "about:blank",
		"view-source:https://host/", "chrome://version", "devtools://x/", "filesystem:https://host/t/", "ftp://host/",
		"ws://host/", "wss://host/", "mailto:a@b", "urn:x", "https://user@host/", "https://user:pw@host/", "https://:pw@host/",
		"https://host/\t", "https://ho\nst/", "\x00https://host/", "https://host/\x7f", "https://host/\u0085", "https://host/\xff",
		"https://ho st/", "https://host:99999/", "https://host:x/", "https://[::1", "https://[[::1]]/", "https://[::1]]/",
		"https://::1/", "https://ho<st/", "https://host%00.example/", "https://host%2fx/", "https://ho%zzst/", "https://xn--/",
		"https://127.0.0.+1/", "https://127.0.0.-1/", "https://-1/", "https://+1/", "https://127.0.0.%2b1/", "https://127.0.0.＋1/",
		"https://x@127.0.0.+1:80/", "https://faẞ.example/", "https://fa%E1%BA%9E.example/",
		"https://host/" + strings.Repeat("a", maxURL),
	} {
		if u, err := ParseURL(raw); err == nil {
			t.Errorf("ParseURL(%.80q) = %q, want an error", raw, u)
		}
	}
}

func TestParseURLKeepsSecretsOutOfErrors(t *testing.T) {
	_, err := ParseURL("https://user:hunter2@host/")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error: %v", err)
	}
}

func TestParseURL(t *testing.T) {
	for _, tc := range []struct {
		raw, href, origin, host, path, query, fragment string
		port                                           int
	}{
		{"https://Host", "https://host/", "https://host", "host", "/", "", "", 443},
		{`https:\\evil.test\a\..\b`, "https://evil.test/b", "https://evil.test", "evil.test", "/b", "", "", 443},
		{"http://tracker.localhost:8080/a?b=c#d", "http://tracker.localhost:8080/a?b=c#d", "http://tracker.localhost:8080", "tracker.localhost", "/a", "b=c", "d", 8080},
		{"http://0x7f.1:80/", "http://127.0.0.1/", "http://127.0.0.1", "127.0.0.1", "/", "", "", 80},
		{"http://[::0001]:81/é", "http://[::1]:81/%C3%A9", "http://[::1]:81", "[::1]", "/%C3%A9", "", "", 81},
		{"https://bücher.example/?ü", "https://xn--bcher-kva.example/?%C3%BC", "https://xn--bcher-kva.example", "xn--bcher-kva.example", "/", "%C3%BC", "", 443},
		{"http://host:0/", "http://host:0/", "http://host:0", "host", "/", "", "", 0},
		{"https://host./", "https://host./", "https://host.", "host.", "/", "", "", 443},
		{"https://a/%2e%2e/b%2fc;d", "https://a/b%2fc;d", "https://a", "a", "/b%2fc;d", "", "", 443},
	} {
		u, err := ParseURL(tc.raw)
		if err != nil {
			t.Errorf("%q: %v", tc.raw, err)
			continue
		}
		if u.String() != tc.href || string(u.Origin()) != tc.origin || u.Host() != tc.host || u.Path() != tc.path ||
			u.RawQuery() != tc.query || u.Fragment() != tc.fragment || u.Port() != tc.port {
			t.Errorf("%q: %+v", tc.raw, u)
		}
	}
	if u, err := ParseURL("wss://host/", "ws", "wss"); err != nil || u.Origin() != "wss://host" || u.Port() != 443 {
		t.Errorf("a scheme that was asked for: %v, %v", u, err)
	}
	if (URL{}).Origin() != "" {
		t.Error("the zero URL has an origin")
	}
}

func TestParseOrigin(t *testing.T) {
	for raw, want := range map[string]Origin{
		"https://host":          "https://host",
		"HTTPS://Host:443/":     "https://host",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080",
		"http://[0::1]:8080/":   "http://[::1]:8080",
	} {
		if got, err := ParseOrigin(raw); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", "null", "https://host/x", "https://host/?", "https://host/#", "https://host?x", "https://u@host", "file://", "ws://host", "*://host"} {
		if got, err := ParseOrigin(raw); err == nil {
			t.Errorf("%q: %q, want an error", raw, got)
		}
	}
}

func TestLoopbackAndSecure(t *testing.T) {
	for o, want := range map[Origin][2]bool{
		"http://localhost":              {true, true},
		"http://tracker.localhost:8080": {true, true},
		"http://127.8.9.1":              {true, true},
		"http://[::1]:80":               {true, true},
		"https://host":                  {false, true},
		"http://host":                   {false, false},
		"http://localhost.evil.test":    {false, false},
		"http://notlocalhost":           {false, false},
		"http://[::2]":                  {false, false},
		"http://128.0.0.1:127":          {false, false},
		"":                              {false, false},
	} {
		if got := [2]bool{o.Loopback(), o.Secure()}; got != want {
			t.Errorf("%q: loopback and secure %v, want %v", o, got, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"https://host/a?b#c", `https:\\x\y`, "http://0x7f.1", "http://[::1]:80", "https://a%2eb/", "https://127.0.0.+1", "https://u@h:1/", "https://ẞ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL(raw)
		if err != nil {
			if u != (URL{}) {
				t.Errorf("%q: refused, and yet %v", raw, u)
			}
			return
		}
		again, err := ParseURL(u.String())
		if err != nil || again != u {
			t.Errorf("%q: %q parses as %q, %v", raw, u, again, err)
		}
		if strings.ContainsAny(u.Host(), "@/\\%?# ") || u.Host() == "" || !strings.HasPrefix(u.Path(), "/") {
			t.Errorf("%q: host %q, port %d, path %q", raw, u.Host(), u.Port(), u.Path())
		}
		if o, err := ParseOrigin(string(u.Origin())); err != nil || o != u.Origin() {
			t.Errorf("%q: origin %q parses as %q, %v", raw, u.Origin(), o, err)
		}
	})
}
