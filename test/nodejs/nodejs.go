// Package nodejs installs npm packages for the tests that run other people's
// programs: pinned by the package-lock.json beside the test, into .cache/npm at the
// top of the repository, once.
package nodejs

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Oldest is the first Node that all of the programs run on.
const Oldest = "v22.19.0"

const installTimeout = 5 * time.Minute

var (
	//go:embed package.json
	nodePackage []byte
	//go:embed package-lock.json
	nodeLock []byte
)

// Node returns a Node that is new enough: the machine's own, or one from npm. Where
// neither can be had the test is skipped, and the run's last lines say so; with
// DRAWBRIDGE_NEED_NODE set it fails.
func Node(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("node"); err == nil {
		out, err := exec.CommandContext(t.Context(), path, "--version").Output() //nolint:gosec // the machine's own node
		if err == nil && !older(strings.TrimSpace(string(out)), Oldest) {
			return path
		}
	}
	return filepath.Join(install(t, "node", nodePackage, nodeLock), "node", "bin", "node")
}

// Packages installs what package.json and package-lock.json in the test's own
// folder list, and returns the node_modules folder.
func Packages(t *testing.T, name string) string {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(name) //nolint:gosec // one of the two below
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return install(t, name, read("package.json"), read("package-lock.json"))
}

// older compares versions such as v22.19.0.
func older(a, b string) bool {
	var x, y [3]int
	if _, err := fmt.Sscanf(a, "v%d.%d.%d", &x[0], &x[1], &x[2]); err != nil {
		return true
	}
	if _, err := fmt.Sscanf(b, "v%d.%d.%d", &y[0], &y[1], &y[2]); err != nil {
		return true
	}
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

func install(t *testing.T, name string, manifest, lock []byte) (modules string) {
	t.Helper()
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append(manifest, lock...))
	dir := filepath.Join(cache, name+"-"+hex.EncodeToString(sum[:6]))
	modules, complete := filepath.Join(dir, "node_modules"), filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return modules
	}
	switch err := fetch(t.Context(), dir, manifest, lock); {
	case errors.Is(err, errAbsent) && os.Getenv("DRAWBRIDGE_NEED_NODE") == "":
		impossible(t, cache, name, err)
	case err != nil:
		t.Fatal(err)
	}
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(cache, "not-run-"+name)) // of an earlier run
	return modules
}

// errAbsent is a machine without npm, or without a way to its registry.
var errAbsent = errors.New("npm is out of reach")

// fetch installs what the lock file says. npm ci would do the same, and refuse a lock
// file that leaves out a package of another system. Packages that are optional are
// for the Inspector's web page.
func fetch(ctx context.Context, dir string, manifest, lock []byte) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w: there is no npm", errAbsent)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"package.json": manifest, "package-lock.json": lock} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-save", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1") //nolint:gosec // the machine's own npm
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case unreachable.Match(out):
		return fmt.Errorf("%w: npm install: %.2000s", errAbsent, out)
	}
	return fmt.Errorf("npm install: %w: %.2000s", err, out)
}

// unreachable are npm's words for a registry that it can't get to.
var unreachable = regexp.MustCompile(`npm error (code|errno) (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)`)

// impossible skips the test, and leaves a note for test/scripts/not-run.sh.
func impossible(t *testing.T, cache, name string, err error) {
	t.Helper()
	first, _, _ := strings.Cut(err.Error(), "\n")
	note := filepath.Join(cache, "not-run-"+name)
	if err := errors.Join(os.MkdirAll(cache, 0o700), os.WriteFile(note, []byte(first+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Skipf("%s cannot be installed: %v", name, err)
}

// cacheDir is .cache/npm beside go.mod.
func cacheDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".cache", "npm"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test")
		}
		dir = parent
	}
}
