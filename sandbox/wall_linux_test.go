package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// An attempt is something that a worker whose engine was taken over would try.
type attempt struct {
	name  string
	files bool // the engine may do it while it loads machine code, in its own directory
	try   func(surroundings) error
}

// The surroundings are what there is to be reached.
type surroundings struct {
	Dir, Inside, Outside string // the cache; a file in it, and one beside it
	TCP, Unix            string // where somebody listens
	Parent               int
}

func attempts() []attempt {
	dial := func(network string, address func(surroundings) string) func(surroundings) error {
		return func(s surroundings) error {
			c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), network, address(s))
			if err == nil {
				err = c.Close()
			}
			return err
		}
	}
	return []attempt{
		{"tcp", false, dial("tcp", func(s surroundings) string { return s.TCP })},
		{"udp", false, dial("udp", func(s surroundings) string { return s.TCP })},
		{"unix socket", false, dial("unix", func(s surroundings) string { return s.Unix })},
		{"listen", false, func(surroundings) error {
			l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
			if err == nil {
				err = l.Close()
			}
			return err
		}},
		{"read a file", false, func(s surroundings) error { _, err := os.ReadFile(s.Outside); return err }},
		{"list a folder", false, func(s surroundings) error { _, err := os.ReadDir(filepath.Dir(s.Outside)); return err }},
		{"write a file", false, func(s surroundings) error { return os.WriteFile(s.Outside+".new", nil, 0o600) }},
		{"remove a file", false, func(s surroundings) error { return os.Remove(s.Outside) }},
		{"read machine code", true, func(s surroundings) error { _, err := os.ReadFile(s.Inside); return err }},
		{"run a program", false, func(surroundings) error { return exec.Command("/bin/true").Run() }}, //nolint:noctx // it is not to run
		{"become a program", false, func(surroundings) error {
			err := unix.Exec("/nowhere", []string{"nowhere"}, nil) // of a program that is there this process would be gone
			if errors.Is(err, unix.ENOENT) {
				return nil
			}
			return err
		}},
		{"fork", false, fork},
		{"trace", false, func(s surroundings) error {
			err := unix.PtraceSeize(s.Parent)
			if err == nil {
				err = unix.PtraceDetach(s.Parent)
			}
			return err
		}},
		{"signal its host", false, func(s surroundings) error { return unix.Kill(s.Parent, 0) }},
		{"signal a thread of its host", false, func(s surroundings) error { return unix.Tgkill(s.Parent, s.Parent, 0) }},
		{"read its host's memory", false, func(s surroundings) error {
			b := make([]byte, 1)
			_, err := unix.ProcessVMReadv(s.Parent, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
			if errors.Is(err, unix.EFAULT) {
				return nil // it was allowed to look
			}
			return err
		}},
		{"take its limits away", false, func(surroundings) error {
			return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
		}},
		{"a namespace", false, func(surroundings) error { return unix.Unshare(unix.CLONE_FS) }},
	}
}

// fork makes a process, which ends at once.
func fork(surroundings) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil // this process ends soon, and the system buries its child
}

// playWalled is a worker that tries everything behind the walls of its arguments,
// and says which errors it met: "name=errno" by line, 0 for none.
func playWalled(args []string) {
	var s surroundings
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	told := hello{Cache: s.Dir}
	for wall := range strings.FieldsSeq(args[1]) {
		err := map[string]func() error{
			"files": func() error { return confineFiles(told) }, "all": (&guestWorker{told: told}).confine, "loaded": confineLoaded,
		}[wall]()
		if err != nil {
			fmt.Fprintln(os.Stdout, wall, err)
			return
		}
	}
	for _, a := range attempts() {
		err := a.try(s)
		var errno syscall.Errno
		switch {
		case err != nil && errors.As(err, &errno):
		case err != nil:
			errno = 9999 // an error without a number is no refusal
		}
		fmt.Fprintf(os.Stdout, "%s=%d\n", a.name, int(errno))
	}
}

