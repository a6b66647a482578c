//go:build linux

package platform_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func TestStart(t *testing.T) {
	dir := shortDir(t)
	socket, log := filepath.Join(dir, "s"), filepath.Join(dir, "log")
	ctx, cancel := context.WithCancel(t.Context())
	d, err := platform.Start(ctx, platform.Command{
		Path: os.Args[0], Args: []string{socket}, Env: []string{roleVar + "=daemon"}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // must not end it
	waitFor(t, func() bool { _, err := os.Lstat(socket); return err == nil && logged(log, "daemon is up") })
	c, err := platform.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r := readReport(t, c)
	if r.PID != d.PID || r.Session != r.PID || r.TTY != "" || r.Dir != "/" || !r.StdinEnds {
		t.Errorf("daemon reports %+v", r)
	}
	if !slices.Equal(r.Env, []string{roleVar + "=daemon"}) {
		t.Errorf("daemon has environment %q", r.Env)
	}
	<-d.Done()
	if err := d.Err(); err != nil {
		t.Errorf("daemon ended with %v", err)
	}
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log: %v, %v", info, err)
	}
}

func TestStartRefuses(t *testing.T) {
	dir := shortDir(t)
	log := filepath.Join(dir, "log")
	if _, err := platform.Start(t.Context(), platform.Command{Path: "drawbridge", Log: log}); err == nil {
		t.Error("a relative program was started")
	}
	if _, err := platform.Start(t.Context(), platform.Command{Path: filepath.Join(dir, "none"), Log: log}); err == nil {
		t.Error("a missing program was started")
	}
	if err := os.Chmod(log, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := platform.Start(t.Context(), platform.Command{Path: os.Args[0], Log: log})
	wantError(t, err, abi.ErrForbidden, "chmod 600")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := platform.Start(ctx, platform.Command{Path: os.Args[0], Log: log}); err == nil {
		t.Error("started although cancelled")
	}
}

func TestDaemonThatFails(t *testing.T) {
	dir := shortDir(t)
	d, err := platform.Start(t.Context(), platform.Command{
		Path: "/bin/sh", Args: []string{"-c", "echo boom >&2; exit 3"}, Log: filepath.Join(dir, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	<-d.Done()
	if err := d.Err(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("ended with %v", err)
	}
	if !logged(filepath.Join(dir, "log"), "boom") {
		t.Error("its last words are not in the log")
	}
}

func TestLogStartsAnew(t *testing.T) {
	log := filepath.Join(shortDir(t), "log")
	for _, size := range []int64{100, 9 << 20} {
		if err := os.WriteFile(log, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := platform.Start(t.Context(), platform.Command{Path: "/bin/true", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		<-d.Done()
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		if kept := info.Size() == size; kept != (size == 100) {
			t.Errorf("a log of %d bytes has %d now", size, info.Size())
		}
	}
}

func logged(path, text string) bool {
	data, _ := os.ReadFile(path)
	return strings.Contains(string(data), text)
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-t.Context().Done():
			t.Fatal("it never came")
		case <-tick.C:
		}
	}
}
