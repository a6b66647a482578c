package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// readRegular reads a file that somebody named on the command line, and no more of
// it than one byte above the limit, by which its reader can tell that it is too
// large. What isn't a regular file is refused before it is opened: a pipe could
// keep the command waiting for ever. what says what the file is for.
func readRegular(what, path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, abi.Errorf(abi.ErrNotFound, "", "%s %q is not there", what, path)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", what, err)
	case info.IsDir():
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "%s %q is a directory, want a file", what, path)
	case !info.Mode().IsRegular():
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "%s %q is a pipe or a device, want a regular file", what, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", what, path, err)
	}
	return data, nil
}

// inFile is err, a refusal of what a file holds, with the file's name.
func inFile(what, path string, err error) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Op, named.Msg, named.Err = "", fmt.Sprintf("%s %q: %s", what, path, e.Msg), err
	return &named
}
