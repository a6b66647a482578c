package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const keyBytes = 32

// loadKey reads the key, or makes it. Two processes that make it at once end
// with the same one. A key that others may read is refused.
func loadKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh := make([]byte, keyBytes)
	rand.Read(fresh) // never fails
	tmp, err := writeTemp(path, fresh)
	if err != nil {
		return nil, fmt.Errorf("making key: %w", err)
	}
	defer func() { _ = os.Remove(tmp) }()
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making key: %w", err)
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("reading key: %w", err)
	}
	if err := ownFile(st); err != nil {
		return nil, fmt.Errorf("reading key %q: %w", path, err)
	}
	key, err := readRegular(path, keyBytes)
	if err != nil {
		return nil, fmt.Errorf("reading key: %w", err)
	}
	if len(key) != keyBytes {
		return nil, fmt.Errorf("reading key %q: %d bytes where %d are due", path, len(key), keyBytes)
	}
	return key, nil
}

// readRegular reads a regular file of at most limit bytes.
func readRegular(path string, limit int64) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", path)
	}
	if st.Size() > limit {
		return nil, fmt.Errorf("%q has %d bytes; at most %d are allowed", path, st.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, st.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, noEOF(err)
	}
	return b, nil
}

// writeTemp writes a synced file beside path and returns its name.
func writeTemp(path string, b []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// privateDir makes a directory for one worker, with copies of files in it.
func (c *cacheStore) privateDir(files []cacheFile) (string, error) {
	run := filepath.Join(c.dir, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return "", fmt.Errorf("making private directory: %w", err)
	}
	dir, err := os.MkdirTemp(run, "")
	if err != nil {
		return "", fmt.Errorf("making private directory: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, f.data, 0o600)
		}
		if err != nil {
			removeAll(dir)
			return "", fmt.Errorf("writing private copy: %w", err)
		}
	}
	return dir, nil
}

// harvest reads what a worker has left in its private directory. The worker has
// compiled hostile bytes, so names, types and sizes are checked and no link is
// followed.
func harvest(dir string) ([]cacheFile, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("reading compiled files: %w", err)
	}
	defer func() { _ = root.Close() }()
	var files []cacheFile
	left := int64(maxCacheBytes)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if !st.Mode().IsRegular() || !isCacheName(name) || st.Size() > left || len(files) == maxCacheFiles {
			return fmt.Errorf("unexpected file %q of %d bytes", name, st.Size())
		}
		left -= st.Size()
		data, err := root.ReadFile(name)
		files = append(files, cacheFile{name: name, data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading compiled files: %w", err)
	}
	return files, nil
}

// countFiles returns how many files there are in a private directory.
func countFiles(dir string) int {
	n := 0
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil // what can't be read is not counted
	})
	return n
}

// sweep removes private directories that a host which was killed left behind.
func (c *cacheStore) sweep(olderThan time.Duration) {
	run := filepath.Join(c.dir, "run")
	entries, err := os.ReadDir(run)
	if err != nil {
		return // none yet
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > olderThan {
			removeAll(filepath.Join(run, e.Name()))
		}
	}
}

// removeAll removes a private directory; what stays is swept later.
func removeAll(dir string) { _ = os.RemoveAll(dir) }
