package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// diagnose runs doctor's checks, but for the browser's, and returns what they
// found, by check.
func (h *home) diagnose(env ...string) map[string]finding {
	h.t.Helper()
	vars := map[string]string{platform.HomeVar: h.dir, httpPortVar: "0"}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, getenv: func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		return os.Getenv(name)
	}}
	dirs, f := a.checkDirs()
	list := slices.Concat([]finding{f}, checkFiles(dirs), a.checkDaemon(h.t.Context(), dirs), checkTrust(h.t.Context(), dirs), a.checkClients())
	list = append(list, checkMarket(h.t.Context(), dirs, list)...)
	found := map[string]finding{}
	for _, f := range list {
		found[f.Check] = f
		if !f.OK && (f.Detail == "" || f.Hint == "") {
			h.t.Errorf("a fault without words: %+v", f)
		}
	}
	return found
}

func (h *home) wantFault(check, detail, hint string, env ...string) {
	h.t.Helper()
	f, ok := h.diagnose(env...)[check]
	if !ok || f.OK || !regexp.MustCompile(detail).MatchString(f.Detail) || !regexp.MustCompile(hint).MatchString(f.Hint) {
		h.t.Errorf("check %q found %+v", check, f)
	}
}

func (h *home) wantWell(check, detail string, env ...string) {
	h.t.Helper()
	f, ok := h.diagnose(env...)[check]
	if !ok || !f.OK || !regexp.MustCompile(detail).MatchString(f.Detail) || f.Hint != "" {
		h.t.Errorf("check %q found %+v", check, f)
	}
}

func TestDoctorFindsATakenPort(t *testing.T) {
	h := newHome(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	env := fmt.Sprintf("%s=%d", httpPortVar, port)
	h.wantFault("port", fmt.Sprintf("another program has port %d", port), fmt.Sprintf("^export %s=[0-9]+$", httpPortVar), env)
	hint := h.diagnose(env)["port"].Hint
	h.wantWell("port", "is free|any that is free", strings.TrimPrefix(hint, "export ")) // as the hint says
	cmd := h.command(t.Context(), "drawbridge", "tools")                                // starts a daemon, which says why it can't
	cmd.Env = append(cmd.Env, env)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), fmt.Sprintf("ended at once: serve: port %d is taken", port)) ||
		!strings.Contains(string(out), "hint: set "+httpPortVar) {
		t.Errorf("a command that needs a daemon ended with %v:\n%s", err, out)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	h.wantWell("port", "is free", env)
}

// A daemon whose lock file was removed is found, and a killed one's is not taken
// for a daemon.
func TestDoctorFindsASecondDaemon(t *testing.T) {
	h := newHome(t)
	h.run("tools")
	pid := h.lock().PID
	h.wantWell("daemon", fmt.Sprintf("process %d, ", pid))
	lock := h.dirs().LockFile()
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	h.wantFault("second daemon", fmt.Sprintf("process %d serves the same directories", pid), fmt.Sprintf("^kill %d$", pid))
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil { // as the hint says
		t.Fatal(err)
	}
	eventually(t, "its end", func() bool { return !alive(pid) })
	h.run("tools")
	pid = h.lock().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its end", func() bool { // its first thread's end is not yet that of its files
		_, held, err := platform.ReadLock(lock)
		return !alive(pid) && !held && err == nil
	})
	h.wantWell("daemon", "the last one was killed")
	h.run("tools") // and it is in nobody's way
}

func TestDoctorFindsOpenFiles(t *testing.T) {
	h := newHome(t)
	h.run("clients", "add", "cursor")
	h.wantWell("files", "only their owner")
	for _, path := range []string{h.dirs().ClientsFile(), h.dirs().AuditKey(), h.dirs().Journal()} {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		h.wantFault("file", regexp.QuoteMeta(path)+`" may be used by others \(mode 0644\)`, "^chmod 600 "+regexp.QuoteMeta(path)+"$")
		h.mend("file")
	}
	h.wantWell("files", "only their owner")
	socket := h.dirs().Socket()
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	h.wantFault("file", "the socket", "^chmod 600 "+regexp.QuoteMeta(socket)+"$")
	h.mend("file")
	h.wantWell("files", "only their owner")
	log := h.dirs().LogFile()
	if err := errors.Join(os.Remove(log), os.Symlink("/dev/null", log)); err != nil {
		t.Fatal(err)
	}
	h.wantFault("file", "is not a regular file", "^mv "+regexp.QuoteMeta(log)+" ")
	h.mend("file")
	h.wantWell("files", "only their owner")
}

// mend runs the command that a check gave as its hint.
func (h *home) mend(check string) {
	h.t.Helper()
	hint := h.diagnose()[check].Hint
	if out, err := h.command(h.t.Context(), "sh", "-c", hint).CombinedOutput(); err != nil {
		h.t.Fatalf("%s: %v %s", hint, err, out)
	}
}

