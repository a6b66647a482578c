//go:build unix

package browser

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// lockProfile makes sure that we are the only one to use the profile, and then
// removes the marks of a browser that was killed: Chromium takes them for a
// browser on another machine if the host's name has changed since.
func lockProfile(dir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, "drawbridge.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the profile's lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, abi.Errorf(abi.ErrBrowserGone, "launch", "another browser uses the profile %q: %w", dir, err).
			WithHint("drawbridge doctor")
	}
	for _, name := range []string{"SingletonLock", "SingletonSocket", "SingletonCookie"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("removing the mark of an earlier browser: %w", err), f.Close())
		}
	}
	return f, nil
}
