//go:build unix && !linux

package sandbox

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// processAttr puts a worker in a group of its own.
func processAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}

// lifetimeCPU ends a worker that nobody is left to kill.
const lifetimeCPU = 10 * time.Minute

// confineSelf lowers the worker's own limits. There is no limit on memory here
// that the Go runtime survives.
func confineSelf(hello) error {
	cpu := uint64(lifetimeCPU / time.Second)
	for res, n := range map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_CPU: cpu} {
		var l syscall.Rlimit
		setRlimit(&l, n)
		if err := syscall.Setrlimit(res, &l); err != nil {
			return fmt.Errorf("setting resource %d: %w", res, err)
		}
	}
	return nil
}

// setRlimit fills l, whose fields are signed on some systems.
func setRlimit(l *syscall.Rlimit, n uint64) {
	assign(&l.Cur, n)
	assign(&l.Max, n)
}

func assign[T int64 | uint64](v *T, n uint64) { *v = T(n) }
