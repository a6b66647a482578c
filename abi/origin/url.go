package origin

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nlnwa/whatwg-url/url"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// maxURL bounds a URL in bytes.
const maxURL = 64 << 10

// A URL is an absolute URL with a host, as a browser parses and serialises it:
// host in lower case and A-labels, IPv4 in four decimal numbers, dot segments
// resolved. It is an immutable value and can be compared with ==; the zero URL
// is no address and matches nothing.
type URL struct {
	scheme   string
	host     string
	port     int
	path     string
	query    string
	fragment string
	href     string
}

// ParseURL parses an absolute http or https URL. Other schemes are taken only
// where more names them ("ws", "wss"). It refuses userinfo, control characters,
// bytes that are not UTF-8 and more than 64 KiB.
func ParseURL(raw string, more ...string) (URL, error) {
	if err := checkRaw(raw); err != nil {
		return URL{}, fmt.Errorf("invalid URL %q: %w", shorten(raw), err)
	}
	u, err := parse(raw)
	if err != nil {
		return URL{}, fmt.Errorf("invalid URL %q: %w", shorten(raw), err)
	}
	if s := u.Scheme(); s != "http" && s != "https" && !slices.Contains(more, s) {
		return URL{}, fmt.Errorf("URL %q has the scheme %q, only http and https are allowed", shorten(raw), s)
	}
	if u.Username() != "" || u.Password() != "" {
		return URL{}, errors.New("the URL holds a user name or password, which is never allowed")
	}
	return fromParsed(u), nil
}

func fromParsed(u *url.Url) URL {
	port := defaultPort(u.Scheme())
	if p, err := strconv.Atoi(u.Port()); err == nil {
		port = p // not DecodedPort, which takes port 0 for the default
	}
	return URL{
		scheme:   u.Scheme(),
		host:     u.Hostname(),
		port:     port,
		path:     u.Pathname(),
		query:    u.Query(),
		fragment: u.Fragment(),
		href:     u.Href(false),
	}
}

// Scheme returns the scheme in lower case, without a colon.
func (u URL) Scheme() string { return u.scheme }

// Host returns the host without a port; an IPv6 address stands in brackets.
func (u URL) Host() string { return u.host }

// Port returns the port that is connected to, given or default.
func (u URL) Port() int { return u.port }

// Path returns the path as it is sent, percent-encoded.
func (u URL) Path() string { return u.path }

// RawQuery returns what stands after the question mark, percent-encoded.
func (u URL) RawQuery() string { return u.query }

// Fragment returns what stands after the number sign, percent-encoded.
func (u URL) Fragment() string { return u.fragment }

// String returns the URL as a browser serialises it.
func (u URL) String() string { return u.href }

// Origin returns the URL's origin.
func (u URL) Origin() Origin {
	if u.host == "" {
		return ""
	}
	if u.port == defaultPort(u.scheme) {
		return Origin(u.scheme + "://" + u.host)
	}
	return Origin(fmt.Sprintf("%s://%s:%d", u.scheme, u.host, u.port))
}

// IsIP reports whether the host is an address rather than a name.
func (u URL) IsIP() bool {
	_, err := netip.ParseAddr(strings.Trim(u.host, "[]"))
	return err == nil
}

func defaultPort(scheme string) int {
	switch scheme {
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	}
	return 0
}

// checkRaw refuses what a browser would drop or repair without a word.
func checkRaw(raw string) error {
	if len(raw) > maxURL {
		return fmt.Errorf("%d bytes, limit %d", len(raw), maxURL)
	}
	if !utf8.ValidString(raw) {
		return errors.New("not UTF-8")
	}
	if strings.ContainsFunc(raw, isControl) {
		return errors.New("it holds a control character")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// parse applies the WHATWG parser, mended where it differs from browsers in the
// host.
func parse(raw string) (*url.Url, error) {
	p := url.NewParser(url.WithPreParseHostFunc(func(_ *url.Url, host string) string {
		if !sameHostEverywhere(host) {
			return "|" // forbidden in every host, so that the parser fails
		}
		return host
	}))
	u, err := p.Parse(raw)
	if err != nil {
		return nil, errors.New("a browser would not open it")
	}
	if defaultPort(u.Scheme()) == 0 {
		return u, nil // the caller refuses it by its scheme
	}
	if u.Hostname() == "" {
		return nil, errors.New("it has no host")
	}
	if u.IsIPv4() && !spelledAsIPv4(raw, p, u) {
		return nil, errors.New("the address has a sign")
	}
	return u, nil
}

// sameHostEverywhere reports whether the library and browsers agree on a host as
// it was written.
//
// BUG(whatwg-url): surplus brackets around an IPv6 address are dropped, and the
// capital sharp s maps to ss, as it did before Unicode 15.1, and not to ß.
func sameHostEverywhere(host string) bool {
	if strings.HasPrefix(host, "[") {
		return strings.Count(host, "[") == 1 && strings.Count(host, "]") == 1
	}
	return !strings.ContainsRune(unescapeLax(host), 'ẞ')
}

// spelledAsIPv4 reports whether an address was written in digits alone.
//
// BUG(whatwg-url): it takes 127.0.0.+1 and 127.0.0.-1 for addresses, because
// strconv takes a sign. The host is parsed again with a letter behind it, so that
// it stays a name and shows how it was written.
func spelledAsIPv4(raw string, p url.Parser, u *url.Url) bool {
	start := strings.IndexByte(raw, ':') + 1
	rest := strings.TrimLeft(raw[start:], `/\`)
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		host = host[:colon]
	}
	named, err := p.Parse(u.Scheme() + "://" + strings.TrimSuffix(host, ".") + ".x/")
	if err != nil {
		return false
	}
	return !strings.ContainsAny(named.Hostname(), "+-")
}

// unescapeLax decodes what is percent-encoded and leaves the rest, as browsers
// treat a host.
func unescapeLax(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c, ok := hexByte(s[i:]); ok {
			out = append(out, c)
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// hexByte reads %XX at the start of s.
func hexByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	hi, ok1 := hexDigit(s[1])
	lo, ok2 := hexDigit(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// shorten bounds what an error repeats of a hostile value.
func shorten(s string) string { return abi.Shorten(s, 120) }
