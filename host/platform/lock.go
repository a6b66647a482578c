package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	maxLockFile = 4 << 10
	// A reader holds the lock for microseconds, so that a writer tries for a
	// while before it believes that there is another writer.
	lockPatience = 300 * time.Millisecond
	lockTick     = 5 * time.Millisecond
)

// LockInfo is what the holder of a lock file tells the others. Unknown fields
// are ignored, so that versions can read each other's files.
type LockInfo struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Socket  string `json:"socket,omitempty"` // path of the control socket
	HTTP    string `json:"http,omitempty"`   // host:port of MCP over HTTP
}

// A HeldError says that another process holds the lock. Info is zero if the
// holder has not written it yet.
type HeldError struct {
	Path string
	Info LockInfo
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("lock file %q is held by process %d", e.Path, e.Info.PID)
}

// A FileLock is a held lock file. The kernel releases it when the process
// ends, however it ends, so that a file left behind means nothing.
type FileLock struct {
	f *os.File
}

// Lock takes the lock file at path and writes info into it. If another process
// holds it, the error is a *[HeldError]; of any number of processes that try at
// once, one succeeds. The file is never removed: that would let two processes
// hold locks on two files of one name.
func Lock(ctx context.Context, path string, info LockInfo) (*FileLock, error) {
	if err := CreateFile(path); err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|openNoFollow, FileMode)
	if err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	if err := waitLock(ctx, f); err != nil {
		held := &HeldError{Path: path}
		if errors.Is(err, errHeld) {
			held.Info, _ = decodeLock(f) // a holder that is still writing: zero
			err = held
		}
		_ = f.Close()
		return nil, err
	}
	l := &FileLock{f: f}
	if err := l.Update(info); err != nil {
		_ = f.Close()
		return nil, err
	}
	return l, nil
}

// errHeld is what tryLock returns when somebody else has the lock.
var errHeld = errors.New("lock is held")

func waitLock(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	tick := time.NewTicker(lockTick)
	defer tick.Stop()
	for {
		err := tryLock(f, true)
		if err == nil || !errors.Is(err, errHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return errHeld
		case <-tick.C:
		}
	}
}

// Update replaces what the lock file tells.
func (l *FileLock) Update(info LockInfo) error {
	data, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	// Empty first: a reader that sees half of it must not take it for the whole.
	if err := l.f.Truncate(0); err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	if _, err := l.f.WriteAt(append(data, '\n'), 0); err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	return nil
}

// Unlock empties the file and releases the lock.
func (l *FileLock) Unlock() error {
	return errors.Join(l.f.Truncate(0), l.f.Close())
}

// ReadLock tells who holds the lock file at path. held is false if nobody
// does, whatever the file says. A holder that has just taken it may not have
// written its info yet: held is true then and info is zero, and the caller
// asks again.
func ReadLock(path string) (info LockInfo, held bool, err error) {
	switch err := CheckFile(path); {
	case errors.Is(err, os.ErrNotExist):
		return LockInfo{}, false, nil
	case err != nil:
		return LockInfo{}, false, fmt.Errorf("reading lock file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|openNoFollow, FileMode)
	if err != nil {
		return LockInfo{}, false, fmt.Errorf("reading lock file: %w", err)
	}
	defer func() { _ = f.Close() }()
	switch err := tryLock(f, false); {
	case err == nil:
		return LockInfo{}, false, nil // closing f releases it
	case !errors.Is(err, errHeld):
		return LockInfo{}, false, fmt.Errorf("reading lock file: %w", err)
	}
	info, err = decodeLock(f)
	if err != nil {
		return LockInfo{}, true, nil // half-written: the caller asks again
	}
	return info, true, nil
}

func decodeLock(f *os.File) (LockInfo, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxLockFile))
	if err != nil {
		return LockInfo{}, fmt.Errorf("reading lock file: %w", err)
	}
	return parseLock(data)
}

func parseLock(data []byte) (LockInfo, error) {
	var info LockInfo
	if err := json.Unmarshal(data, &info); err != nil {
		return LockInfo{}, fmt.Errorf("decoding lock file: %w", err)
	}
	if info.PID <= 0 {
		return LockInfo{}, fmt.Errorf("decoding lock file: process id %d", info.PID)
	}
	return info, nil
}
