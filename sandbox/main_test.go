package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// TestMain lets the test binary play the worker, and workers that are none.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case WorkerCommand:
			os.Exit(WorkerMain(os.Stdin, os.Stdout, os.Stderr))
		case "hostile":
			playHostile(os.Args[2])
			return
		case "host":
			playHost(os.Args[2])
			return
		case "walled":
			playWalled(os.Args[2:])
			return
		case "probe":
			playProbe()
			return
		}
	}
	os.Exit(m.Run())
}

// testLimits are short where a test waits for them.
func testLimits() Limits {
	return Limits{GuestCPU: 600 * time.Millisecond, DataBytes: testDataBytes}
}

// openTest opens a sandbox and checks at the end that nothing of it is left.
func openTest(tb testing.TB, lim Limits) *Sandbox {
	tb.Helper()
	return openTestIn(tb, tb.TempDir(), lim, nil)
}

func openTestIn(tb testing.TB, dir string, lim Limits, log *slog.Logger) *Sandbox {
	tb.Helper()
	s, err := Open(context.Background(), Config{Dir: dir, Limits: lim, Log: log}) //nolint:usetesting // outlives the test's context
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if n := len(s.workers); n != 0 {
			tb.Errorf("%d workers are left after Close", n)
		}
		left, err := os.ReadDir(dir + "/run")
		if err != nil && !errors.Is(err, os.ErrNotExist) || len(left) > 0 {
			tb.Errorf("private directories are left: %v, %v", left, err)
		}
	})
	return s
}

// mustModule compiles a module and opens it with every capability granted.
func mustModule(tb testing.TB, s *Sandbox, wasm []byte) *Module {
	tb.Helper()
	if _, err := s.Compile(tb.Context(), wasm); err != nil {
		tb.Fatalf("compiling: %v", err)
	}
	m, err := s.Module(wasm, abi.Capabilities())
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// guestModule compiles a guest of wasmtest.
func guestModule(tb testing.TB, s *Sandbox, m wasmtest.Module) *Module {
	tb.Helper()
	return mustModule(tb, s, m.Bytes())
}

// wantError fails unless err is an *abi.Error of that code.
func wantError(tb testing.TB, err error, code abi.Code) {
	tb.Helper()
	var e *abi.Error
	if !errors.As(err, &e) {
		tb.Fatalf("error %v (%T), want code %s", err, err, code)
	}
	if e.Code != code {
		tb.Fatalf("error %q (code %s, cause %v), want code %s", e, e.Code, e.Err, code)
	}
}

// wantReason fails unless err is untrusted for that reason.
func wantReason(tb testing.TB, err error, reason abi.Reason) {
	tb.Helper()
	wantError(tb, err, abi.ErrUntrusted)
	var e *abi.Error
	if errors.As(err, &e); e.Reason != reason {
		tb.Fatalf("reason %q, want %q", e.Reason, reason)
	}
}

// fakeCalls answers host calls by functions; what is nil answers {"ok":true}.
type fakeCalls struct {
	read, act func(context.Context, []byte) ([]byte, error)

	mu   sync.Mutex
	seen []string // "name request"
}

func (f *fakeCalls) serve(ctx context.Context, name string, req []byte, by func(context.Context, []byte) ([]byte, error)) ([]byte, error) {
	f.mu.Lock()
	f.seen = append(f.seen, name+" "+string(req))
	f.mu.Unlock()
	if by == nil {
		return []byte(`{"ok":true}`), nil
	}
	return by(ctx, req)
}

func (f *fakeCalls) Read(ctx context.Context, b []byte) ([]byte, error) {
	return f.serve(ctx, "read", b, f.read)
}

func (f *fakeCalls) Act(ctx context.Context, b []byte) ([]byte, error) {
	return f.serve(ctx, "act", b, f.act)
}

func (f *fakeCalls) Screenshot(ctx context.Context, b []byte) ([]byte, error) {
	return f.serve(ctx, "screenshot", b, nil)
}

func (f *fakeCalls) Fetch(ctx context.Context, b []byte) ([]byte, error) {
	return f.serve(ctx, "fetch", b, nil)
}

func (f *fakeCalls) Progress(ctx context.Context, b []byte) ([]byte, error) {
	return f.serve(ctx, "progress", b, nil)
}

// logLines collects a logger's records.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// texts returns the text of every guest record.
func (l *logLines) texts(tb testing.TB) []string {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	d := json.NewDecoder(bytes.NewReader(l.b.Bytes()))
	for d.More() {
		var r struct{ Msg, Text string }
		if err := d.Decode(&r); err != nil {
			tb.Fatal(err)
		}
		if r.Msg == "guest" {
			out = append(out, r.Text)
		}
	}
	return out
}

// poll waits until ok, and fails with what after ten seconds.
func poll(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	give := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-give:
			tb.Fatalf("%s did not happen", what)
		}
	}
}
