//go:build unix

package browser

import (
	"io/fs"
	"os"
	"syscall"
)

// ownFile reports whether a file belongs to this user and only this user may
// write to it.
func ownFile(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}
