package registry

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A template is a registry, or a client's directory, that was made once: tests begin
// with a copy. Making one takes thirty runs of git.
type template struct {
	files []templateFile
	now   time.Time // when it was finished
}

type templateFile struct {
	path string // below the directory
	mode fs.FileMode
	data []byte
}

// templates are the origins of newOrigin by the id of the registry, and the homes of
// newFixture below "home".
var templates struct {
	mu   sync.Mutex
	made map[string]template
}

// templateOf returns a template, which make makes in a directory if it is the first
// time.
func templateOf(tb testing.TB, name string, build func(dir string) time.Time) template {
	tb.Helper()
	templates.mu.Lock()
	defer templates.mu.Unlock()
	if t, ok := templates.made[name]; ok {
		return t
	}
	dir := tb.TempDir()
	t := template{now: build(dir)}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		f, err := fileOf(dir, path, d)
		t.files = append(t.files, f)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if templates.made == nil {
		templates.made = map[string]template{}
	}
	templates.made[name] = t
	return t
}

func fileOf(dir, path string, d fs.DirEntry) (f templateFile, err error) {
	info, err := d.Info()
	if err != nil {
		return f, err
	}
	f.mode = info.Mode()
	if f.path, err = filepath.Rel(dir, path); err == nil && !d.IsDir() {
		f.data, err = os.ReadFile(path)
	}
	return f, err
}

// copyTo makes a copy in a directory that is empty.
func (t template) copyTo(dir string) error {
	for _, f := range t.files {
		path := filepath.Join(dir, f.path)
		if f.mode.IsDir() {
			if err := os.MkdirAll(path, f.mode.Perm()); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, f.data, f.mode.Perm()); err != nil {
			return err
		}
	}
	return nil
}