// seenSnapshot is a registry's state file, as an add leaves it, with the time at
// which the newest snapshot expires.
const seenSnapshot = `{"expires":"%s","format":1,"namespaces":{},"pinned":"0123456789abcdef0123456789abcdef01234567","registry":"team",` +
	`"revocations":1,"revoked_artifacts":[],"revoked_keys":[],"root":1,"root_sha256":"%064d","snapshot":3,"snapshot_keys":[],` +
	`"snapshot_sha256":"%064d","type":"drawbridge-registry-state","url":"https://git.example/x.git"}`

// A snapshot that has expired, and one that is from the future, which is a clock
// that is wrong.
func TestDoctorFindsTheSnapshotAndTheClock(t *testing.T) {
	h := newHome(t)
	if err := h.dirs().Create(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(h.dirs().Registries(), "x")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expires := func(in time.Duration) string {
		return fmt.Sprintf(seenSnapshot, time.Now().Add(in).UTC().Format("2006-01-02T15:04:05Z"), 1, 2)
	}
	put(expires(7 * 24 * time.Hour))
	h.wantWell("registry team", "snapshot 3, good until")
	h.wantWell("clock", "^20")
	put(expires(2 * 24 * time.Hour))
	h.wantWell("registry team", "unless its maintainer signs a newer one")
	put(expires(-time.Hour))
	h.wantFault("registry team", "expired at", "^ask the owner of registry team .*, then drawbridge registry fetch team$")
	if _, msg, _ := h.try("search"); !strings.Contains(msg, `warning: the snapshot of registry "team" expired at`) || !strings.Contains(msg, "not searched: ") {
		t.Errorf("search says\n%s", msg)
	}
	if out := h.run("registry", "list"); !strings.Contains(out, "(expired)") {
		t.Errorf("the list does not mark it:\n%s", out)
	}
	h.run("stop")
	put(expires(60 * 24 * time.Hour))
	h.wantFault("clock", "the snapshot of registry \"team\" is from .* it is wrong", "set-ntp")
	put("{}")
	h.wantFault("registries", "state.json", "^mv "+regexp.QuoteMeta(dir)+" ")
	h.mend("registries")
	if f, ok := h.diagnose()["registries"]; ok {
		t.Errorf("a damaged state that is out of the way: %+v", f)
	}
}

// A client that starts another program, or one that is gone, is named with the
// command that mends it; others are let be.
func TestDoctorFindsClientsOfAnotherBinary(t *testing.T) {
	h := newHome(t)
	user := filepath.Join(h.work, "user")
	t.Setenv("HOME", user)
	t.Setenv("XDG_CONFIG_HOME", "")
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(user, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(".cursor/mcp.json", `{"mcpServers": {"drawbridge": {"command": "/bin/sh"}}}`)
	put(".gemini/settings.json", `{"mcpServers": {"drawbridge": {"command": "/nowhere/drawbridge"}}} // gone`)
	put(".codex/config.toml", h.run("mcp", "--print-config", "codex"))
	put(".claude.json", `{"mcpServers": {"other": {"command": "/bin/sh"}}}`)
	h.wantFault("client cursor", `makes Cursor start "/bin/sh", and this is`, "^drawbridge mcp --print-config cursor --write$")
	h.wantFault("client gemini", "can't be run", "^drawbridge mcp --print-config gemini --write$")
	h.wantWell("client codex", "drawbridge")
	put(".codex/config.toml", "[mcp_servers.drawbridge]\ncommand = \"/nowhere/drawbridge\"\n")
	h.wantFault("client codex", "can't be run", "^drawbridge mcp --print-config codex --write$")
	h.want(exitOK, agree(), "mcp", "--print-config", "codex", "--write") // as the hint says
	h.wantWell("client codex", "drawbridge")
	put(".codex/config.toml", "[mcp_servers.drawbridge]\ncommand = \"/nowhere/drawbridge\"\nargs = [\n]\n")
	h.wantFault("client codex", "can't be run", "^codex mcp add drawbridge .* -- .* mcp --client codex$")
	if f, ok := h.diagnose()["client claude"]; ok {
		t.Errorf("a client that does not know drawbridge: %+v", f)
	}
	put(".claude.json", `{"mcpServers": {"drawbridge": {"command": "drawbridge", "args": ["mcp"]}}`)
	h.wantFault("client claude", "can't be read, by Claude Code neither", "drawbridge mcp --print-config claude|claude mcp add")
	h.want(exitOK, agree(), "mcp", "--print-config", "cursor", "--write") // as the hint says
	h.wantWell("client cursor", "drawbridge")
	well, err := os.ReadFile(filepath.Join(user, ".cursor/mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(".cursor/mcp.json", strings.Replace(string(well), `"mcp",`, `"mpc",`, 1))
	h.wantFault("client cursor", `start drawbridge with \["mpc" `, "^drawbridge mcp --print-config cursor --write$")
	put(".cursor/mcp.json", strings.Replace(string(well), `"DRAWBRIDGE_HOME": "`, `"DRAWBRIDGE_HOME": "/else`, 1))
	h.wantFault("client cursor", `use the home "/else`, "^drawbridge mcp --print-config cursor --write$")
}
