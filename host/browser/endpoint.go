package browser

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// portFile is where a browser that was started with --remote-debugging-port
// says where it listens: the port, and the path of its own endpoint.
const portFile = "DevToolsActivePort"

// maxPortFile bounds what is read of it; Chromium writes some sixty bytes.
const maxPortFile = 512

// An Endpoint is where a running browser listens, on this machine.
type Endpoint struct {
	Port uint16
	Path string // /devtools/browser/ and an id that is made anew at each start
}

// URL is the endpoint's address. The name "localhost" is never looked up.
func (e Endpoint) URL() string { return "ws://127.0.0.1:" + strconv.Itoa(int(e.Port)) + e.Path }

// ParseEndpoint reads the address that a browser prints when it starts: ws, this
// machine, a port, and the path of the browser itself. Any other host is refused,
// because the protocol has neither encryption nor a password.
func ParseEndpoint(raw string) (Endpoint, error) {
	bad := func(why string) (Endpoint, error) {
		return Endpoint{}, abi.Errorf(abi.ErrInvalidArgs, "attach", "%q %s", abi.Shorten(raw, 200), why).
			WithHint("give the address that the browser prints, ws://127.0.0.1:PORT/devtools/browser/ID, or --attach-profile DIR")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return bad("is not a URL")
	case u.Scheme != "ws":
		return bad("is not a ws URL")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.RawPath != "":
		return bad("holds more than host, port and path")
	case !loopback(u.Hostname()):
		return bad("is not on this machine")
	case !endpointPath(u.Path):
		return bad("does not end in /devtools/browser/ and the browser's id")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return bad("has no port")
	}
	return Endpoint{Port: uint16(port), Path: u.Path}, nil
}

// loopback accepts the one address that a browser listens on, and its name.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a == netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// endpointPath accepts /devtools/browser/ and a GUID.
func endpointPath(path string) bool {
	id, ok := strings.CutPrefix(path, "/devtools/browser/")
	if !ok || len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// FindEndpoint reads where the browser of a profile listens, from the file that
// it wrote there. The file must be the user's own and no link, since whoever
// could write it would choose which program we talk to.
func FindEndpoint(profile string) (Endpoint, error) {
	path := filepath.Join(profile, portFile)
	if !filepath.IsAbs(profile) {
		return Endpoint{}, abi.Errorf(abi.ErrInvalidArgs, "attach", "the profile directory %q is not absolute", profile)
	}
	f, err := openOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, noPort(profile)
	}
	if err != nil {
		return Endpoint{}, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	e, err := readEndpoint(f)
	if err != nil {
		return Endpoint{}, abi.Errorf(abi.ErrBrowserGone, "attach", "%q does not say where a browser listens: %w", path, err).
			WithHint("restart the browser")
	}
	return e, nil
}

// openOwn opens a regular file of the user's that nobody else may write to.
func openOwn(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !ownFile(info) {
		return nil, abi.Errorf(abi.ErrCapabilityDenied, "attach", "%q is not a file that belongs to you alone", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading where the browser listens: %w", err)
	}
	now, err := f.Stat()
	if err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(abi.Errorf(abi.ErrCapabilityDenied, "attach", "%q was replaced meanwhile", path), f.Close())
	}
	return f, nil
}

// readEndpoint reads two lines: port and path.
func readEndpoint(r io.Reader) (Endpoint, error) {
	s := bufio.NewScanner(io.LimitReader(r, maxPortFile))
	var lines []string
	for s.Scan() && len(lines) < 3 {
		lines = append(lines, s.Text())
	}
	if err := s.Err(); err != nil {
		return Endpoint{}, err
	}
	if len(lines) != 2 {
		return Endpoint{}, fmt.Errorf("%d lines, not a port and a path", len(lines))
	}
	port, err := strconv.ParseUint(lines[0], 10, 16)
	if err != nil || port == 0 {
		return Endpoint{}, fmt.Errorf("%q is no port", abi.Shorten(lines[0], 40))
	}
	if !endpointPath(lines[1]) {
		return Endpoint{}, fmt.Errorf("%q is no browser's path", abi.Shorten(lines[1], 80))
	}
	return Endpoint{Port: uint16(port), Path: lines[1]}, nil
}

// noPort says why a profile's browser may not be listening.
//
// BUG(chrome): from version 136 on it ignores --remote-debugging-port if the
// profile is the default one, without a word.
func noPort(profile string) error {
	if isDefaultProfile(profile) {
		return abi.Errorf(abi.ErrBrowserGone, "attach", "no browser listens in %q, which is a default profile: from Chrome 136 on it ignores --remote-debugging-port there", profile).
			WithHint("switch on remote debugging at chrome://inspect/#remote-debugging (Chrome 144), or start the browser with --remote-debugging-port=0 --user-data-dir=DIR, DIR being another directory")
	}
	return abi.Errorf(abi.ErrBrowserGone, "attach", "no browser listens in %q", profile).
		WithHint("start it with --remote-debugging-port=0 --user-data-dir=%s", profile)
}

// isDefaultProfile reports whether a browser uses the directory when nobody
// tells it which.
func isDefaultProfile(profile string) bool {
	base, err := os.UserConfigDir()
	if err != nil {
		return false
	}
	if local := os.Getenv("LOCALAPPDATA"); local != "" {
		base = local
	}
	rel, err := filepath.Rel(base, filepath.Clean(profile))
	if err != nil {
		return false
	}
	switch filepath.ToSlash(rel) {
	case "google-chrome", "google-chrome-beta", "google-chrome-unstable", "chromium", "microsoft-edge", "BraveSoftware/Brave-Browser",
		"Google/Chrome", "Google/Chrome Beta", "Google/Chrome Canary", "Chromium", "Microsoft Edge",
		"Google/Chrome/User Data", "Google/Chrome Beta/User Data", "Chromium/User Data", "Microsoft/Edge/User Data":
		return true
	}
	return false
}
