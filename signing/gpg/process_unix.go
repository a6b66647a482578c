//go:build unix

package gpg

import (
	"errors"
	"os/exec"
	"syscall"
)

// inOwnGroup puts gpg into a process group of its own, so that what it starts ends
// with it. Its agent has left the group by then and lives on.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return nil
	}
}
