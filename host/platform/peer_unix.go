//go:build unix

package platform

import (
	"fmt"
	"io/fs"
	"net"
	"syscall"
)

func isSocket(info fs.FileInfo) bool { return info.Mode()&fs.ModeSocket != 0 }

// PeerOf tells who is at the other end of a unix socket connection.
func PeerOf(c net.Conn) (Peer, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return Peer{}, fmt.Errorf("reading peer credentials: %T has no file descriptor", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("reading peer credentials: %w", err)
	}
	var p Peer
	var credErr error
	if err := raw.Control(func(fd uintptr) { p, credErr = peerCred(int(fd)) }); err != nil {
		return Peer{}, fmt.Errorf("reading peer credentials: %w", err)
	}
	if credErr != nil {
		return Peer{}, fmt.Errorf("reading peer credentials: %w", credErr)
	}
	return p, nil
}
