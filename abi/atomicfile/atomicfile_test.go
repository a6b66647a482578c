package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, want := range []string{"one", "", "three"} {
		if err := atomicfile.Write(path, []byte(want), 0o400); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("mode %v, %v, want 0400", info.Mode(), err)
	}
	wantAlone(t, filepath.Dir(path))
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.Write(filepath.Join(dir, "no", "f"), nil, 0o600); err == nil {
		t.Error("writing into a missing directory succeeds")
	}
	target := filepath.Join(dir, "f")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(target, []byte("x"), 0o600); err == nil {
		t.Error("replacing a directory succeeds")
	}
	wantAlone(t, dir)
}

// wantAlone checks that the one file of a test is all that its directory holds.
func wantAlone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "f" {
		t.Errorf("the directory holds %v (%v), want only f", entries, err)
	}
}
