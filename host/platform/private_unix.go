//go:build unix

package platform

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// checkPrivate refuses what somebody else owns or may use. want is the mode to
// propose.
func checkPrivate(path string, info fs.FileInfo, want fs.FileMode) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return refusePath("the owner of %q is not known", path)
	}
	if uid := os.Geteuid(); int(st.Uid) != uid {
		return abi.Errorf(abi.ErrForbidden, "", "%q belongs to user id %d, not to %d", path, st.Uid, uid).
			WithHint("sudo chown %d %s && chmod %o %s", uid, ShellQuote(path), want, ShellQuote(path))
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return abi.Errorf(abi.ErrForbidden, "", "%q may be used by others (mode %04o)", path, mode).
			WithHint("chmod %o %s", want, ShellQuote(path))
	}
	return nil
}

// KeepPrivate makes every file that this process and the programs it starts
// create from now on accessible to its owner alone. It is for a process's start:
// the setting is the whole process's.
func KeepPrivate() { syscall.Umask(0o077) }
