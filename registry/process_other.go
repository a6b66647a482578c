//go:build !unix

package registry

import (
	"os"
	"os/exec"
)

// inOwnGroup does nothing here: cancelling ends the child alone.
func inOwnGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// lockFile does nothing here: two processes that install at once may undo each
// other's change of the lock file, which stays whole.
func lockFile(*os.File) error { return nil }
