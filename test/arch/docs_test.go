package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPackageDocs(t *testing.T) {
	docs := map[string][]string{}
	eachFile(t, func(path string, f *ast.File) {
		dir := filepath.Dir(path)
		if _, ok := docs[dir]; !ok {
			docs[dir] = nil
		}
		if f.Doc != nil {
			docs[dir] = append(docs[dir], path)
		}
	})
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("%s: want one package comment, have %q", dir, files)
		}
	}
}

// tourStep matches "1. `path/file.go` `Name`", where Name is a func, a method
// or a type declared in that file.
var tourStep = regexp.MustCompile("(?m)^\\d+\\. `([^`]+\\.go)` `([^`]+)`")

func TestTour(t *testing.T) {
	steps := tourStep.FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(steps) < 8 {
		t.Fatalf("found %d steps in README.md", len(steps))
	}
	decls := declarations(t)
	for _, s := range steps {
		if !decls[s[1]+" "+s[2]] {
			t.Errorf("README.md names %s in %s, which is not declared there", s[2], s[1])
		}
	}
}

func declarations(t *testing.T) map[string]bool {
	t.Helper()
	decls := map[string]bool{}
	eachFile(t, func(path string, f *ast.File) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				decls[path+" "+funcName(d)] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						decls[path+" "+s.Name.Name] = true
					case *ast.ValueSpec:
						decls[path+" "+s.Names[0].Name] = true
					}
				}
			}
		}
	})
	return decls
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	typ := d.Recv.List[0].Type
	if s, ok := typ.(*ast.StarExpr); ok {
		typ = s.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// mdLink matches the target of a Markdown link.
var mdLink = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

func TestLinks(t *testing.T) {
	files, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../../*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, deeper...) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mdLink.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(f), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", f, m[1])
			}
		}
	}
}

func TestTopLevel(t *testing.T) {
	want := []string{
		".ci", ".gitignore", ".golangci.yml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md",
		"SECURITY.md", "abi", "cmd", "connectors-src", "docs", "go.mod", "go.sum", "host", "registry", "sandbox", "signing", "test",
	}
	ents, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	ignored := []string{".git", ".bin", ".cache", "dist", "run"}
	for _, e := range ents {
		if !slices.Contains(want, e.Name()) && !slices.Contains(ignored, e.Name()) {
			t.Errorf("%s stands at the top level; see the layout in CONTRIBUTING.md", e.Name())
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func eachFile(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && p != root && (e.Name() == "testdata" || e.Name() == "node_modules" || strings.HasPrefix(e.Name(), ".")) && e.Name() != ".." {
			return filepath.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(rel), file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
