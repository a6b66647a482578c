package registry

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// What one git process may use. Its helpers inherit the limits, each for itself.
const (
	gitMemory  = 1 << 30 // address space
	gitCPU     = 60      // seconds
	gitFile    = 256 << 20
	gitHandles = 256
)

// limit sets the limits of a process that was just started. It runs before git
// has read its configuration, let alone a byte from the network.
func limit(p *os.Process, how limits) error {
	for _, l := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"memory", unix.RLIMIT_AS, gitMemory},
		{"cpu", unix.RLIMIT_CPU, gitCPU},
		{"file size", unix.RLIMIT_FSIZE, gitFile},
		{"open files", unix.RLIMIT_NOFILE, gitHandles},
		{"core", unix.RLIMIT_CORE, 0},
	} {
		rl := unix.Rlimit{Cur: l.max, Max: l.max}
		if how == helpersFree && l.resource == unix.RLIMIT_AS {
			rl.Max = unix.RLIM_INFINITY
		}
		err := unix.Prlimit(p.Pid, l.resource, &rl, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it has ended already
			return fmt.Errorf("setting the %s limit: %w", l.name, err)
		}
	}
	return nil
}
