// Package atomicfile replaces files whole: after a crash at any moment the old
// content is there or the new one, never a part of it. It is the only place that
// renames files.
package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Write makes path hold data with the given permissions. The data goes to a
// temporary file in the same directory, is synced, takes the place of path, and
// then the directory is synced. The directory must exist. On an error path is as
// it was before, or, if only the last sync failed, already new.
func Write(path string, data []byte, perm os.FileMode) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("making a temporary file: %w", err)
	}
	if err := fill(tmp, data, perm); err != nil {
		return discard(tmp.Name(), err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil { //nolint:forbidigo // this is the atomic replace
		return discard(tmp.Name(), fmt.Errorf("replacing %q: %w", path, err))
	}
	return syncDir(dir)
}

// fill writes, syncs and closes f.
func fill(f *os.File, data []byte, perm os.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", f.Name(), err)
	}
	return nil
}

// discard removes the temporary file and returns the error that led here.
func discard(name string, cause error) error {
	if err := os.Remove(name); err != nil {
		return fmt.Errorf("%w (and removing %q: %w)", cause, name, err)
	}
	return cause
}

// syncDir makes the new directory entry durable. Windows has no such call.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("opening %q to sync it: %w", dir, err)
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("syncing %q: %w", dir, err)
	}
	return nil
}

// Move gives the file from the name to, in place of a file that has it, within one
// directory. The content is not touched, and the change is not synced: it is for
// files that may be lost, such as old logs.
func Move(from, to string) error {
	if filepath.Dir(from) != filepath.Dir(to) {
		return fmt.Errorf("moving %q to another directory than its own", from)
	}
	if err := os.Rename(from, to); err != nil { //nolint:forbidigo // this package is where files are renamed
		return fmt.Errorf("moving %q: %w", from, err)
	}
	return nil
}
