package registry

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A transport is how Git reaches a registry.
type transport string

const (
	overHTTPS transport = "https"
	overSSH   transport = "ssh"
	fromFile  transport = "file" // a path that the user typed
)

// An address is where a registry's Git repository is. Only parseAddress makes
// one, from what the user typed; no metadata ever does.
type address struct {
	url string // as the git program gets it
	via transport
}

// scpLike matches "user@host:path", the form of ssh addresses without a scheme.
var scpLike = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^:]+$`)

// userName and hostName match what may stand in a URL. Beyond them url.Parse lets
// through what a shell reads as a command, and ssh's configuration of the user may
// put a host's name into one (ProxyCommand); in its own form an address is held to
// the like by scpLike.
var (
	userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	hostName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*|[0-9A-Fa-f:.]+)$`)
)

// masked is an address without what may be a secret in it, for messages: whatever
// stands before its last @, since nothing says where a password that was written
// in the wrong form begins.
func masked(s string) string {
	end := strings.LastIndexByte(s, '@')
	if end < 0 {
		return s
	}
	scheme, _, ok := strings.Cut(s[:end], "://")
	if !ok {
		return "…" + s[end:]
	}
	return scheme + "://…" + s[end:]
}

// CheckAddress says what is wrong with a registry's address before anybody is
// asked anything.
func CheckAddress(s string) error {
	_, err := parseAddress(s)
	return err
}

// parseAddress accepts https and ssh addresses and paths of this machine. Git
// itself knows more, such as ext::, which runs a command.
func parseAddress(s string) (address, error) {
	refused := func(why string) (address, error) {
		return address{}, abi.Errorf(abi.ErrInvalidArgs, "", "registry address %q: %s", masked(s), why).
			WithHint("drawbridge registry add https://HOST/PATH.git FINGERPRINT")
	}
	switch {
	case s == "" || len(s) > 2000:
		return refused("it is empty or too long")
	case strings.HasPrefix(s, "-"):
		return refused("it begins with a dash")
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return refused("it holds a control character")
	case strings.Contains(s, "://"):
		return parseURL(s, refused)
	case scpLike.MatchString(s):
		return address{s, overSSH}, nil
	case strings.Contains(s, "::"):
		return refused("this kind of address isn't allowed")
	case filepath.IsAbs(s) || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../"):
		abs, err := filepath.Abs(s)
		if err != nil {
			return refused("the path can't be made absolute")
		}
		return address{abs, fromFile}, nil
	}
	return refused("want an https or ssh URL, or a path that begins with / or ./")
}

func parseURL(s string, refused func(string) (address, error)) (address, error) {
	u, err := url.Parse(s)
	if err != nil || !hostName.MatchString(u.Hostname()) || u.RawQuery != "" || u.Fragment != "" {
		return refused("it isn't a URL of host and path")
	}
	if strings.ContainsFunc(u.Host+u.Path+u.User.Username(), unicode.IsControl) {
		return refused("it holds a control character") // a new line would say more to a credential helper
	}
	switch u.Scheme {
	case "https":
		if u.User != nil {
			return refused("it holds a user name or password")
		}
		return address{s, overHTTPS}, nil
	case "ssh":
		if _, secret := u.User.Password(); secret {
			return refused("it holds a password")
		}
		if u.User != nil && !userName.MatchString(u.User.Username()) {
			return refused("its user name holds more than letters, digits, dots, dashes and underscores")
		}
		return address{s, overSSH}, nil
	}
	return refused("want https or ssh")
}
