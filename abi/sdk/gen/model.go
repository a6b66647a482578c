package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"strings"
)

// Roots are the documents that cross the boundary. What they are made of follows.
var roots = []string{
	"CallInput", "CallOutput", "Description", "Program", "Answer", "FetchRequest", "FetchAnswer",
	"ProgressReport", "Table", "Code", "Capability",
}

// A model is what of package abi the SDKs need, in the order of its source.
type model struct {
	limits  []value
	enums   []enum
	structs []structure
}

// An enum is a named string type with its values; one without any is open.
type enum struct {
	name, doc string
	values    []value
}

// A value is one constant. A duration is in milliseconds, and its name says so.
type value struct {
	name, doc string
	text      string // of a string
	number    int64
	isText    bool
}

type structure struct {
	name, doc string
	fields    []field
}

// A field is one member of a JSON object.
type field struct {
	json, doc string
	typ       types.Type
	omit      bool // left out if zero
}

// A loader gathers a model from a type-checked package.
type loader struct {
	pkg    *types.Package
	docs   map[token.Pos]string // by the position of the name
	wanted map[string]bool
}

func load(dir string) (*model, error) {
	set := token.NewFileSet()
	notTests := func(i fs.FileInfo) bool { return !strings.HasSuffix(i.Name(), "_test.go") }
	parsed, err := parser.ParseDir(set, dir, notTests, parser.ParseComments) //nolint:staticcheck // one directory without build tags
	if err != nil {
		return nil, fmt.Errorf("parsing package abi: %w", err)
	}
	abi, ok := parsed["abi"]
	if !ok {
		return nil, fmt.Errorf("no package abi in %q", dir)
	}
	l := loader{docs: map[token.Pos]string{}, wanted: map[string]bool{}}
	var files []*ast.File
	for _, f := range abi.Files {
		files = append(files, f)
		l.comments(f)
	}
	conf := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	if l.pkg, err = conf.Check("abi", set, files, nil); err != nil {
		return nil, fmt.Errorf("checking package abi: %w", err)
	}
	for _, name := range roots {
		l.want(l.pkg.Scope().Lookup(name).Type())
	}
	return l.model(), nil
}

// comments notes what stands above or beside each type, field and constant.
func (l *loader) comments(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			for _, s := range n.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					l.docs[t.Name.Pos()] = text(n.Doc)
				}
				if v, ok := s.(*ast.ValueSpec); ok && !n.Lparen.IsValid() {
					l.docs[v.Names[0].Pos()] = text(n.Doc)
				}
			}
		case *ast.ValueSpec:
			if d := text(n.Doc) + text(n.Comment); d != "" {
				l.docs[n.Names[0].Pos()] = d
			}
		case *ast.Field:
			for _, name := range n.Names {
				l.docs[name.Pos()] = text(n.Doc) + text(n.Comment)
			}
		}
		return true
	})
}

func text(c *ast.CommentGroup) string { return strings.TrimSpace(c.Text()) }

// want marks a type of package abi and all that it is made of.
func (l *loader) want(t types.Type) {
	switch t := t.(type) {
	case *types.Pointer:
		l.want(t.Elem())
	case *types.Slice:
		l.want(t.Elem())
	case *types.Map:
		l.want(t.Elem())
	case *types.Named:
		if t.Obj().Pkg() != l.pkg || l.wanted[t.Obj().Name()] {
			return
		}
		l.wanted[t.Obj().Name()] = true
		if s, ok := t.Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				l.want(f.Type())
			}
		}
	}
}
