package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func TestExitCodes(t *testing.T) {
	want := map[abi.Code]int{
		abi.ErrConfirmationDenied: 3, abi.ErrConfirmationRequired: 3, abi.ErrOriginDenied: 3,
		abi.ErrCapabilityDenied: 3, abi.ErrForbidden: 3, abi.ErrAuthExpired: 4, abi.ErrUntrusted: 5,
	}
	for _, code := range abi.Codes() {
		w, ok := want[code]
		if !ok {
			w = 1
		}
		if got := exitCode(abi.Errorf(code, "op", "message")); got != w {
			t.Errorf("%s ends with %d, want %d", code, got, w)
		}
	}
	if exitCode(nil) != 0 || exitCode(usage(os.ErrInvalid)) != 2 || exitCode(os.ErrInvalid) != 1 {
		t.Error("no error is 0, a wrong command line 2, anything else 1")
	}
}

// Commands that start a daemon at the same time all get the same one, and no
// other is left behind.
func TestManyStartsEndAsOne(t *testing.T) {
	h := newHome(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if out, msg, code := h.try("tools", "--json"); code != 0 || !isEmpty(out) {
				t.Errorf("exit code %d: %s%s", code, out, msg)
			}
		})
	}
	all.Wait()
	pid := h.lock().PID
	eventually(t, "one daemon", func() bool { return slices.Equal(h.daemons(), []int{pid}) })
}

