package platform

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

const openNoFollow = 0

// tryLock takes f's lock, alone or shared, or returns errHeld. The locked
// range lies past the content, because others may not read what is locked.
func tryLock(f *os.File, alone bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := &windows.Overlapped{Offset: maxLockFile}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return errHeld
	}
	return fmt.Errorf("locking file: %w", err)
}
