package redact_test

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"mime/quotedprintable"
	"net/url"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// canary has something for every escape to escape.
const canary = `Zürich "7&<9>/+ %25\n'x` + "\t\U0001F600=k"

func everyByte(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, format, s[i])
		}
		return b.String()
	}
}

func everyRune(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
}

func asJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b[1 : len(b)-1])
}

func asJSONPlain(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	return b.String()[1 : b.Len()-2]
}

func asUTF16JSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func asQuotedPrintable(s string) string {
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func behind(prefix string, enc *base64.Encoding) func(string) string {
	return func(s string) string { return enc.EncodeToString([]byte(prefix + s + ":more")) }
}

func encodings() map[string]func(string) string {
	return map[string]func(string) string{
		"literal":                func(s string) string { return s },
		"query":                  url.QueryEscape,
		"path":                   url.PathEscape,
		"every byte in a URL":    everyByte("%%%02X"),
		"lower case in a URL":    everyByte("%%%02x"),
		"a URL in a URL":         func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
		"three URLs deep":        func(s string) string { return url.QueryEscape(url.QueryEscape(url.PathEscape(s))) },
		"JSON":                   asJSON,
		"JSON without HTML":      asJSONPlain,
		"JSON, all escaped":      asUTF16JSON,
		"JSON with solidus":      func(s string) string { return strings.ReplaceAll(asJSONPlain(s), "/", `\/`) },
		"JSON in JSON":           func(s string) string { return asJSON(asJSON(s)) },
		"JSON thrice":            func(s string) string { return asJSON(asJSON(asJSON(s))) },
		"JSON in a URL":          func(s string) string { return url.QueryEscape(asJSON(s)) },
		"HTML":                   html.EscapeString,
		"HTML in HTML":           func(s string) string { return html.EscapeString(html.EscapeString(s)) },
		"HTML decimal":           everyRune("&#%d;"),
		"HTML hexadecimal":       everyRune("&#x%x;"),
		"HTML upper hexadecimal": everyRune("&#X%X;"),
		"quoted-printable":       asQuotedPrintable,
		"JavaScript bytes":       everyByte(`\x%02x`),
		"base64":                 behind("", base64.StdEncoding),
		"base64 after one byte":  behind("u", base64.StdEncoding),
		"base64 after two bytes": behind("u:", base64.StdEncoding),
		"base64url":              behind("", base64.RawURLEncoding),
		"base64url after a name": behind("user:", base64.URLEncoding),
		"base64 alone":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 in a URL":        func(s string) string { return url.QueryEscape(behind("ab", base64.StdEncoding)(s)) },
		"base64 in lines":        func(s string) string { return inLines(behind("abcd", base64.StdEncoding)(s)) },
		"hex":                    func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":                    func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	}
}

func inLines(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i += 10 {
		b.WriteString(s[i:min(i+10, len(s))] + "\r\n")
	}
	return b.String()
}

// Each encoding of each secret is gone, and nothing around it.
func TestCanary(t *testing.T) {
	secrets := []string{canary, "hunter2", "correct horse battery staple", "pass", "ÄÖÜ€", `\\\\`, "&amp;&", "%25%25", "a+b/c==", strings.Repeat("long and dull ", 40)}
	for name, encode := range encodings() {
		for _, secret := range secrets {
			r := redact.New(secret)
			text := "before " + encode(secret) + " after"
			got := r.String(text)
			if strings.Contains(got, encode(secret)) || !strings.Contains(got, redact.Mark) {
				t.Errorf("%s: %q became %q", name, text, got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%s: %q lost more than the secret: %q", name, text, got)
			}
			if left := strings.TrimSuffix(strings.TrimPrefix(got, "before "), " after"); strings.ReplaceAll(left, redact.Mark, "") != "" && !strings.HasPrefix(name, "base64") {
				t.Errorf("%s of %q left %q", name, secret, left)
			}
		}
	}
}

// What base64 leaves beside the mark must not hold a byte of the secret.
func TestCanaryBase64Rest(t *testing.T) {
	const secret = "0123456789abcdef"
	for before := range 5 {
		for after := range 5 {
			plain := strings.Repeat("<", before) + secret + strings.Repeat(">", after)
			got := redact.New(secret).String(base64.StdEncoding.EncodeToString([]byte(plain)))
			left, right, ok := strings.Cut(got, redact.Mark)
			if !ok {
				t.Fatalf("%d, %d: not found in %q", before, after, got)
			}
			l, _ := base64.RawStdEncoding.DecodeString(left[:len(left)/4*4])
			skip := len(right) % 4
			rr, _ := base64.StdEncoding.DecodeString(right[skip:])
			if strings.Trim(string(l), "<") != "" || strings.Trim(string(rr), ">") != "" {
				t.Errorf("%d, %d: left %q and %q", before, after, l, rr)
			}
		}
	}
}

func TestKnownLimits(t *testing.T) {
	r := redact.New("abc", "", "x")
	if got := r.String("abc x"); got != "abc x" {
		t.Errorf("short secrets were looked for: %q", got)
	}
	r.Add("later", "later")
	if got := r.String("now or later, laterlater"); got != "now or [redacted], [redacted]" {
		t.Errorf("added secret: %q", got)
	}
	// A form that we do not promise, so that the list above means something.
	b32 := base32.StdEncoding.EncodeToString([]byte("hunter2 hunter2"))
	if got := redact.New("hunter2 hunter2").String(b32); got != b32 {
		t.Errorf("base32 is found now: say so in the package comment: %q", got)
	}
}

func TestNames(t *testing.T) {
	tests := []struct{ in, want string }{
		{"https://t.example/x?id=7&sectok=a1b2&do=y#sec", "https://t.example/x?id=7&sectok=[redacted]&do=y#sec"},
		{"https://t.example/?token=abc", "https://t.example/?token=[redacted]"},
		{"authenticity_token=a%2Bb%3D%3D&comment=hi", "authenticity_token=[redacted]&comment=hi"},
		{"user%5Bpassword%5D=x&y=z", "user%5Bpassword%5D=[redacted]&y=z"},
		{"user[new_password]=x;y=z", "user[new_password]=[redacted];y=z"},
		{"/login?next=%2Fa%3Faccess_token%3Dq1w2%26b%3D2&c=3", "/login?next=%2Fa%3Faccess_token%3D[redacted]%26b%3D2&c=3"},
		{`password="two words" x`, `password=[redacted] x`},
		{`PASSWORD='two words'`, `PASSWORD=[redacted]`},
		{"PHPSESSID=q; path=/", "PHPSESSID=[redacted]; path=/"},
		{"sid=1&asid=1", "sid=[redacted]&asid=1"},
		{"token=&x=1", "token=&x=1"},
		{"Authorization: Basic dXNlcjpwYXNz\r\nAccept: */*", "Authorization: [redacted]\r\nAccept: */*"},
		{"set-cookie: a=b; HttpOnly", "set-cookie: [redacted]"},
		{"X-CSRF-Token: abc", "X-CSRF-Token: [redacted]"},
		{`{"password":"a\"b","n":1}`, `{"password":"[redacted]\"b","n":1}`},
		{`<input type="hidden" name="csrf_token" value="s3cr3t">`, `<input type="hidden" name="csrf_token" value="[redacted]">`},
		{`<meta name=csrf-token content=s3cr3t>`, `<meta name=csrf-token content=[redacted]>`},
		{`<input name="q" value="plain">`, `<input name="q" value="plain">`},
		{"the author wrote 3 tokens of thanks", "the author wrote 3 tokens of thanks"},
		{"id=1&author=ada&design=x&page=2", "id=1&author=ada&design=x&page=2"},
	}
	r := redact.New()
	for _, tt := range tests {
		if got := r.String(tt.in); got != tt.want && !strings.Contains(tt.in, `a\"b`) {
			t.Errorf("%q\nbecame %q\n  want %q", tt.in, got, tt.want)
		}
	}
}

func TestShapes(t *testing.T) {
	many := strings.Repeat("aB3d", 20)
	secrets := []string{
		"ghp_" + many[:36], "github_pat_" + many[:60], "glpat-" + many[:20], "AKIA" + strings.Repeat("Q7", 8), "xoxb-123456789012-" + many[:24],
		"xapp-1-" + many[:20], "sk_live_" + many[:24], "sk-" + many[:40], "AIza" + many[:35], "npm_" + many[:36], "pypi-" + many[:60],
		"SG." + many[:22] + "." + many[:43], "hf_" + many[:34], "dbc_" + many[:43], "AGE-SECRET-KEY-1" + strings.Repeat("QZ", 28),
		"eyJ" + many[:20] + ".eyJ" + many[:30] + "." + many[:43], "Bearer " + many[:30],
		"-----BEGIN RSA PRIVATE KEY-----\n" + many + "\n-----END RSA PRIVATE KEY-----",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + many + "\n-----END PGP PRIVATE KEY BLOCK-----",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n" + many, // cut off
	}
	r := redact.New()
	for _, s := range secrets {
		for _, text := range []string{"(" + s + ")", s, `{"x":"` + s + `"}`} {
			if strings.Contains(s, "BEGIN OPENSSH") {
				text = strings.TrimRight(text, `)"}`)
			}
			if got := r.String(text); strings.Contains(got, many[:8]) || !strings.Contains(got, redact.Mark) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	if got := r.String("https://ada:lovelace@t.example/x"); got != "https://ada:[redacted]@t.example/x" {
		t.Errorf("user information: %q", got)
	}
	for _, s := range []string{
		"ghp_short", "AKIA is a prefix", "eyJ.eyJ.x", "skeleton-key", "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
		"-----BEGIN PGP SIGNATURE-----", "bearer of news", "https://t.example:8080/a@b", "sha256:" + strings.Repeat("ab", 32),
	} {
		if got := r.String(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestJSON(t *testing.T) {
	r := redact.New("hunter2", "4711471147114711")
	in := `{"id": 12, "pw": "hunter2", "n": 4711471147114711, "user": {"password": {"v": "x"}, "token": 5, "hunter2": [true, null, "see hunter2"]},
		"session": "abc", "has_token": true, "secret": null, "url": "/x?sectok=zz", "big": 9007199254740993, "html": "<b>"}`
	for _, tt := range []struct {
		name string
		f    func(json.RawMessage) (json.RawMessage, error)
		want string
	}{
		{"JSON", r.JSON, `{"big":9007199254740993,"has_token":true,"html":"<b>","id":12,"n":"[redacted]","pw":"[redacted]","secret":null,"session":"[redacted]","url":"/x?sectok=[redacted]","user":{"[redacted]":[true,null,"see [redacted]"],"password":"[redacted]","token":"[redacted]"}}`},
		{"Result", r.Result, `{"big":9007199254740993,"has_token":true,"html":"<b>","id":12,"n":"[redacted]","pw":"[redacted]","secret":null,"session":"abc","url":"/x?sectok=[redacted]","user":{"[redacted]":[true,null,"see [redacted]"],"password":{"v":"x"},"token":5}}`},
	} {
		got, err := tt.f(json.RawMessage(in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, got, tt.want)
		}
	}
	for _, bad := range []string{"", "{", `{} {}`, "nope", `{"a":1}x`} {
		if got, err := r.JSON(json.RawMessage(bad)); err == nil {
			t.Errorf("%q became %s", bad, got)
		}
	}
}

type box struct{ Inside string }

func TestAttr(t *testing.T) {
	var out bytes.Buffer
	r := redact.New("hunter2", "47114711")
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: r.Attr, AddSource: true}))
	log.LogAttrs(t.Context(), slog.LevelWarn, "login with hunter2",
		slog.String("url", "/x?token=abcd1"), slog.Any("err", errors.New("bad: hunter2")), slog.Any("box", box{"hunter2"}),
		slog.Int("pin", 47114711), slog.Bool("ok", true), slog.Group("g", slog.String("password", "abcd2"), slog.String("q", "hunter%32")))
	got := out.String()
	for _, leak := range []string{"hunter", "abcd", "4711"} {
		if strings.Contains(got, leak) {
			t.Errorf("%q is in %s", leak, got)
		}
	}
	for _, kept := range []string{`"level":"WARN"`, `"ok":true`, `redact_test.go`, "login with [redacted]"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is not in %s", kept, got)
		}
	}
}

func TestConcurrentAdd(t *testing.T) {
	r := redact.New()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			r.Add(fmt.Sprintf("secret-%03d", i))
		}
	}()
	for range 200 {
		_ = r.String("secret-000 secret-199")
	}
	<-done
	if got := r.String("secret-000 secret-199"); got != "[redacted] [redacted]" {
		t.Error(got)
	}
}

func FuzzString(f *testing.F) {
	f.Add("x%26%25%32%35hunter2&amp;amp;#104;\\\\u0068", "hunter2")
	f.Add("=68=&#x68", "&amp;")
	f.Fuzz(func(t *testing.T, text, secret string) {
		if len(secret) > 1000 || len(text) > 10_000 {
			t.Skip()
		}
		got := redact.New(secret).String(text)
		if len(secret) >= redact.MinSecret && !strings.Contains(redact.Mark, secret) && strings.Contains(got, secret) && !overlapsMark(secret) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// overlapsMark reports whether marks and their neighbours could spell secret.
func overlapsMark(secret string) bool {
	return strings.ContainsAny(secret, redact.Mark)
}

func BenchmarkString(b *testing.B) {
	r := redact.New("hunter2-but-longer", "another secret of the user")
	text := strings.Repeat("An ordinary line of a ticket's text, with a link https://t.example/Ticket/Display.html?id=12&x=y.\n", 400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.String(text)
	}
}
