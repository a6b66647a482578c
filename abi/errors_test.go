package abi_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestErrorIsItsCode(t *testing.T) {
	err := fmt.Errorf("listing: %w", abi.Errorf(abi.ErrNotFound, "navigate", "no page %q: %w", "/x", fs.ErrNotExist))
	if !errors.Is(err, abi.ErrNotFound) || errors.Is(err, abi.ErrForbidden) {
		t.Errorf("%v is not its code", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v lost its cause", err)
	}
	if got, want := err.Error(), `listing: navigate: no page "/x": file does not exist`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A message says one operation, however many errors are in it.
func TestErrorTellsOneOperation(t *testing.T) {
	inner := abi.Errorf(abi.ErrUntrusted, "verify", "signed by nobody: %w", fs.ErrNotExist)
	middle := abi.Errorf(abi.ErrInvalidArgs, "open", "no key: %w", fmt.Errorf("reading it: %w", inner))
	outer := abi.Errorf(abi.ErrInvalidArgs, "key import", "%q: %w", "a verify: b", middle)
	if got, want := outer.Error(), `key import: "a verify: b": no key: reading it: signed by nobody: file does not exist`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e, ok := errors.AsType[*abi.Error](errors.Unwrap(outer)); !ok || e.Op != "open" || !errors.Is(outer, abi.ErrUntrusted) || !errors.Is(outer, fs.ErrNotExist) {
		t.Errorf("%v lost its causes", outer)
	}
}

func TestErrorWithoutOperation(t *testing.T) {
	if got := abi.Errorf(abi.ErrTimeout, "", "late").Error(); got != "late" {
		t.Errorf("got %q", got)
	}
}

func TestErrorAsDataAndBack(t *testing.T) {
	cause := errors.New("/home/someone/secret")
	e := &abi.Error{Code: abi.ErrAuthExpired, Op: "navigate", Msg: "signed out", Err: cause}
	data := e.WithHint("drawbridge login %s", "tracker").Data()
	back := data.AsError("step 1")
	if back.Code != abi.ErrAuthExpired || back.Hint != "drawbridge login tracker" || back.Error() != "step 1: navigate: signed out" {
		t.Errorf("back is %+v", back)
	}
	if strings.Contains(fmt.Sprintf("%+v", *data), "secret") || errors.Is(back, cause) {
		t.Errorf("the cause crossed the boundary: %+v", data)
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aéb", 2, "a…"},
		{"€", 2, "…"},
		{"a\x80\x80", 2, "…"},
		{"\x80\x80", 1, "…"},
		{"abc", 0, "…"},
	} {
		if got := abi.Shorten(tt.in, tt.most); got != tt.want {
			t.Errorf("Shorten(%q, %d) is %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

// Codes lists every constant of type Code, in order and once.
func TestCodesIsComplete(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []abi.Code
	for _, decl := range f.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Code" {
				s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, abi.Code(s))
			}
		}
	}
	if !slices.Equal(declared, abi.Codes()) {
		t.Errorf("declared %q\nlisted   %q", declared, abi.Codes())
	}
}

func TestOpsAreSplit(t *testing.T) {
	var acts []abi.Op
	for _, op := range abi.Ops() {
		if op.IsAct() {
			acts = append(acts, op)
		}
	}
	if !slices.Equal(acts, []abi.Op{abi.OpClick, abi.OpFill, abi.OpSelect, abi.OpCheck, abi.OpPress}) {
		t.Errorf("act steps are %q", acts)
	}
	if abi.Op("eval").IsAct() || slices.Contains(abi.Ops(), "eval") {
		t.Error("an unknown operation is one")
	}
}

func TestAbsentDestructiveIsDestructive(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		flag *bool
		want bool
	}{{nil, true}, {&yes, true}, {&no, false}} {
		if got := (&abi.Tool{Destructive: tt.flag}).IsDestructive(); got != tt.want {
			t.Errorf("destructive is %v, want %v", got, tt.want)
		}
	}
}
