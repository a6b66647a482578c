package platform

import (
	"fmt"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// HomeVar is the environment variable that puts everything drawbridge keeps
// into one directory. Its value must be an absolute path.
const HomeVar = "DRAWBRIDGE_HOME"

// Dirs says where things are kept. The examples are Linux, without XDG
// variables, for the user ada; nothing is created by asking.
type Dirs struct {
	config, data, state, cache, runtime string
}

// NewDirs works out the directories from the environment that getenv reads
// ([os.Getenv]). DRAWBRIDGE_HOME wins over everything; otherwise the system's
// own convention holds. It fails if there is no home directory, or if
// DRAWBRIDGE_HOME is not absolute.
func NewDirs(getenv func(string) string) (Dirs, error) {
	home := getenv(HomeVar)
	if home == "" {
		return systemDirs(getenv)
	}
	if !filepath.IsAbs(home) {
		return Dirs{}, abi.Errorf(abi.ErrInvalidArgs, "", "%s is %q, which is not an absolute path", HomeVar, home).
			WithHint("export %s=\"$PWD\"/%s", HomeVar, ShellQuote(home))
	}
	return under(filepath.Clean(home)), nil
}

// under keeps everything below one directory.
func under(home string) Dirs {
	return Dirs{
		config:  filepath.Join(home, "config"),
		data:    filepath.Join(home, "data"),
		state:   filepath.Join(home, "state"),
		cache:   filepath.Join(home, "cache"),
		runtime: filepath.Join(home, "run"),
	}
}

// xdgDirs follows the XDG base directory specification, which says that a
// relative path in one of its variables is to be ignored.
func xdgDirs(getenv func(string) string) (Dirs, error) {
	home := getenv("HOME")
	base := func(name, fallback string) string {
		if v := getenv(name); filepath.IsAbs(v) {
			return filepath.Join(v, "drawbridge")
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, fallback, "drawbridge")
	}
	d := Dirs{
		config: base("XDG_CONFIG_HOME", ".config"),
		data:   base("XDG_DATA_HOME", ".local/share"),
		state:  base("XDG_STATE_HOME", ".local/state"),
		cache:  base("XDG_CACHE_HOME", ".cache"),
	}
	if d.config == "" || d.data == "" || d.state == "" || d.cache == "" {
		return Dirs{}, noHome("HOME")
	}
	d.runtime = filepath.Join(d.state, "run")
	if v := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(v) {
		d.runtime = filepath.Join(v, "drawbridge")
	}
	return d, nil
}

func noHome(name string) error {
	return abi.Errorf(abi.ErrInvalidArgs, "", "there is no home directory: %s is not set", name).
		WithHint("export %s=/path/to/a/directory", HomeVar)
}

// Create makes the five directories, each for its owner alone, and checks
// those that exist.
func (d Dirs) Create() error {
	for _, dir := range []string{d.config, d.data, d.state, d.cache, d.runtime} {
		if err := CreateDir(dir); err != nil {
			return fmt.Errorf("preparing directories: %w", err)
		}
	}
	return nil
}

// Config is for what the user decides, e.g. /home/ada/.config/drawbridge.
func (d Dirs) Config() string { return d.config }

// Data is for what was installed, e.g. /home/ada/.local/share/drawbridge.
func (d Dirs) Data() string { return d.data }

// State is for what was recorded, e.g. /home/ada/.local/state/drawbridge.
func (d Dirs) State() string { return d.state }

// Cache is for what can be made again, e.g. /home/ada/.cache/drawbridge.
func (d Dirs) Cache() string { return d.cache }

// Runtime is for sockets, e.g. /run/user/1000/drawbridge. Two shells of one
// user may disagree about it (cron has no XDG_RUNTIME_DIR), so that only the
// daemon asks; everybody else reads the socket's path in the lock file.
func (d Dirs) Runtime() string { return d.runtime }

// ConfigFile is e.g. /home/ada/.config/drawbridge/config.yaml.
func (d Dirs) ConfigFile() string { return filepath.Join(d.config, "config.yaml") }

// ClientsFile holds the MCP clients' registrations, e.g.
// /home/ada/.config/drawbridge/clients.json.
func (d Dirs) ClientsFile() string { return filepath.Join(d.config, "clients.json") }

// SettingsFile holds plugins' settings, e.g. /home/ada/.config/drawbridge/settings.json.
func (d Dirs) SettingsFile() string { return filepath.Join(d.config, "settings.json") }

// Registries holds pinned registries, e.g. /home/ada/.local/share/drawbridge/registries.
func (d Dirs) Registries() string { return filepath.Join(d.data, "registries") }

// Connectors holds installed releases, e.g. /home/ada/.local/share/drawbridge/connectors.
func (d Dirs) Connectors() string { return filepath.Join(d.data, "connectors") }

// Keys holds authors' and maintainers' keys, e.g. /home/ada/.local/share/drawbridge/keys.
func (d Dirs) Keys() string { return filepath.Join(d.data, "keys") }

// Profile is the browser's own, e.g. /home/ada/.local/share/drawbridge/profile.
func (d Dirs) Profile() string { return filepath.Join(d.data, "profile") }

// LockFile makes the daemon the only one, e.g. /home/ada/.local/state/drawbridge/daemon.lock.
func (d Dirs) LockFile() string { return filepath.Join(d.state, "daemon.lock") }

// Journal is the daemon's log, e.g. /home/ada/.local/state/drawbridge/drawbridge.log.
func (d Dirs) Journal() string { return filepath.Join(d.state, "drawbridge.log") }

// LogFile takes what the daemon says beside its log, when it can't start or is
// about to die, e.g. /home/ada/.local/state/drawbridge/daemon.log.
func (d Dirs) LogFile() string { return filepath.Join(d.state, "daemon.log") }

// AuditLog is e.g. /home/ada/.local/state/drawbridge/audit.db.
func (d Dirs) AuditLog() string { return filepath.Join(d.state, "audit.db") }

// AuditKey is e.g. /home/ada/.config/drawbridge/audit.key: not beside the log,
// so that a copy of the one is not a copy of both.
func (d Dirs) AuditKey() string { return filepath.Join(d.config, "audit.key") }

// Compiled holds compiled modules, e.g. /home/ada/.cache/drawbridge/compiled.
func (d Dirs) Compiled() string { return filepath.Join(d.cache, "compiled") }

// Socket is the control socket, e.g. /run/user/1000/drawbridge/control.sock.
func (d Dirs) Socket() string { return filepath.Join(d.runtime, "control.sock") }
