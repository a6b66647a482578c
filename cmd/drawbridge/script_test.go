package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// TestMain makes this test binary play the command, its daemon and the sandbox's
// worker, and a program that starts MCP clients.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.WorkerCommand { // it is started under no name of ours
		os.Exit(command())
	}
	testscript.Main(m, map[string]func(){
		"drawbridge": func() { os.Exit(command()) },
		"agent":      func() { os.Exit(agent(os.Args[1:])) },
	})
}

// command is main, but for what the race detector can't live with: its memory is
// far above the kernel's limit on a worker, and compiling takes minutes under
// it. Workers are the program without the detector then.
func command() int {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, carried: carriedBeside(os.Getenv(platform.HomeVar))}
	if exe, err := os.Executable(); raceEnabled && err == nil {
		a.worker = []string{plainWorker(exe), sandbox.WorkerCommand}
	}
	if resultOf(os.Args[1:]) == "logs --follow" || !wantsJSON(os.Args[1:]) {
		return a.run(os.Args[1:])
	}
	return runJSON(a, os.Args[1:])
}

// notJSON is how a command ends whose output is against the rules of --json.
const notJSON = 99

// runJSON runs a command and holds what it prints against the rules, so that every
// test with --json is a test of them.
func runJSON(a *app, args []string) int {
	out, printed := a.stdout, bytes.Buffer{}
	a.stdout = &printed
	code := a.run(args)
	err := wrongJSON(args, printed.Bytes())
	if _, werr := out.Write(printed.Bytes()); werr != nil {
		return notJSON
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "drawbridge %q: %v\n", args, err)
		return notJSON
	}
	return code
}

// carriedBeside is what the command carries in tests: what stands beside its home,
// or nothing, whatever was built into it.
func carriedBeside(home string) fs.FS {
	return os.DirFS(filepath.Join(filepath.Dir(home), "carried"))
}

// plainWorker is where the program without the race detector stands, beside the
// test's commands.
func plainWorker(command string) string {
	return filepath.Join(filepath.Dir(command), "plain-drawbridge")
}

// buildWorker builds it, once.
var buildWorker = sync.OnceValue(func() error {
	command, err := exec.LookPath("drawbridge")
	if err != nil || !raceEnabled {
		return err
	}
	if msg, err := exec.Command("go", "build", "-o", plainWorker(command), ".").CombinedOutput(); err != nil {
		return fmt.Errorf("building the worker: %w\n%s", err, msg)
	}
	return nil
})

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			if err := buildWorker(); err != nil {
				return err
			}
			home := filepath.Join(env.WorkDir, "h")
			env.Setenv(platform.HomeVar, home)
			env.Setenv(httpPortVar, "0")
			for name, program := range map[string]string{"GIT": "git", "DRAWBRIDGE": "drawbridge"} {
				path, err := exec.LookPath(program)
				if err != nil {
					return err
				}
				env.Setenv(name, path)
			}
			env.Defer(func() { stopHome(t, home) })
			return writeSample(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "fingerprint": fingerprint, "holdlock": holdLock, "isjson": isJSON, "overwrite": overwrite,
			"gpghome": gpgHome, "nakedkey": nakedKey, "onlykey": onlyKey, "tail16": tail16,
		},
		RequireExplicitExec: true,
	})
}

// exits runs a command that has to end with an exit code: exits 2 drawbridge x.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%q ended with exit code %d, want %d", args[1:], got, want)
	}
}

// fingerprint sets a variable to the fingerprint of a key file.
func fingerprint(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("drawbridge", "key", "show", "--json", args[1]))
	var key struct {
		Fingerprint string `json:"fingerprint"`
		PublicKey   string `json:"public_key"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &key))
	ts.Setenv(args[0], key.Fingerprint)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]+".asc"), []byte(key.PublicKey), 0o600))
}

// holdLock holds the daemon's lock as a daemon of another version would.
func holdLock(ts *testscript.TestScript, _ bool, args []string) {
	dirs, err := platform.NewDirs(ts.Getenv)
	ts.Check(err)
	ts.Check(dirs.Create())
	info := platform.LockInfo{PID: os.Getpid(), Version: args[0], Socket: dirs.Socket()}
	lock, err := platform.Lock(context.Background(), dirs.LockFile(), info)
	ts.Check(err)
	ts.Defer(func() { _ = lock.Unlock() })
}

// overwrite changes a row of the audit log, as somebody with a database tool would.
func overwrite(ts *testscript.TestScript, _ bool, _ []string) {
	dirs, err := platform.NewDirs(ts.Getenv)
	ts.Check(err)
	data, err := os.ReadFile(dirs.AuditLog())
	ts.Check(err)
	if !bytes.Contains(data, []byte("nosuch")) {
		ts.Fatalf("the log does not hold the row")
	}
	ts.Check(os.WriteFile(dirs.AuditLog(), bytes.ReplaceAll(data, []byte("nosuch"), []byte("nosuxh")), 0o600))
}

// isJSON checks that the last command printed one JSON object.
func isJSON(ts *testscript.TestScript, _ bool, _ []string) {
	var object map[string]json.RawMessage
	if text := ts.ReadFile("stdout"); json.Unmarshal([]byte(text), &object) != nil {
		ts.Fatalf("no JSON object:\n%s", text)
	}
}

// stopHome ends the daemon of a home, if one runs, and waits until it has ended.
func stopHome(tb testing.TB, home string) {
	tb.Helper()
	dirs, err := platform.NewDirs(func(name string) string {
		if name == platform.HomeVar {
			return home
		}
		return ""
	})
	if err != nil {
		tb.Error(err)
		return
	}
	info, held, err := platform.ReadLock(dirs.LockFile())
	if err != nil || !held || info.PID == os.Getpid() {
		return
	}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), "drawbridge", "stop")
	cmd.Env = append(os.Environ(), platform.HomeVar+"="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = syscall.Kill(info.PID, syscall.SIGKILL)
		tb.Errorf("the daemon does not stop: %v\n%s", err, out)
	}
}
