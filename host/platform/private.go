package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Modes of everything we keep.
const (
	DirMode  fs.FileMode = 0o700
	FileMode fs.FileMode = 0o600
)

// CreateDir makes path and the parents it lacks, for their owner alone, and
// checks path as [CheckDir] does.
func CreateDir(path string) error {
	if err := os.MkdirAll(path, DirMode); err != nil {
		return fmt.Errorf("making directory: %w", err)
	}
	return CheckDir(path)
}

// CheckDir refuses a directory that group or others may enter, read or write,
// or that another user owns. A link to a directory is judged by where it leads.
func CheckDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("checking directory: %w", err)
	}
	if !info.IsDir() {
		return refusePath("%q is not a directory", path)
	}
	return checkPrivate(path, info, DirMode)
}

// CheckFile refuses a file that group or others may read or write, that
// another user owns, or that is not a regular file; links are not followed.
// A file that is not there is an error that is [fs.ErrNotExist].
func CheckFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("checking file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return refusePath("%q is not a regular file", path)
	}
	return checkPrivate(path, info, FileMode)
}

// CreateFile makes an empty file for its owner alone, unless there is one,
// and checks it as [CheckFile] does.
func CreateFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, FileMode)
	switch {
	case err == nil:
		if err := f.Close(); err != nil {
			return fmt.Errorf("making file: %w", err)
		}
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("making file: %w", err)
	}
	return CheckFile(path)
}

// refusePath proposes to put the path out of the way: what is missing is made.
func refusePath(format, path string) *abi.Error {
	path = filepath.Clean(path)
	return abi.Errorf(abi.ErrForbidden, "", format, path).WithHint("mv %s %s", ShellQuote(path), ShellQuote(path+".aside"))
}

// ShellQuote makes s one word of a shell.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
