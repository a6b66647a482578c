package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// diagnose runs doctor and returns what it found, by check.
func (h *home) diagnose(env ...string) map[string]finding {
	h.t.Helper()
	cmd := h.command(h.t.Context(), "drawbridge", "doctor", "--json")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	var list []finding
	if jerr := json.Unmarshal(out, &list); jerr != nil || len(list) == 0 {
		h.t.Fatalf("doctor: %v, %v\n%s", err, jerr, out)
	}
	found := map[string]finding{}
	faults := 0
	for _, f := range list {
		found[f.Check] = f
		if !f.OK {
			faults++
			if f.Detail == "" || f.Hint == "" {
				h.t.Errorf("a fault without words: %+v", f)
			}
		}
	}
	if (err != nil) != (faults > 0) {
		h.t.Errorf("%d faults, and it ended with %v", faults, err)
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
	h.wantFault("port", fmt.Sprintf("another program has port %d", port), fmt.Sprintf("^export %s=%d", httpPortVar, port+1), env)
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
	eventually(t, "its end", func() bool { return !alive(pid) })
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
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket := h.dirs().Socket()
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	h.wantFault("file", "the socket", "^chmod 600 "+regexp.QuoteMeta(socket)+"$")
}

// A snapshot that has expired, and one that is from the future, which is a clock
// that is wrong.
func TestDoctorFindsTheSnapshotAndTheClock(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.want(0, agree(), "registry", "add", "reg.git", h.fingerprint("key"))
	h.run("stop")
	h.wantWell("registry team", "snapshot [0-9]+, good until")
	h.wantWell("clock", "^20")
	states, err := filepath.Glob(filepath.Join(h.dirs().Registries(), "*", "state.json"))
	if err != nil || len(states) != 1 {
		t.Fatalf("states %q, %v", states, err)
	}
	old, err := os.ReadFile(states[0])
	if err != nil {
		t.Fatal(err)
	}
	expires := regexp.MustCompile(`"expires":"[^"]*"`)
	set := func(when time.Time) {
		text := expires.ReplaceAllString(string(old), `"expires":"`+when.UTC().Format("2006-01-02T15:04:05Z")+`"`)
		if err := os.WriteFile(states[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set(time.Now().Add(-time.Hour))
	h.wantFault("registry team", "expired at", "^drawbridge search")
	set(time.Now().Add(60 * 24 * time.Hour))
	h.wantFault("clock", "the snapshot of registry \"team\" is from .* it is wrong", "set-ntp")
	if err := os.WriteFile(states[0], []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := h.diagnose()["registries"]; f.OK || !strings.Contains(f.Detail, "state.json") {
		t.Errorf("a damaged state: %+v", f)
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
	if f, ok := h.diagnose()["client claude"]; ok {
		t.Errorf("a client that does not know drawbridge: %+v", f)
	}
	h.want(exitOK, agree(), "mcp", "--print-config", "cursor", "--write") // as the hint says
	h.wantWell("client cursor", "drawbridge")
}
