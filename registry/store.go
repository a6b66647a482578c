package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
)

// A store keeps modules and releases under their hash. What is in it means
// nothing until the lock file names it, and every read checks the hash.
type store struct{ dir string }

const (
	extModule  = ".wasm"
	extRelease = ".json"
)

func (s store) path(sha256, ext string) string { return filepath.Join(s.dir, sha256+ext) }

// put writes data under its hash. A file that is there already, and may be
// damaged, is replaced.
func (s store) put(data []byte, ext string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the store: %w", err)
	}
	if err := atomicfile.Write(s.path(hashOf(data), ext), data, 0o400); err != nil {
		return fmt.Errorf("storing %s: %w", hashOf(data), err)
	}
	return nil
}

// get reads a file once. ok is false if the bytes aren't the ones meant.
func (s store) get(want FileHash, ext string) (data []byte, ok bool, err error) {
	data, err = readLimited(s.path(want.SHA256, ext), want.Size)
	if err != nil {
		return nil, false, err
	}
	return data, want.matches(data), nil
}

// sweep removes what the lock doesn't name. It is housekeeping after the fact.
func (s store) sweep(keep map[string]bool) error {
	entries, err := os.ReadDir(s.dir)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the store: %w", err)
	}
	for _, e := range entries {
		hash, _, _ := strings.Cut(e.Name(), ".")
		if keep[hash] {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			return fmt.Errorf("clearing the store: %w", err)
		}
	}
	return nil
}
