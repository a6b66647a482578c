package arch

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// An extension of host/mcpserver answers calls without the gate: it is for test
// servers, and nothing that ships sets one.
func TestNothingShipsAnExtension(t *testing.T) {
	word := regexp.MustCompile(`\bExtension\b`)
	looked := 0
	tree := os.DirFS("../..")
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "test" || name == "host/mcpserver" || name != "." && strings.HasPrefix(path.Base(name), ".")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if looked++; strings.Contains(string(src), "host/mcpserver\"") && word.Match(src) {
			t.Errorf("%s sets or names an Extension", name)
		}
		return nil
	})
	if err != nil || looked < 100 {
		t.Fatalf("looked at %d files: %v", looked, err)
	}
}
