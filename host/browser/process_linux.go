package browser

import (
	"os/exec"
	"syscall"
)

// setProcessAttributes gives the browser a group of its own and lets it end
// with us, however we end.
func setProcessAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends what the browser left behind.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
