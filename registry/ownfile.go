package registry

import (
	"fmt"
	"os"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
)

// Limits on our own files, in bytes. Each is written under the limit that it is read
// under: one that became too large would be as good as lost, and what must never go
// back with it.
const (
	maxOwnFile     = 1 << 20
	maxStateFile   = 4 << 20                   // a whole list of revocations, and the versions of what was installed
	maxRemovedFile = maxStateFile + maxOwnFile // a state, and names
	maxLockFile    = 4 << 20                   // 2,000 plugins with the versions before them
)

// writeOwn replaces one of our own files by what doc says. On abi.ErrLimitExceeded the
// old one stays.
func writeOwn(path string, doc document, limit int) error {
	data, err := canonical(doc)
	if err != nil {
		return err
	}
	if len(data) > limit {
		return abi.Errorf(abi.ErrLimitExceeded, "", "%q would have %d bytes, the limit is %d", path, len(data), limit)
	}
	return atomicfile.Write(path, data, 0o600)
}

// readOwn reads what writeOwn wrote. fs.ErrNotExist is in the chain of the error if
// there is no such file.
func readOwn(path string, doc document, limit int) error {
	data, err := readLimited(path, int64(limit))
	if err != nil {
		return err
	}
	return decodeUpTo(path, data, doc, limit)
}

// readLimited reads a file of at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q isn't a plain file", path)
	case info.Size() > limit:
		return nil, fmt.Errorf("%q has %d bytes, the limit is %d", path, info.Size(), limit)
	}
	data := make([]byte, info.Size()+1)
	n := 0
	for n < len(data) {
		m, err := f.Read(data[n:])
		n += m
		if err != nil {
			break
		}
	}
	if int64(n) != info.Size() {
		return nil, fmt.Errorf("%q changes while it is read", path)
	}
	return data[:n], nil
}
