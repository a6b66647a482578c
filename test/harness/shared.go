package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/sandbox"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// What is dear to make and can't be spoiled is shared by all tests of a process:
// modules, compiled code, keys.
var shared struct {
	mu      sync.Mutex
	dir     string
	modules map[string][]byte
	program string // cmd/drawbridge, built without the race detector
	box     *sandbox.Sandbox
	keys    *Keys
}

// Root is the top of the repository.
func Root() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	panic("BUG: the tests run outside the repository")
}

// Corpus is a folder of the public data that is not part of this repository, such
// as sites/captures/mantis. Where it is absent the test is skipped, and says so;
// test/scripts/not-run.sh says it at the end of a run.
func Corpus(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv("DRAWBRIDGE_SHARED")
	if dir == "" {
		dir = filepath.Join(Root(), "..", "shared")
	}
	dir = filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("not run: the tests on %s (set DRAWBRIDGE_SHARED to a folder that has it)", name)
	}
	return dir
}

// Module builds the Go guest in a source folder, once per process.
func Module(tb testing.TB, source string) []byte {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if wasm, ok := shared.modules[source]; ok {
		return wasm
	}
	out := filepath.Join(tb.TempDir(), "module.wasm")
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, ".")
	cmd.Dir = filepath.Join(Root(), source)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("building %s: %v\n%s", source, err, msg)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	if shared.modules == nil {
		shared.modules = map[string][]byte{}
	}
	shared.modules[source] = wasm
	return wasm
}

// sandbox returns the process's sandbox, or one of the world's own.
func (w *World) sandbox() *sandbox.Sandbox {
	w.T.Helper()
	if w.opts.OwnCache || w.opts.Limits != (sandbox.Limits{}) {
		shared.mu.Lock()
		command := worker(w.T)
		shared.mu.Unlock()
		box, err := sandbox.Open(w.T.Context(), sandbox.Config{
			Dir: filepath.Join(w.Dir, "compiled"), Command: command, Limits: w.opts.Limits, Log: w.logger(),
		})
		w.check(err)
		w.T.Cleanup(func() { _ = box.Close() })
		return box
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.box == nil {
		box, err := sandbox.Open(context.Background(), sandbox.Config{Dir: filepath.Join(sharedDir(w.T), "compiled"), Command: worker(w.T)})
		w.check(err)
		shared.box = box
	}
	return shared.box
}

// worker is the command of a worker: the test binary itself, or, under the race
// detector, the program as users have it. The detector's shadow memory is far
// above the kernel's limit on a worker, and compiling takes minutes under it;
// the sandbox's own tests run workers with it. shared.mu is held.
func worker(tb testing.TB) []string {
	tb.Helper()
	if !raceEnabled {
		return nil
	}
	if shared.program == "" {
		path := filepath.Join(sharedDir(tb), "drawbridge")
		ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/drawbridge")
		cmd.Dir = Root()
		if msg, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("building the worker: %v\n%s", err, msg)
		}
		shared.program = path
	}
	return []string{shared.program, sandbox.WorkerCommand}
}

// sharedDir is the process's own; shared.mu is held.
func sharedDir(tb testing.TB) string {
	tb.Helper()
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "drawbridge-test-") //nolint:usetesting // it outlives the test that needs it first
		if err != nil {
			tb.Fatal(err)
		}
		shared.dir = dir
	}
	return shared.dir
}

func sharedKeys(tb testing.TB) Keys {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.keys == nil {
		shared.keys = &Keys{Owner: NewKey(tb, "Owner <owner@drawbridge.example>"), Publisher: NewKey(tb, "Publisher <publisher@drawbridge.example>")}
	}
	return *shared.keys
}

// NewKey makes an OpenPGP key.
func NewKey(tb testing.TB, userID string) *signing.SecretKey {
	tb.Helper()
	ask := func(signing.Fingerprint) ([]byte, error) { return []byte("test passphrase"), nil }
	armored, err := signing.GenerateKey(userID, time.Now().Add(-400*24*time.Hour), ask)
	if err != nil {
		tb.Fatal(err)
	}
	key, err := signing.OpenSecretKey(armored, ask)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func cleanUp() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.box != nil {
		if err := shared.box.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "closing the sandbox:", err)
		}
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}
