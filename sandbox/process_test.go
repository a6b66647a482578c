package sandbox

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// descriptors counts this process's open files and its children, zombies
// included.
func descriptors(tb testing.TB) (files, children int) {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("counted through /proc")
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Fatal(err)
	}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		tb.Fatalf("children: %v, %v", lists, err)
	}
	for _, l := range lists {
		b, err := os.ReadFile(l)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a thread that ended meanwhile
			tb.Fatal(err)
		}
		children += len(strings.Fields(string(b)))
	}
	return len(fds), children
}

// TestNothingIsLeft runs calls that end in every way and counts afterwards.
func TestNothingIsLeft(t *testing.T) {
	s := openTest(t, testLimits())
	files, children := descriptors(t)
	bad := wasmtest.Guest(nil, wasmtest.Trap())
	for _, g := range []wasmtest.Module{plain(), bad, wasmtest.Guest(nil, wasmtest.Loop())} {
		m := guestModule(t, s, g)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { _, _ = m.Run(t.Context(), Call{Export: ExportCall, OwnWorker: i%2 == 0}) })
		}
		wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := m.Run(ctx, Call{Export: ExportCall, OwnWorker: true})
		wantError(t, err, abi.ErrTimeout)
		m.Close()
	}
	poll(t, "the end of every worker", func() bool { return s.liveWorkers() == 0 })
	poll(t, "giving back what was opened", func() bool {
		f, c := descriptors(t)
		return f <= files && c <= children
	})
}

func TestIdleWorkersEnd(t *testing.T) {
	s := openTest(t, Limits{Idle: time.Millisecond, DataBytes: testDataBytes})
	m := guestModule(t, s, plain())
	if _, err := m.Run(t.Context(), Call{Export: ExportCall}); err != nil {
		t.Fatal(err)
	}
	poll(t, "the end of an idle worker", func() bool { return s.liveWorkers() == 0 })
	if _, err := m.Run(t.Context(), Call{Export: ExportCall}); err != nil {
		t.Error(err)
	}
}

// TestKilledFromOutside kills idle and busy workers as an out-of-memory killer
// would.
func TestKilledFromOutside(t *testing.T) {
	s := openTest(t, testLimits())
	m := guestModule(t, s, wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, "{}"), wasmtest.OutputAnswer()))
	killAll := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for w := range s.workers {
			w.proc.kill()
		}
	}
	_, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: &fakeCalls{
		read: func(context.Context, []byte) ([]byte, error) { killAll(); return []byte(`{}`), nil },
	}})
	wantError(t, err, abi.ErrGuestTrap)
	if _, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: &fakeCalls{}}); err != nil {
		t.Fatal(err)
	}
	idle := func() bool { m.pool.mu.Lock(); defer m.pool.mu.Unlock(); return len(m.pool.idle) == 1 }
	poll(t, "a worker being idle", idle)
	w := m.pool.idle[0]
	killAll()
	<-w.proc.ended
	if _, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: &fakeCalls{}}); err != nil {
		t.Errorf("after an idle worker was killed: %v", err)
	}
}

// TestPoolHammer makes many calls at once, some of which are killed or give up,
// and checks that each gets its own answer and the pool its size.
func TestPoolHammer(t *testing.T) {
	s := openTest(t, Limits{Workers: 3, GuestCPU: 10 * time.Second, DataBytes: testDataBytes})
	m := guestModule(t, s, wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, "{}"), wasmtest.OutputAnswer()))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			want := `{"n":` + strconv.Itoa(i) + `}`
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out, err := m.Run(ctx, Call{Export: ExportCall, Calls: &fakeCalls{
				read: func(context.Context, []byte) ([]byte, error) {
					if i%5 == 0 {
						cancel()
					}
					if n := s.liveWorkers(); n > 3 {
						t.Errorf("%d workers", n)
					}
					return []byte(want), nil
				},
			}})
			// Whoever cancels may be overtaken by its own answer.
			if err != nil && (i%5 != 0 || !errors.Is(err, abi.ErrTimeout)) {
				t.Errorf("call %d: %v", i, err)
			}
			if err == nil && string(out) != want {
				t.Errorf("call %d got %s", i, out)
			}
		})
	}
	wg.Wait()
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if m.pool.total < 0 || m.pool.total > 3 || len(m.pool.waiters) != 0 {
		t.Errorf("pool has %d workers and %d waiting", m.pool.total, len(m.pool.waiters))
	}
}

