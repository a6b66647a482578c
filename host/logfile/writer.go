package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// The defaults of Options: 40 MiB in all.
const (
	DefaultMaxBytes = 8 << 20
	DefaultKeep     = 4
)

// Options say where a log is and how large it may become.
type Options struct {
	Path     string
	MaxBytes int64 // of one file; 0 is DefaultMaxBytes
	Keep     int   // older files: Path.1 is the newest of them; 0 is DefaultKeep
}

func (o Options) withDefaults() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	return o
}

// older is the name of the nth older file; the 0th is the log itself.
func (o Options) older(n int) string {
	if n == 0 {
		return o.Path
	}
	return o.Path + "." + strconv.Itoa(n)
}

// A Writer appends records. Each Write is one record, whole in one file. It serves
// any number of goroutines; one process at a time writes a log.
type Writer struct {
	opts Options

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open opens a log for appending, and makes it if there is none. It refuses a file
// that others may read.
func Open(o Options) (*Writer, error) {
	w := &Writer{opts: o.withDefaults()}
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := platform.CreateFile(w.opts.Path); err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	f, err := os.OpenFile(w.opts.Path, os.O_WRONLY|os.O_APPEND, platform.FileMode)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("opening log: %w", err), f.Close())
	}
	w.file, w.size = f, info.Size()
	return nil
}

// Write appends one record. If the files can't be put aside it goes on with the
// one there is: a log that is too long is better than none.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return 0, os.ErrClosed
	}
	if w.size > 0 && w.size+int64(len(p)) > w.opts.MaxBytes {
		if err := w.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	return n, err
}

// rotate puts the file aside and begins another.
func (w *Writer) rotate() error {
	old := w.file
	for n := w.opts.Keep; n > 0; n-- {
		err := atomicfile.Move(w.opts.older(n-1), w.opts.older(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.size = 0 // try again after as much once more
			return nil // the record goes to the file that there is
		}
	}
	if err := w.open(); err != nil {
		w.file = old
		return nil //nolint:nilerr // likewise, under its new name
	}
	return old.Close()
}

// Close closes the file. Later writes fail.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return f.Close()
}
