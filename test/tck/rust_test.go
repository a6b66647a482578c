package tck_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/tck"
)

func TestRust(t *testing.T) {
	rustc := rustForWASM(t)
	wasm := buildRust(t, rustc)
	if !bytes.Equal(wasm, buildRust(t, rustc)) {
		t.Error("the same source in another folder makes another module")
	}
	tck.Run(t, wasm)
}

// rustForWASM finds a compiler with the standard library of our target. One that a
// person installed may lack it where the system's has it.
func rustForWASM(t *testing.T) string {
	t.Helper()
	for _, rustc := range []string{"rustc", "/usr/bin/rustc"} {
		dir, err := exec.CommandContext(t.Context(), rustc, "--print", "target-libdir", "--target", "wasm32-unknown-unknown").Output()
		if err != nil {
			continue
		}
		if found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "libstd-*.rlib")); err == nil && len(found) > 0 {
			return rustc
		}
	}
	t.Skip("the Rust SDK was not run: run apt-get install rustc libstd-rust-dev-wasm32 lld")
	return ""
}

// buildRust compiles copies of SDK and guest in a folder of their own.
func buildRust(t *testing.T, rustc string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, source := range map[string]string{"sdk": filepath.Join("..", "..", "abi", "sdk", "rust", "src"), "guest": filepath.Join("guests", "rust")} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
	}
	compile := func(out string, args ...string) *exec.Cmd {
		fixed := []string{"--edition", "2021", "--target", "wasm32-unknown-unknown", "-O", "-C", "panic=abort", "-C", "strip=symbols", "--remap-path-prefix", dir + "=/src", "-o", out}
		cmd := exec.CommandContext(t.Context(), rustc, append(fixed, args...)...)
		cmd.Dir = dir
		return cmd
	}
	lib := filepath.Join(dir, "libdrawbridge_sdk.rlib")
	if b, err := compile(lib, "--crate-type", "rlib", "--crate-name", "drawbridge_sdk", filepath.Join("sdk", "lib.rs")).CombinedOutput(); err != nil {
		t.Fatalf("building the SDK: %v\n%s", err, b)
	}
	return build(t, func(out string) *exec.Cmd {
		return compile(out, "--crate-type", "cdylib", "--crate-name", "guest", "--extern", "drawbridge_sdk="+lib, filepath.Join("guest", "lib.rs"))
	})
}
