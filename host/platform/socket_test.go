//go:build unix

package platform_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// shortDir is a private directory whose path fits into a socket address.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pl") //nolint:usetesting // t.TempDir has the test's whole name in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "run", "control.sock")
	l, err := platform.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket has mode %v, %v", info.Mode(), err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()
	c, err := platform.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	server := <-accepted
	defer func() { _ = server.Close() }()
	for _, end := range []net.Conn{c, server} {
		p, err := platform.PeerOf(end)
		if err != nil || p.PID != os.Getpid() || p.UID != os.Geteuid() {
			t.Errorf("peer is %+v, %v", p, err)
		}
	}
}

func TestSocketLeftOver(t *testing.T) {
	path := filepath.Join(shortDir(t), "control.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := platform.Dial(t.Context(), path); err == nil {
		t.Fatal("nobody serves it, and yet there is a connection")
	}
	l, err := platform.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

func TestListenRefuses(t *testing.T) {
	dir := shortDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := platform.Listen(t.Context(), file)
	wantError(t, err, abi.ErrForbidden, "mv")
	if data, _ := os.ReadFile(file); string(data) != "precious" {
		t.Errorf("the file in the way now holds %q", data)
	}

	_, err = platform.Listen(t.Context(), filepath.Join(dir, strings.Repeat("x", 120)))
	wantError(t, err, abi.ErrInvalidArgs, platform.HomeVar)

	open := filepath.Join(dir, "open")
	mkdir(t, open, 0o755)
	_, err = platform.Listen(t.Context(), filepath.Join(open, "s"))
	wantError(t, err, abi.ErrForbidden, "chmod 700")
}

func TestDialRefuses(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "s")
	if _, err := platform.Dial(t.Context(), path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no socket: %v", err)
	}
	l, err := platform.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = platform.Dial(t.Context(), path)
	wantError(t, err, abi.ErrForbidden, "chmod 600")
	link := filepath.Join(dir, "l")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	_, err = platform.Dial(t.Context(), link)
	wantError(t, err, abi.ErrForbidden, "mv")
	_, err = platform.Dial(t.Context(), filepath.Join(dir, strings.Repeat("x", 120)))
	wantError(t, err, abi.ErrInvalidArgs, platform.HomeVar)
}

func TestPeerOfNeedsASocket(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _ = a.Close() }()
	defer func() { _ = b.Close() }()
	if _, err := platform.PeerOf(a); err == nil {
		t.Error("a pipe in memory has no peer process")
	}
}
