package redact

import (
	"regexp"
	"slices"
	"strings"
)

// telling lists the parts of names that tell of a secret.
func telling() []string {
	return []string{
		"token", "sectok", "csrf", "xsrf", "password", "passwd", "passphrase", "passcode", "pwd", "secret",
		"session", "sessid", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key",
		"privatekey", "private_key", "private-key", "credential", "authorization", "cookie", "signature",
	}
}

// exact lists the names that tell of a secret only as a whole.
func exact() []string { return []string{"auth", "sid", "sig", "jwt", "otp", "pass"} }

// Sensitive reports whether a value under this name is to be taken for a
// secret, such as authenticity_token, sectok, or newPassword.
func Sensitive(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains(exact(), name) {
		return true
	}
	return slices.ContainsFunc(telling(), func(part string) bool { return strings.Contains(name, part) })
}

// nameRules find values under telling names in URLs and forms, in JSON within
// text, in headers, and in the fields of an HTML page.
func nameRules() []rule {
	field := regexp.MustCompile(`(?i)<(?:input|meta|option|button)\b[^>]*>`)
	named := regexp.MustCompile(`(?i)\b(?:name|id)\s*=\s*["']?([^\s"'>]+)`)
	value := regexp.MustCompile(`(?i)\b(?:value|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	return []rule{
		{byName: true, find: findPairs},
		{byName: true, find: findMembers},
		{byName: true, find: findHeaders},
		{byName: true, needs: []string{"<"}, find: func(s string) []span {
			var found []span
			for _, at := range field.FindAllStringIndex(s, -1) {
				tag := s[at[0]:at[1]]
				telling := slices.ContainsFunc(groups(named, tag), func(n span) bool { return Sensitive(tag[n.from:n.to]) })
				if !telling {
					continue
				}
				for _, v := range groups(value, tag) {
					found = append(found, span{at[0] + v.from, at[0] + v.to})
				}
			}
			return found
		}},
	}
}

// findPairs finds the values of name=value, where = may be escaped for a URL.
func findPairs(s string) []span {
	var found []span
	for _, equals := range []string{"=", "%3D", "%3d", "%253D"} {
		for at := 0; ; {
			i := strings.Index(s[at:], equals)
			if i < 0 {
				break
			}
			name := nameBefore(s[:at+i])
			at += i + len(equals)
			if n := valueLen(s[at:]); n > 0 && Sensitive(name) {
				found = append(found, span{at, at + n})
			}
		}
	}
	return found
}

// nameBefore returns the name that s ends with.
func nameBefore(s string) string {
	from := len(s)
	for from > 0 && len(s)-from < 128 && (isBase64(s[from-1]) && s[from-1] != '/' && s[from-1] != '+' || strings.IndexByte("%.[]", s[from-1]) >= 0) {
		from--
	}
	name := s[from:]
	for _, end := range []string{"%26", "%3D", "%3d", "%3F", "%3f", "%2F", "%2f"} { // the URL within the URL
		if i := strings.LastIndex(name, end); i >= 0 {
			name = name[i+len(end):]
		}
	}
	return name
}

// valueLen is the length of the value that s begins with: up to the end of the
// quotes, or to what ends a value in a URL, a form or a cookie.
func valueLen(s string) int {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return end + 2
		}
	}
	end := strings.IndexAny(s, "&;#, \t\r\n\"'<>()\\")
	if end < 0 {
		end = len(s)
	}
	if i := strings.Index(s[:end], "%26"); i >= 0 { // the URL within the URL
		end = i
	}
	return end
}

// findMembers finds the string values of "name": "value", where the quotes may
// be escaped.
func findMembers(s string) []span {
	var found []span
	for at := 0; ; {
		i := strings.IndexByte(s[at:], ':')
		if i < 0 {
			return found
		}
		key := strings.TrimRight(s[at:at+i], " \t\r\n")
		at += i + 1
		value := strings.TrimLeft(s[at:], " \t\r\n")
		quote := value[:len(value)-len(strings.TrimLeft(value, `\`))] + `"`
		if !strings.HasPrefix(value, quote) || !strings.HasSuffix(key, quote) {
			continue
		}
		key = strings.TrimSuffix(key, quote)
		if !Sensitive(key[strings.LastIndexByte(key, '"')+1:]) {
			continue
		}
		from := len(s) - len(value) + len(quote)
		found = append(found, span{from, from + stringLen(s[from:], quote)})
	}
}

// stringLen is the length of a string's inside, up to its closing quote.
func stringLen(s, quote string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], quote)
		if i < 0 {
			return len(s)
		}
		at += i
		escapes := at - len(strings.TrimRight(s[:at], `\`))
		if escapes%2 == 0 || len(quote) > 1 {
			return at
		}
		at++
	}
}

// findHeaders finds the values of headers that carry credentials.
func findHeaders(s string) []span {
	var found []span
	for at := 0; ; {
		i := strings.IndexByte(s[at:], ':')
		if i < 0 {
			return found
		}
		name := strings.ToLower(nameBefore(s[:at+i]))
		at += i + 1
		if !isCredentialHeader(name) {
			continue
		}
		from := len(s) - len(strings.TrimLeft(s[at:], " \t"))
		n := strings.IndexAny(s[from:], "\r\n")
		if n < 0 {
			n = len(s) - from
		}
		if n > 0 {
			found = append(found, span{from, from + n})
		}
	}
}

// credentialHeaders are what the names of all headers that isCredentialHeader
// knows hold, in lower case.
func credentialHeaders() []string { return []string{"authorization", "cookie", "x-"} }

func isCredentialHeader(name string) bool {
	switch strings.TrimPrefix(name, "proxy-") {
	case "authorization", "cookie", "set-cookie":
		return true
	}
	return strings.HasPrefix(name, "x-") && (Sensitive(name) || strings.HasSuffix(name, "-key") || strings.HasSuffix(name, "-auth"))
}

// groups returns what the groups of re match, if it is not empty.
func groups(re *regexp.Regexp, s string) []span {
	var found []span
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 && m[i] < m[i+1] {
				found = append(found, span{m[i], m[i+1]})
			}
		}
	}
	return found
}
