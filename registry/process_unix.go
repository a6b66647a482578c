//go:build unix

package registry

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// inOwnGroup puts the child into a process group of its own, so that the helpers
// it starts end with it.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return kill(cmd.Process.Pid) }
}

// killGroup ends the child's process group. It may be gone already.
func killGroup(cmd *exec.Cmd) { _ = kill(cmd.Process.Pid) }

func kill(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending process group %d: %w", pid, err)
	}
	return nil
}

// lockFile takes the exclusive lock of an open file, waiting for whoever has it.
// It ends with the file being closed, or with the process.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
