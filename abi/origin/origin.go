package origin

import (
	"fmt"
	"net/netip"
	"strings"
)

// An Origin is scheme://host or scheme://host:port, as browsers serialise it:
// https://tracker.example.com, http://127.0.0.1:8080. The empty Origin is none.
type Origin string

// ParseOrigin parses an http or https origin. It takes any spelling that a
// browser takes, with or without a final slash, and nothing behind it.
func ParseOrigin(raw string) (Origin, error) {
	u, err := ParseURL(raw)
	if err != nil {
		return "", err
	}
	if u.path != "/" || strings.ContainsAny(raw, "?#") {
		return "", fmt.Errorf("%q is not an origin: something follows the host", shorten(raw))
	}
	return u.Origin(), nil
}

// Loopback reports whether the origin is this machine: localhost, a name under
// .localhost, 127.0.0.0/8 or ::1.
func (o Origin) Loopback() bool {
	_, rest, ok := strings.Cut(string(o), "://")
	if !ok {
		return false
	}
	host := rest
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		host = rest[:i]
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return a.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Secure reports whether a browser treats the origin as trustworthy: https, or
// this machine.
func (o Origin) Secure() bool {
	return strings.HasPrefix(string(o), "https://") || o.Loopback()
}
