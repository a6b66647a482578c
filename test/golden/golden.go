// Package golden compares what a test made with a file that stands in the
// repository. With -update the files are written instead, so that a reviewer
// reads the change to a format as a change to its files.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

var update = flag.Bool("update", false, "write golden files")

// Update reports whether golden files are to be written.
func Update() bool { return *update }

// Check compares got with the file at path, which begins at the test's own
// folder, and returns what the file holds.
func Check(tb testing.TB, path string, got []byte) []byte {
	tb.Helper()
	if *update {
		write(tb, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		tb.Errorf("%s differs; after a look, run the test with -update\n%s", path, diff.Diff(path, want, "this run", got))
	}
	return want
}

func write(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}
