package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// waitsWithoutReaping says that waitExited leaves the pid taken, so that a kill
// under the lock can't meet another process.
const waitsWithoutReaping = true

// selfExecutable names the running program even after its file was replaced.
func selfExecutable() (string, error) { return "/proc/self/exe", nil }

// processAttr puts a worker in a group of its own, out of reach of the
// terminal's signals, and has the kernel kill it when its parent thread ends.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// waitExited returns when the child has ended, and does not reap it.
func waitExited(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// readCPU asks the process's own clock.
func readCPU(pid int) (time.Duration, bool) {
	const processClock = 2 // CPUCLOCK_SCHED of <linux/posix-timers.h>
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|processClock), &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// readUsage asks the process's own clock and its memory counters.
func readUsage(pid int) (usage, bool) {
	cpu, ok := readCPU(pid)
	if !ok {
		return usage{}, false
	}
	u := usage{cpu: cpu}
	statm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return u, true
	}
	if fields := bytes.Fields(statm); len(fields) > 1 {
		pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
		if err == nil {
			u.resident = pages * int64(os.Getpagesize())
		}
	}
	return u, true
}

// readPeak asks for the largest resident set that a process had, in bytes.
func readPeak(pid int) int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// lifetimeCPU ends a worker that nobody is left to kill.
const lifetimeCPU = 10 * time.Minute

// confineSelf lowers the worker's own limits, for good.
func confineSelf(told hello) error {
	// A write beyond the file limit is then an error and not a signal.
	signal.Ignore(syscall.SIGXFSZ)
	files := uint64(0)
	if told.WriteCache {
		files = maxCacheBytes
	}
	limits := []struct {
		name string
		res  int
		n    uint64
	}{
		{"core", unix.RLIMIT_CORE, 0},
		{"cpu", unix.RLIMIT_CPU, uint64(lifetimeCPU / time.Second)},
		{"files", unix.RLIMIT_NOFILE, 32},
		{"file size", unix.RLIMIT_FSIZE, files},
	}
	for _, l := range limits {
		if err := unix.Setrlimit(l.res, &unix.Rlimit{Cur: l.n, Max: l.n}); err != nil {
			return fmt.Errorf("setting %s: %w", l.name, err)
		}
	}
	if told.DataBytes > 0 {
		n := uint64(told.DataBytes)
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("setting data: %w", err)
		}
	}
	return nil
}

// A spawner starts every worker from one thread that lives as long as it does:
// Pdeathsig means the thread that forked, not the process, and Go ends threads
// when it likes.
type spawner struct {
	jobs chan func()
	quit chan struct{} // close asks the thread to end
	done chan struct{} // and it has
}

func newSpawner() *spawner {
	// What this process was started with and does not know of is not a worker's.
	// Go marks what it opens itself; older kernels can't do this and go without.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	s := &spawner{jobs: make(chan func()), quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends here, and takes its workers along
		for {
			select {
			case job := <-s.jobs:
				job()
			case <-s.quit:
				return
			}
		}
	}()
	return s
}

// run calls f in the spawner's thread.
func (s *spawner) run(f func() error) error {
	errc := make(chan error, 1)
	select {
	case s.jobs <- func() { errc <- f() }:
		return <-errc
	case <-s.done:
		return os.ErrClosed
	}
}

// close ends the thread. It is called once.
func (s *spawner) close() {
	close(s.quit)
	<-s.done
}
