package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
)

// isSocket can't tell on Windows, where a socket is a reparse point that Go
// reports as irregular.
func isSocket(info fs.FileInfo) bool { return info.Mode()&fs.ModeIrregular != 0 }

// PeerOf is not available on Windows.
func PeerOf(net.Conn) (Peer, error) {
	return Peer{}, fmt.Errorf("reading peer credentials: %w", errors.ErrUnsupported)
}
