//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// ownGroup reports whether this process leads a group of its own.
func ownGroup() bool { return syscall.Getpgrp() == os.Getpid() }