// behind runs a worker behind some walls and returns what each attempt met.
func behind(t *testing.T, s surroundings, walls string) map[string]syscall.Errno {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "walled", string(text), walls)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	met := map[string]syscall.Errno{}
	for line := range strings.Lines(string(out)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n, err := strconv.Atoi(number); err == nil {
			met[name] = syscall.Errno(n)
		}
	}
	if err != nil || len(met) != len(attempts()) {
		t.Fatalf("behind %q: %v\n%s", walls, err, out)
	}
	return met
}

func around(t *testing.T) surroundings {
	t.Helper()
	s := surroundings{Dir: t.TempDir(), Outside: filepath.Join(t.TempDir(), "secret"), Parent: os.Getpid()}
	s.Inside = filepath.Join(s.Dir, "code")
	for _, f := range []string{s.Inside, s.Outside} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listen := func(network, address string) string {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	s.TCP, s.Unix = listen("tcp", "127.0.0.1:0"), listen("unix", filepath.Join(filepath.Dir(s.Outside), "s"))
	return s
}

func needWalls(t *testing.T) {
	t.Helper()
	if _, lacks := Confinement(); len(lacks) > 0 {
		t.Skipf("not run: this kernel lacks %q", lacks)
	}
}

func refusedWith(e syscall.Errno) bool {
	return e == syscall.EPERM || e == syscall.EACCES || e == syscall.ENOSYS
}

// TestWalls: a worker that was taken over reaches nothing. Without the walls every
// attempt but tracing its parent, which a system may forbid, has success.
func TestWalls(t *testing.T) {
	needWalls(t)
	for name, errno := range behind(t, around(t), "") {
		if errno != 0 && name != "trace" && name != "read its host's memory" {
			t.Errorf("without walls: %s: %v", name, errno)
		}
	}
	loading, loaded := behind(t, around(t), "all"), behind(t, around(t), "all loaded")
	for _, a := range attempts() {
		if a.files {
			if loading[a.name] != 0 {
				t.Errorf("while it loads: %s: %v", a.name, loading[a.name])
			}
		} else if !refusedWith(loading[a.name]) && a.name != "take its limits away" { // which loading needs
			t.Errorf("while it loads: %s: %v", a.name, loading[a.name])
		}
		if !refusedWith(loaded[a.name]) {
			t.Errorf("when it has loaded: %s: %v", a.name, loaded[a.name])
		}
	}
}

// TestWallOfFiles: Landlock alone keeps a worker from files and from the network.
func TestWallOfFiles(t *testing.T) {
	needWalls(t)
	met := behind(t, around(t), "files")
	for _, name := range []string{"tcp", "listen", "read a file", "list a folder", "write a file", "remove a file"} {
		if name != "listen" && !refusedWith(met[name]) { // Go listens by multipath TCP, which is another protocol
			t.Errorf("%s: %v", name, met[name])
		}
	}
	if met["read machine code"] != 0 {
		t.Errorf("its own directory: %v", met["read machine code"])
	}
}

// TestWorkerIsWalled: what really runs stands behind both filters, with all of its
// threads, before any guest code runs.
func TestWorkerIsWalled(t *testing.T) {
	needWalls(t)
	s := openTest(t, testLimits())
	m := guestModule(t, s, wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, `{"v":1}`), wasmtest.OutputAnswer()))
	threads := 0
	calls := &fakeCalls{read: func(context.Context, []byte) ([]byte, error) {
		for _, pid := range pidsOf(s) {
			list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
			if err != nil {
				return nil, err
			}
			for _, path := range list {
				text, err := os.ReadFile(path)
				if err != nil {
					continue // the thread has ended
				}
				threads++
				for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "Seccomp_filters:\t2\n"} {
					if !strings.Contains(string(text), want) {
						t.Errorf("%s has no %q", path, want)
					}
				}
			}
		}
		return []byte(`{"ok":true}`), nil
	}}
	if _, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: calls}); err != nil {
		t.Fatal(err)
	}
	if threads == 0 {
		t.Error("no thread was looked at")
	}
}

func pidsOf(s *Sandbox) (pids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.workers {
		pids = append(pids, w.proc.cmd.Process.Pid)
	}
	return pids
}
