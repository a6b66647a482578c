package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// isAssemblyScript reports whether dir is a project that asc builds.
func isAssemblyScript(dir string) bool {
	for _, name := range []string{"package.json", "asconfig.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// buildAssemblyScript compiles the project in dir to the file out, by the compiler
// that its package.json pins: another version makes another module.
func buildAssemblyScript(ctx context.Context, dir, out string) error {
	asc := filepath.Join("node_modules", "assemblyscript", "bin", "asc.js")
	if _, err := os.Stat(filepath.Join(dir, asc)); err != nil {
		return abi.Errorf(abi.ErrInvalidArgs, "build", "the AssemblyScript compiler is not installed in %q", dir).
			WithHint("npm ci --prefix %s", platform.ShellQuote(dir))
	}
	cmd := exec.CommandContext(ctx, "node", asc, "--config", "asconfig.json", "--outFile", out)
	cmd.Dir = dir
	msg, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return abi.Errorf(abi.ErrInvalidArgs, "build", "building %q needs Node.js, which is not in PATH", dir).
			WithHint("sudo apt-get install nodejs")
	}
	if err != nil {
		return abi.Errorf(abi.ErrInvalidArgs, "build", "the AssemblyScript compiler refused %q: %w\n%s", dir, err, strings.TrimSpace(string(msg)))
	}
	return nil
}
