package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A fetch over https needs a few things that only the user's own git knows: which
// credential helpers there are, the proxy, and certificates of the user's company.
// They are read from the system's and the user's configuration by this list and
// nothing else of it is taken: no rewritten addresses, no headers, no switch that
// turns checks off. Helpers run as git runs them; what they answer goes from them
// to git, and drawbridge neither sees nor keeps it.

// userKeys are the settings that are taken, without the address that may stand in
// the middle of their names.
func userKeys() []string {
	return []string{
		"credential.helper", "credential.username", "credential.usehttppath",
		"http.proxy", "http.proxyauthmethod", "http.sslcainfo", "http.sslcapath",
	}
}

// A setting is one entry of a git configuration.
type setting struct{ key, value string }

// maxSettings bounds what is taken.
const maxSettings = 200

// userSettings returns the environment that gives a run the user's settings. They
// are not on the command line, which others can read: a proxy may have a password.
func userSettings(ctx context.Context) ([]string, error) {
	taken := []setting{{"credential.helper", ""}} // none but those that follow
	for _, scope := range []string{"--system", "--global"} {
		list, err := readSettings(ctx, scope)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if name, ok := takenKey(s.key); ok && len(taken) < maxSettings {
				if name == "credential.helper" {
					s.value = helperCommand(s.value, os.Getenv)
				}
				taken = append(taken, s)
			}
		}
	}
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(taken))}
	for i, s := range taken {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	// What helpers need to find the user's keyring.
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY", "USER", "LOGNAME"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env, nil
}

// takenKey reports whether a setting is on the list, and under which name.
func takenKey(key string) (string, bool) {
	section, rest, ok := strings.Cut(key, ".")
	if !ok {
		return "", false
	}
	last := rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		last = rest[i+1:]
	}
	name := strings.ToLower(section + "." + last)
	for _, k := range userKeys() {
		if k == name {
			return k, true
		}
	}
	return "", false
}

// helperCommand is a credential helper that finds the user's home, which git
// itself must not, for it would read .netrc there, and that has as much memory as
// it wants.
func helperCommand(value string, getenv func(string) string) string {
	home := getenv("HOME")
	if value == "" || home == "" {
		return value // an empty one forgets those before it
	}
	before := "!ulimit -S -v unlimited 2>/dev/null; export HOME=" + quote(home) + "; "
	switch {
	case strings.HasPrefix(value, "!"):
		return before + value[1:]
	case filepath.IsAbs(value):
		return before + value
	}
	return before + "git credential-" + value
}

// quote makes s one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// readSettings lists one of the configurations that git has outside repositories.
// One that isn't there, or that can't be read, has nothing.
func readSettings(ctx context.Context, scope string) ([]setting, error) {
	cmd := exec.CommandContext(ctx, "git", "config", scope, "--includes", "--list", "--null")
	cmd.Dir = os.TempDir()
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "SystemRoot", "USERPROFILE", "ProgramData"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	inOwnGroup(cmd)
	out := &capped{}
	cmd.Stdout = out
	err := toEnd(cmd, hardLimits)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git config: %w", ctx.Err())
	case errors.As(err, &exit):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return parseSettings(out.Bytes()), nil
}

// parseSettings reads what git config --list --null prints. An entry without a
// value is true, and none that we take is.
func parseSettings(data []byte) (list []setting) {
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		key, value, ok := bytes.Cut(entry, []byte{'\n'})
		if ok && !bytes.ContainsAny(value, "\n\r") {
			list = append(list, setting{string(key), string(value)})
		}
	}
	return list
}
