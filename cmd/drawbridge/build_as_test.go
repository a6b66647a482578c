package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

func TestAssemblyScriptCompilerIsMissing(t *testing.T) {
	dir := t.TempDir()
	if isAssemblyScript(dir) {
		t.Error("an empty folder is taken for a project")
	}
	for _, name := range []string{"package.json", "asconfig.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !isAssemblyScript(dir) {
		t.Error("a project is not recognised")
	}
	err := buildAssemblyScript(t.Context(), dir, filepath.Join(t.TempDir(), moduleFile))
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Code != abi.ErrInvalidArgs || !strings.HasPrefix(e.Hint, "npm ci --prefix ") {
		t.Errorf("got %#v, want invalid_args and npm ci as hint", err)
	}
}

func TestAssemblyScriptBuild(t *testing.T) {
	dir := filepath.Join("..", "..", "test", "tck", "guests", "as")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Skip("an AssemblyScript project was not built: run make deps-npm")
	}
	var built [][]byte
	for range 2 {
		out := filepath.Join(t.TempDir(), moduleFile)
		if err := buildAssemblyScript(t.Context(), dir, out); err != nil {
			t.Fatal(err)
		}
		wasm, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, wasm)
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("the same source makes another module")
	}
	if _, err := sandbox.Prescan(built[0], sandbox.DefaultLimits()); err != nil {
		t.Error(err)
	}
}