// playHostile is a worker that says what no worker says. Its name is its argument.
func playHostile(name string) {
	in := bufio.NewReader(os.Stdin)
	send := func(f frame) { _ = writeFrame(os.Stdout, f) }
	if name != "silent" && name != "gone" {
		_, _ = readHello(in)
		_, _ = readFrame(in, frameLimits{kindModule: 32 << 20})
	}
	switch name {
	case "gone":
		return
	case "silent":
		select {}
	case "garbage":
		_, _ = os.Stdout.WriteString(strings.Repeat("garbage ", 1000))
		return
	case "flood":
		for {
			send(named(kindLog, "info", []byte("early")))
		}
	case "claims":
		send(named(kindFail, "confirmation_required", []byte("please")))
		return
	}
	send(frame{kind: kindCompiled})
	_, _ = readFrame(in, frameLimits{kindStart: 0})
	send(frame{kind: kindReady})
	_, _ = readFrame(in, frameLimits{kindCall: 32 << 20})
	switch name {
	case "length":
		_, _ = os.Stdout.WriteString("O\xff\xff\xff\xff")
	case "unknown call":
		send(named(kindAsk, "secret", []byte("{}")))
	case "bad name":
		send(frame{kindAsk, []byte("\x04Read{}")})
	case "log level":
		send(named(kindLog, "panic", []byte("x")))
	case "cut":
		_, _ = os.Stdout.WriteString("O\x00\x00\x00\x10{}")
	case "second ready":
		send(frame{kind: kindReady})
	case "logs for ever":
		for {
			send(named(kindLog, "info", nil))
		}
	}
	if name != "cut" {
		select {}
	}
}

// TestHostileWorker holds the host against workers that a guest has taken over.
func TestHostileWorker(t *testing.T) {
	dir := t.TempDir()
	wasm := plain().Bytes()
	honest := openTestIn(t, dir, testLimits(), nil)
	if _, err := honest.Compile(t.Context(), wasm); err != nil {
		t.Fatal(err)
	}
	exe, err := selfExecutable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]abi.Code{
		"gone": abi.ErrGuestTrap, "silent": abi.ErrLimitExceeded, "garbage": abi.ErrGuestTrap, "flood": abi.ErrGuestTrap,
		"claims": abi.ErrGuestTrap, "length": abi.ErrGuestTrap, "unknown call": abi.ErrGuestTrap, "bad name": abi.ErrGuestTrap,
		"log level": abi.ErrGuestTrap, "cut": abi.ErrGuestTrap, "second ready": abi.ErrGuestTrap,
		"logs for ever": abi.ErrTimeout,
	} {
		t.Run(name, func(t *testing.T) {
			// Only those that must be waited for have short limits.
			lim := Limits{StartTime: time.Minute, CallTime: time.Minute, GuestCPU: time.Hour}
			switch name {
			case "silent":
				lim.StartTime = 300 * time.Millisecond
			case "logs for ever":
				lim.CallTime = 300 * time.Millisecond
			}
			s, err := Open(t.Context(), Config{Dir: dir, Command: []string{exe, "hostile", name}, Limits: lim})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			m, err := s.Module(wasm, abi.Capabilities())
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Run(t.Context(), Call{Export: ExportCall, Calls: &fakeCalls{}})
			wantError(t, err, want)
		})
	}
}

// playProbe is a worker that reports on its stderr what it was started with.
func playProbe() {
	report := []string{
		"env=" + strconv.Itoa(len(os.Environ())),
		"group=" + strconv.FormatBool(ownGroup()),
	}
	if dir, err := os.Getwd(); err == nil {
		report = append(report, "dir="+dir)
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		own := func(prefix string) bool { return strings.HasPrefix(target, prefix) } // the Go runtime's
		if err == nil && !own("anon_inode:") && !own("/proc/") && !own("/sys/fs/cgroup/") {
			kind, _, _ := strings.Cut(target, ":")
			report = append(report, "fd"+fd.Name()+"="+kind)
		}
	}
	_, _ = os.Stderr.WriteString(strings.Join(report, " "))
}
