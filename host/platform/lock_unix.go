//go:build unix

package platform

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const openNoFollow = unix.O_NOFOLLOW

// tryLock takes f's lock, alone or shared, or returns errHeld.
func tryLock(f *os.File, alone bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		default:
			return fmt.Errorf("locking file: %w", err)
		}
	}
}
