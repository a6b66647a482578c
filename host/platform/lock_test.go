package platform_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	if info, held, err := platform.ReadLock(path); held || err != nil {
		t.Fatalf("before: %+v, %v, %v", info, held, err)
	}
	want := platform.LockInfo{PID: os.Getpid(), Version: "1.2.3", Socket: "/run/control.sock", HTTP: "127.0.0.1:8407"}
	l, err := platform.Lock(t.Context(), path, want)
	if err != nil {
		t.Fatal(err)
	}
	if info, held, err := platform.ReadLock(path); info != want || !held || err != nil {
		t.Errorf("while held: %+v, %v, %v", info, held, err)
	}
	_, err = platform.Lock(t.Context(), path, platform.LockInfo{PID: 1})
	var heldErr *platform.HeldError
	if !errors.As(err, &heldErr) || heldErr.Info != want {
		t.Errorf("a second lock: %v", err)
	}
	want.HTTP = ""
	if err := l.Update(want); err != nil {
		t.Fatal(err)
	}
	if info, _, _ := platform.ReadLock(path); info != want {
		t.Errorf("after update: %+v", info)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if info, held, err := platform.ReadLock(path); held || err != nil {
		t.Errorf("after unlock: %+v, %v, %v", info, held, err)
	}
	again, err := platform.Lock(t.Context(), path, want)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestLockLeftByAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	cmd, out := role(t, "lock", path)
	if got := line(t, out); got != "locked" {
		t.Fatal(got)
	}
	info, held, err := platform.ReadLock(path)
	if !held || err != nil || info.PID != cmd.Process.Pid || info.Version != "v-test" {
		t.Fatalf("while the other lives: %+v, %v, %v", info, held, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "v-test") {
		t.Fatalf("the file should still tell of the dead: %q, %v", data, err)
	}
	if info, held, err := platform.ReadLock(path); held || err != nil {
		t.Errorf("stale lock: %+v, %v, %v", info, held, err)
	}
	l, err := platform.Lock(t.Context(), path, platform.LockInfo{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestLockOfManyOneWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	const n = 8
	answers := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		_, out := role(t, "lock", path)
		wg.Go(func() {
			if out.Scan() {
				answers[i] = out.Text()
			}
		})
	}
	wg.Wait()
	won := 0
	for _, a := range answers {
		switch {
		case a == "locked":
			won++
		case !strings.HasPrefix(a, "refused: lock file"):
			t.Errorf("answer %q", a)
		}
	}
	if won != 1 {
		t.Errorf("%d processes hold the lock: %q", won, answers)
	}
}

func TestLockDespiteReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				_, _, _ = platform.ReadLock(path)
			}
		})
	}
	for range 50 {
		l, err := platform.Lock(t.Context(), path, platform.LockInfo{PID: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLockFileIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := platform.Lock(t.Context(), path, platform.LockInfo{PID: 1})
	wantError(t, err, abi.ErrForbidden, "chmod 600")
	_, _, err = platform.ReadLock(path)
	wantError(t, err, abi.ErrForbidden, "chmod 600")

	other := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	_, err = platform.Lock(t.Context(), other, platform.LockInfo{PID: 1})
	wantError(t, err, abi.ErrForbidden, "mv")
}