// daemons lists the processes that serve this home.
func (h *home) daemons() (pids []int) {
	h.t.Helper()
	envs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range envs {
		dir := filepath.Dir(path)
		env, err1 := os.ReadFile(path)
		line, err2 := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err1 != nil || err2 != nil || !strings.Contains(string(env), platform.HomeVar+"="+h.dir+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.Contains(string(line), "\x00serve\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	if err := poll(t.Context(), func() (bool, error) { return cond(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// The daemon has no terminal and goes on when the one that started it is gone.
func TestDaemonOutlivesItsTerminal(t *testing.T) {
	h := newHome(t)
	cmd := h.command(t.Context(), "drawbridge", "tools")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := play(t.Context(), tty, nil); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := tty.Close(); err != nil { // what hangs on the terminal gets SIGHUP
		t.Fatal(err)
	}
	pid := h.lock().PID
	if has, err := platform.HasTerminal(pid); err != nil || has {
		t.Errorf("the daemon has a terminal: %v, %v", has, err)
	}
	h.run("tools")
	if got := h.lock().PID; got != pid {
		t.Errorf("another daemon: %d, was %d", got, pid)
	}
}

// Nothing that drawbridge keeps can be read or entered by others.
func TestFilesAreTheirOwners(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	h.run("clients", "add", "cursor")
	h.run("call", "sample_look")
	h.run("audit")
	seen := map[string]bool{}
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the browser removes files of its own
		}
		if d.Name() == "profile" && d.IsDir() { // the browser's own files, behind a closed door
			info, err := d.Info()
			if err == nil && info.Mode().Perm() != 0o700 {
				t.Errorf("%s is %s", path, info.Mode())
			}
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil //nolint:nilerr // likewise
		}
		seen[d.Name()] = true
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"audit.db", "audit.key", "clients.json", "settings.json", "lock.json", "daemon.lock", "daemon.log", "drawbridge.log", "control.sock", "state.json", "key"} {
		if !seen[name] {
			t.Errorf("%s was not looked at", name)
		}
	}
}

// The daemon listens on 127.0.0.1 and nowhere else.
func TestListensOnLoopbackOnly(t *testing.T) {
	h := newHome(t)
	h.run("tools")
	info := h.lock()
	proc := filepath.Join("/proc", strconv.Itoa(info.PID))
	sockets := map[string]bool{}
	fds, err := filepath.Glob(filepath.Join(proc, "fd", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			sockets[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	listening := 0
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		data, err := os.ReadFile(filepath.Join(proc, "net", table))
		if err != nil {
			continue // this kernel has no such protocol
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) < 10 || !sockets[f[9]] || strings.HasPrefix(table, "tcp") && f[3] != "0A" {
				continue
			}
			listening++
			if table != "tcp" || !strings.HasPrefix(f[1], "0100007F:") {
				t.Errorf("%s: listens on %s", table, f[1])
			}
		}
	}
	if listening != 1 || !strings.HasPrefix(info.HTTP, "127.0.0.1:") {
		t.Errorf("%d sockets listen, and it says %q", listening, info.HTTP)
	}
}

// Every list and every change of a host with a plugin is one JSON document with
// --json, and names what it is about.
func TestJSONOfAnInstalledPlugin(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	if _, msg, code := h.try("registry", "remove", "team"); code != 1 || !strings.Contains(msg, "hint: drawbridge remove acme/sample") {
		t.Errorf("removing a registry that is in use: exit code %d, %s", code, msg)
	}
	h.run("call", "sample_look")
	eventually(t, "the call's rows", func() bool { return strings.Contains(h.run("audit"), "sample.look") }) // they come after its answer
	for _, name := range []string{"sample_look", "sample.look"} {                                            // as a person sees it, and as the log has it
		if log := h.run("audit", "--tool", name); strings.Count(log, "begin") != 1 {
			t.Errorf("the rows of %s:\n%s", name, log)
		}
		if text := h.run("tools", name); !strings.HasPrefix(text, "sample_look: Look (reads)\nLooks at a page.\nIt takes no arguments.") {
			t.Errorf("what is said of %s:\n%s", name, text)
		}
	}
	if text := h.run("tools", "sample_touch"); !regexp.MustCompile(`(?m)^text +no +string`).MatchString(text) {
		t.Errorf("what is said of an argument:\n%s", text)
	}
	for args, want := range map[string]string{"call": "sample_touch", "login": "sample", "remove": "acme/sample", "registry remove": "team"} {
		text := h.run(slices.Concat([]string{"__complete"}, strings.Fields(args), []string{""})...)
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is completed by\n%s", args, text)
		}
	}
	for _, c := range []struct{ args, has string }{
		{"tools sample_touch", `"destructive": true`},
		{"registry list", `"registry": "team"`},
		{"search sam", `"plugin": "acme/sample"`},
		{"list", `"state": "ready"`},
		{"check sample", `"state": "ok"`},
		{"list", `"state": "ok"`},
		{"tools", `"tool": "sample_touch"`},
		{"call sample_look", `"done": true`},
		{"audit --tool sample.look", `"sample.look"`},
		{"audit verify", `rows`},
		{"audit --tool no.such", `[]`},
		{"doctor", `2 tools`},
		{"install acme/sample", `"acme/sample"`}, // it is there already, so nobody is asked
		{"remove acme/sample", `"removed": true`},
		{"registry remove team", `"registry": "team"`},
		{"tools", `[]`},
	} {
		out := h.run(append(strings.Fields(c.args), "--json")...)
		if !json.Valid([]byte(out)) || !strings.HasPrefix(out, "{") || !strings.Contains(out, c.has) {
			t.Errorf("drawbridge %s --json prints no %s:\n%s", c.args, c.has, out)
		}
	}
}

// Where nobody is signed in a call ends with 4 and the command that signs in; an
// install that nobody can agree to ends with 3.
func TestRefusedCalls(t *testing.T) {
	h := newHome(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>sign in</title><p id="login">who are you?</p>`)
	}))
	t.Cleanup(srv.Close)
	h.ready(srv.URL)
	_, msg, code := h.try("call", "sample_touch", `{"text":"x"}`)
	if code != 4 || !strings.Contains(msg, "nobody is signed in") || !strings.Contains(msg, "drawbridge: hint: drawbridge login sample\n") {
		t.Errorf("exit code %d: %s", code, msg)
	}
	out, _, code := h.try("call", "sample_touch", `{"text":"x"}`, "--json")
	if code != 4 || !json.Valid([]byte(out)) || !strings.Contains(out, `"code": "auth_expired"`) {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, command := range []string{"check sample", "check"} {
		if _, msg, code := h.try(strings.Fields(command)...); code != 4 || !strings.Contains(msg, "drawbridge: hint: drawbridge login sample\n") {
			t.Errorf("%s of a connector that is signed out: exit code %d: %s", command, code, msg)
		}
	}
	if out, _, code := h.try("doctor"); code != 1 || !strings.Contains(out, "connector sample") || !strings.Contains(out, "hint: drawbridge login sample") {
		t.Errorf("doctor, with a connector that is signed out: exit code %d: %s", code, out)
	}
	if out, _, _ := h.try("list"); !strings.Contains(out, "sample (auth_expired)") {
		t.Errorf("list, with a connector that is signed out:\n%s", out)
	}
	if _, msg, code := h.try("check", "nobody"); code != 1 || !strings.Contains(msg, `no connector "nobody"`) {
		t.Errorf("check of a connector that is not there: exit code %d: %s", code, msg)
	}
	if _, msg, code := h.try("call", "sample_look", `{"more":1}`); code != 1 || !strings.Contains(msg, "more") {
		t.Errorf("an argument that is not in the schema: exit code %d: %s", code, msg)
	}
	if _, msg, code := h.try("install", "acme/sample", "--set", "base_url=http://other.localhost:1"); code != 3 || !strings.Contains(msg, "needs a person at a terminal") {
		t.Errorf("an install without a terminal: exit code %d: %s", code, msg)
	}
	if _, msg, code := h.try("install", "acme/sample", "--set", "nosuch=1"); code != 1 || !strings.Contains(msg, `no setting "nosuch"`) {
		t.Errorf("a setting that is not there: exit code %d: %s", code, msg)
	}
	if _, msg, code := h.try("login", "sample", "--form"); code != 1 || !strings.Contains(msg, "standard input is none") {
		t.Errorf("a login without a terminal: exit code %d: %s", code, msg)
	}
}

// Stop ends a daemon that has calls in hand, and what it started; an MCP client of
// it gets an answer to what it had asked.
func TestStopEndsEverything(t *testing.T) {
	h := newHome(t)
	url, site := newGatedSite(t, 1000) // it never answers
	h.ready(url)
	c := h.dialStdio("drawbridge", "mcp", "--client", "coder")
	done := make(chan int, 1)
	go func() {
		_, _, code := h.try("call", "sample_look")
		done <- code
	}()
	pid := h.lock().PID
	eventually(t, "a browser", func() bool { return len(children(t, pid)) > 0 })
	eventually(t, "the call's page", func() bool {
		site.mu.Lock()
		defer site.mu.Unlock()
		return site.waiting > 0
	})
	c.send(map[string]any{"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": map[string]any{"name": "sample_look", "arguments": map[string]any{}}})
	c.request("ping", map[string]any{}) // once it is answered, the call before it is under way
	started := children(t, pid)
	h.run("stop")
	c.wantGone("mine")
	if code := <-done; code == 0 {
		t.Error("the call that was cut off ended with 0")
	}
	if log, err := os.ReadFile(h.dirs().LogFile()); err != nil || strings.Contains(string(log), "panic") {
		t.Errorf("the daemon's log: %v\n%s", err, log)
	}
	eventually(t, "the end of what the daemon started", func() bool {
		return !slices.ContainsFunc(started, func(p int) bool { return alive(p) })
	})
}

// wantGone checks that a request was answered by an error, and that the server
// ended with one.
func (c *mcpClient) wantGone(id string) {
	c.t.Helper()
	var m struct {
		ID    string `json:"id"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
		Result struct {
			IsError bool `json:"isError"`
		} `json:"result"`
	}
	var err error
	for err == nil && m.ID == "" { // notifications come before it
		err = c.out.Decode(&m)
	}
	// The daemon's own last word, where it came through, or the relay's.
	said := m.Result.IsError || m.Error != nil && strings.Contains(m.Error.Message, "the daemon ended")
	if err != nil || m.ID != id || !said {
		c.t.Errorf("%v: %+v", err, m)
	}
	c.done.Store(true)
	if err := c.cmd.Wait(); err == nil || c.cmd.ProcessState.ExitCode() != exitError {
		c.t.Errorf("the server ended with %v", err)
	}
}

// children lists a process's children.
func children(t *testing.T, pid int) (list []int) {
	t.Helper()
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tasks {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(data)) {
			if n, err := strconv.Atoi(f); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

func alive(pid int) bool {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, _ := strings.Cut(string(data), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}
