package platform_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDirsOnLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the paths are Linux's")
	}
	tests := []struct {
		name                                string
		env                                 []string
		config, data, state, cache, runtime string
	}{
		{
			"the convention",
			[]string{"HOME", "/home/ada"},
			"/home/ada/.config/drawbridge", "/home/ada/.local/share/drawbridge", "/home/ada/.local/state/drawbridge",
			"/home/ada/.cache/drawbridge", "/home/ada/.local/state/drawbridge/run",
		},
		{
			"all XDG variables",
			[]string{"XDG_CONFIG_HOME", "/c", "XDG_DATA_HOME", "/d", "XDG_STATE_HOME", "/s", "XDG_CACHE_HOME", "/k", "XDG_RUNTIME_DIR", "/run/user/7"},
			"/c/drawbridge", "/d/drawbridge", "/s/drawbridge", "/k/drawbridge", "/run/user/7/drawbridge",
		},
		{
			"a relative XDG variable is ignored",
			[]string{"HOME", "/home/ada", "XDG_CONFIG_HOME", "c", "XDG_RUNTIME_DIR", "run"},
			"/home/ada/.config/drawbridge", "/home/ada/.local/share/drawbridge", "/home/ada/.local/state/drawbridge",
			"/home/ada/.cache/drawbridge", "/home/ada/.local/state/drawbridge/run",
		},
		{
			"one home for all",
			[]string{"HOME", "/home/ada", "XDG_CONFIG_HOME", "/c", "DRAWBRIDGE_HOME", "/h/../x/"},
			"/x/config", "/x/data", "/x/state", "/x/cache", "/x/run",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := platform.NewDirs(env(tt.env...))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ what, got, want string }{
				{"config", d.Config(), tt.config},
				{"data", d.Data(), tt.data},
				{"state", d.State(), tt.state},
				{"cache", d.Cache(), tt.cache},
				{"runtime", d.Runtime(), tt.runtime},
				{"config file", d.ConfigFile(), tt.config + "/config.yaml"},
				{"clients file", d.ClientsFile(), tt.config + "/clients.json"},
				{"registries", d.Registries(), tt.data + "/registries"},
				{"connectors", d.Connectors(), tt.data + "/connectors"},
				{"profile", d.Profile(), tt.data + "/profile"},
				{"lock file", d.LockFile(), tt.state + "/daemon.lock"},
				{"log file", d.LogFile(), tt.state + "/daemon.log"},
				{"audit log", d.AuditLog(), tt.state + "/audit.db"},
				{"audit key", d.AuditKey(), tt.config + "/audit.key"},
				{"compiled", d.Compiled(), tt.cache + "/compiled"},
				{"socket", d.Socket(), tt.runtime + "/control.sock"},
			} {
				if c.got != c.want {
					t.Errorf("%s is %q, want %q", c.what, c.got, c.want)
				}
			}
		})
	}
}

func TestDirsRefused(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		hint string
	}{
		{"relative home", []string{"HOME", "/home/ada", "DRAWBRIDGE_HOME", "my home"}, `"$PWD"/'my home'`},
		{"no home at all", nil, "DRAWBRIDGE_HOME"},
		{"only one variable", []string{"XDG_CONFIG_HOME", "/c"}, "DRAWBRIDGE_HOME"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := platform.NewDirs(env(tt.env...))
			wantError(t, err, abi.ErrInvalidArgs, tt.hint)
		})
	}
}

func TestCreate(t *testing.T) {
	home := filepath.Join(t.TempDir(), "a", "b")
	d, err := platform.NewDirs(env("DRAWBRIDGE_HOME", home))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // what exists is fine
		if err := d.Create(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{home, d.Config(), d.Data(), d.State(), d.Cache(), d.Runtime()} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != platform.DirMode {
			t.Errorf("%s has mode %o", dir, info.Mode().Perm())
		}
	}
	if err := os.Chmod(d.State(), 0o755); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.Create(), abi.ErrForbidden, "chmod 700 "+d.State())
}

func TestCheckDirModes(t *testing.T) {
	for _, mode := range []fs.FileMode{0o750, 0o705, 0o710, 0o701, 0o770, 0o777, 0o720, 0o702} {
		dir := filepath.Join(t.TempDir(), "it's")
		mkdir(t, dir, mode)
		wantError(t, platform.CheckDir(dir), abi.ErrForbidden, "chmod 700 '"+strings.ReplaceAll(dir, "'", `'\''`)+"'")
	}
	dir := filepath.Join(t.TempDir(), "fine")
	mkdir(t, dir, 0o700)
	if err := platform.CheckDir(dir); err != nil {
		t.Error(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := platform.CheckDir(link); err != nil {
		t.Errorf("a link to a private directory: %v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	wantError(t, platform.CheckDir(link), abi.ErrForbidden, "chmod 700")
}

func TestCheckFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := platform.CheckFile(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := platform.CreateFile(file); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o601, 0o666} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		wantError(t, platform.CheckFile(file), abi.ErrForbidden, "chmod 600 "+file)
		wantError(t, platform.CreateFile(file), abi.ErrForbidden, "chmod 600 "+file)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	wantError(t, platform.CheckFile(link), abi.ErrForbidden, "mv "+link)
	wantError(t, platform.CheckFile(dir), abi.ErrForbidden, "mv "+dir)
	wantError(t, platform.CheckDir(file), abi.ErrForbidden, "mv "+file)
}

func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 12345, -1); err != nil {
		t.Fatal(err)
	}
	wantError(t, platform.CheckFile(file), abi.ErrForbidden, "chown 0 "+file)
}

func TestNewToken(t *testing.T) {
	a, b := platform.NewToken(), platform.NewToken()
	if len(a) != 43 || a == b {
		t.Errorf("tokens %q and %q", a, b)
	}
}

func mkdir(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
}

// wantError asks for an abi error of this code, whose hint contains hint.
func wantError(t *testing.T, err error, code abi.Code, hint string) {
	t.Helper()
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Hint, hint) {
		t.Errorf("error is %v (%+v), want %s with hint %q", err, e, code, hint)
	}
}
