package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// maxSocketPath is what fits into a socket address on every system (macOS has
// 104 bytes, its closing zero included).
const maxSocketPath = 103

const dialTimeout = 5 * time.Second

// A Peer is the process at the other end of a control connection, as the
// kernel knows it. PID may have been given to another process since: compare
// start times before relying on it.
type Peer struct {
	PID int
	UID int
}

// Listen opens the control socket at path for this user alone. The caller
// holds the daemon's lock, so that a socket that is already there is left over
// and removed. The listener accepts no connection of another user.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := checkSocketPath(path); err != nil {
		return nil, err
	}
	// The directory keeps others out in the moment before chmod.
	if err := CreateDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("opening control socket: %w", err)
	}
	if err := removeSocket(path); err != nil {
		return nil, fmt.Errorf("opening control socket: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("opening control socket: %w", err)
	}
	if err := os.Chmod(path, FileMode); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("opening control socket: %w", err)
	}
	return &listener{Listener: l}, nil
}

// removeSocket removes a socket that was left at path, and nothing else.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking socket: %w", err)
	}
	if !isSocket(info) {
		return refusePath("%q is not a socket", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing socket: %w", err)
	}
	return nil
}

type listener struct {
	net.Listener
}

// Accept waits for a connection of this user; others are closed.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if checkPeer(c) == nil {
			return c, nil
		}
		_ = c.Close()
	}
}

// Dial connects to the control socket at path, within five seconds, and
// refuses one that another user serves.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	if err := checkSocketPath(path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("checking control socket: %w", err)
	}
	if !isSocket(info) {
		return nil, refusePath("%q is not a socket", path)
	}
	if err := checkPrivate(path, info, FileMode); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connecting to control socket: %w", err)
	}
	if err := checkPeer(c); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func checkSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return abi.Errorf(abi.ErrInvalidArgs, "", "the path of the control socket is longer than %d bytes: %q", maxSocketPath, path).
			WithHint("export %s=/a/shorter/path", HomeVar)
	}
	return nil
}

// checkPeer refuses a connection whose other end is another user's.
func checkPeer(c net.Conn) error {
	p, err := PeerOf(c)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // the directory's access list is all there is
	}
	if err != nil {
		return err
	}
	if uid := os.Geteuid(); p.UID != uid {
		return abi.Errorf(abi.ErrForbidden, "", "the other end of the control socket belongs to user id %d, not to %d", p.UID, uid)
	}
	return nil
}
