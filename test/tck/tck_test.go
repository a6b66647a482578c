package tck_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/sandbox"
	"github.com/drawbridge-mcp/drawbridge/test/tck"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.WorkerCommand {
		os.Exit(sandbox.WorkerMain(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestGo(t *testing.T) {
	tck.Run(t, build(t, func(out string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, "./guests/go")
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
		return cmd
	}))
}

func TestAssemblyScript(t *testing.T) {
	dir := filepath.Join("guests", "as")
	asc := filepath.Join("node_modules", "assemblyscript", "bin", "asc.js")
	if _, err := os.Stat(filepath.Join(dir, asc)); err != nil {
		t.Skipf("the AssemblyScript SDK was not run: run npm ci in test/tck/%s", dir)
	}
	compile := func(out string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "node", asc, "--config", "asconfig.json", "--outFile", out)
		cmd.Dir = dir
		return cmd
	}
	wasm := build(t, compile)
	if !bytes.Equal(wasm, build(t, compile)) {
		t.Error("the same source makes another module")
	}
	tck.Run(t, wasm)
}

func build(t *testing.T, compile func(out string) *exec.Cmd) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	if b, err := compile(out).CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, b)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
