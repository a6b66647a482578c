package origin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// maxPattern bounds a pattern in bytes.
const maxPattern = 512

// anyPort is the port of a pattern that ends in :*.
const anyPort = -1

// A Pattern is a match pattern such as https://*.example.com/docs/*. The zero
// Pattern matches nothing.
//
//	scheme   http, https, or * for both
//	host     a name, *.name for the name and every name under it, or an address
//	port     absent: the scheme's default; a number; or * for any
//	path     * stands for any characters; the query is not looked at
type Pattern struct {
	scheme string // "*": http or https
	host   string
	sub    bool // names under host too
	port   int  // 0: the scheme's default
	path   string
}

// ParsePattern parses a pattern. It refuses patterns that no reviewer could
// judge: a wildcard over everything, over a public suffix or over an address,
// userinfo, queries, and spellings that a browser would rewrite. A host in
// Unicode is stored, and shown, in A-labels.
func ParsePattern(raw string) (Pattern, error) {
	p, err := parsePattern(raw)
	if err != nil {
		return Pattern{}, fmt.Errorf("invalid match pattern %q: %w", shorten(raw), err)
	}
	return p, nil
}

func parsePattern(raw string) (Pattern, error) {
	if len(raw) > maxPattern {
		return Pattern{}, fmt.Errorf("%d bytes, limit %d", len(raw), maxPattern)
	}
	if err := checkRaw(raw); err != nil {
		return Pattern{}, err
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme != "http" && scheme != "https" && scheme != "*" {
		return Pattern{}, errors.New("it does not start with http://, https:// or *://")
	}
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return Pattern{}, errors.New("it has no path; end it with /*")
	}
	p := Pattern{scheme: scheme, path: rest[slash:]}
	host, port, err := splitPort(rest[:slash])
	if err != nil {
		return Pattern{}, err
	}
	if err := p.setPort(port); err != nil {
		return Pattern{}, err
	}
	if err := p.setHost(host); err != nil {
		return Pattern{}, err
	}
	return p, p.checkPath()
}

// splitPort separates host and port; an absent port is "".
func splitPort(s string) (host, port string, err error) {
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", errors.New("the IPv6 address is not closed")
		}
		host, s = s[:end+1], s[end+1:]
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, s = s[:i], s[i:]
	} else {
		return s, "", nil
	}
	if s == "" {
		return host, "", nil
	}
	if s[0] != ':' || len(s) == 1 {
		return "", "", fmt.Errorf("%q after the host is not a port", s)
	}
	return host, s[1:], nil
}

func (p *Pattern) setPort(port string) error {
	switch port {
	case "":
		return nil
	case "*":
		p.port = anyPort
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q is not a port", port)
	}
	if p.port = int(n); p.port == defaultPort(p.scheme) {
		p.port = 0
	}
	return nil
}

// setHost checks and stores the host in the spelling that browsers compare.
func (p *Pattern) setHost(host string) error {
	name, sub := strings.CutPrefix(host, "*.")
	switch {
	case name == "" || name == "*":
		return errors.New("it has no host")
	case strings.Contains(name, "*"):
		return errors.New("a wildcard in the host stands for whole labels at its start: *.example.com")
	case strings.ContainsAny(name, `@%\?# `):
		return errors.New("the host holds a character that no host has")
	}
	u, err := ParseURL("https://" + name + "/")
	if err != nil {
		return errors.New("the host is not valid")
	}
	if !u.IsIP() {
		if err := checkName(u.host); err != nil {
			return err
		}
	}
	if sub && u.IsIP() {
		return errors.New("an address has no subdomains")
	}
	if suffix, _ := publicsuffix.PublicSuffix(u.host); sub && suffix == u.host {
		return fmt.Errorf("%q is a public suffix: anyone may have a name under it", u.host)
	}
	p.host, p.sub = u.host, sub
	return nil
}

// checkName applies the rules of DNS, which browsers leave to the resolver.
func checkName(host string) error {
	if len(host) > 253 {
		return errors.New("the host is longer than 253 bytes")
	}
	for label := range strings.SplitSeq(host, ".") {
		switch {
		case label == "":
			return errors.New("the host has an empty label")
		case len(label) > 63:
			return errors.New("a label of the host is longer than 63 bytes")
		case label[0] == '-' || label[len(label)-1] == '-':
			return errors.New("a label of the host starts or ends with a hyphen")
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				return fmt.Errorf("%q in the host", c)
			}
		}
	}
	return nil
}

// checkPath asks for the spelling that a URL's path will have when it is compared.
func (p *Pattern) checkPath() error {
	if strings.ContainsAny(p.path, `?#\`) {
		return errors.New("a pattern has no query, fragment or backslash")
	}
	u, err := ParseURL("https://host" + p.path)
	if err != nil {
		return errors.New("the path is not valid")
	}
	if u.path != p.path {
		return fmt.Errorf("a browser writes the path as %q", u.path)
	}
	return nil
}

// Match reports whether the pattern covers the URL, path included.
func (p Pattern) Match(u URL) bool {
	return p.MatchOrigin(u) && glob(p.path, u.path)
}

// MatchOrigin reports whether the pattern covers the URL's origin. A permission
// is for the whole origin, because pages of one origin can read each other.
func (p Pattern) MatchOrigin(u URL) bool {
	if u.scheme != p.scheme && (p.scheme != "*" || u.scheme != "http" && u.scheme != "https") {
		return false
	}
	if p.host == "" || !p.matchHost(u.host) {
		return false
	}
	switch p.port {
	case anyPort:
		return true
	case 0:
		return u.port == defaultPort(u.scheme)
	}
	return u.port == p.port
}

// MatchHost reports whether the pattern covers a host, whatever its scheme and
// port: cookies are kept by host.
func (p Pattern) MatchHost(host string) bool { return p.host != "" && p.matchHost(host) }

// Origins lists the origins that the pattern names, without those that a wildcard
// stands for.
func (p Pattern) Origins() (list []Origin) {
	schemes := []string{p.scheme}
	if p.scheme == "*" {
		schemes = []string{"http", "https"}
	}
	for _, s := range schemes {
		text := s + "://" + p.host
		if p.port > 0 {
			text += ":" + strconv.Itoa(p.port)
		}
		if o, err := ParseOrigin(text); err == nil {
			list = append(list, o)
		}
	}
	return list
}

func (p Pattern) matchHost(host string) bool {
	if host == p.host {
		return true
	}
	above, ok := strings.CutSuffix(host, "."+p.host)
	return p.sub && ok && !strings.Contains("."+above+".", "..")
}

// String returns the pattern in the spelling that is compared: what a person is
// shown, IDN in A-labels.
func (p Pattern) String() string {
	var b strings.Builder
	b.WriteString(p.scheme + "://")
	if p.sub {
		b.WriteString("*.")
	}
	b.WriteString(p.host)
	switch p.port {
	case 0:
	case anyPort:
		b.WriteString(":*")
	default:
		b.WriteString(":" + strconv.Itoa(p.port))
	}
	return b.String() + p.path
}

// glob reports whether the pattern, in which * stands for any characters, covers
// the whole of s.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, last)
}

// Covers reports whether p covers every URL that q does. It may say no where only
// the paths' wildcards would show it.
func (p Pattern) Covers(q Pattern) bool {
	scheme := p.scheme == q.scheme || p.scheme == "*"
	host := p.host != "" && p.matchHost(q.host) && (p.sub || !q.sub)
	port := p.port == q.port || p.port == anyPort
	return scheme && host && port && (p.path == q.path || p.path == "/*")
}
