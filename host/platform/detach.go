package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// maxLog is where a log file starts anew when a daemon is started.
const maxLog = 8 << 20

// A Command says what to start in the background.
type Command struct {
	Path string   // the program, absolute
	Args []string // without the program's name
	Env  []string // "NAME=value"; nil is an empty environment
	Log  string   // file that takes its output; made 0600, appended to
}

// A Detached is a process that was started in the background.
type Detached struct {
	PID  int
	done chan struct{}
	err  error
}

// Start starts c so that it outlives the caller and its terminal: in a session
// of its own, at the root directory, without input, its output going to the
// log file. ctx only bounds the start.
func Start(ctx context.Context, c Command) (*Detached, error) {
	if !filepath.IsAbs(c.Path) {
		return nil, fmt.Errorf("starting daemon: %q is not absolute", c.Path)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting daemon: %w", err)
	}
	log, err := openLog(c.Log)
	if err != nil {
		return nil, fmt.Errorf("starting daemon: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Path, c.Args...)
	cmd.Env = append([]string{}, c.Env...)
	cmd.Dir = rootDir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detachedAttr()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting daemon: %w", err)
	}
	d := &Detached{PID: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		d.err = cmd.Wait() // also reaps it, if we are still there
		close(d.done)
	}()
	return d, nil
}

// Done is closed when the process has ended, so that whoever waits for the
// daemon's lock file learns that it never will come.
func (d *Detached) Done() <-chan struct{} { return d.done }

// Err tells how the process ended. It is nil before Done is closed.
func (d *Detached) Err() error {
	select {
	case <-d.done:
		return d.err
	default:
		return nil
	}
}

func openLog(path string) (*os.File, error) {
	if err := CreateFile(path); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_APPEND | openNoFollow
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checking log file: %w", err)
	}
	if err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, FileMode)
	if err != nil {
		return nil, fmt.Errorf("opening log file: %w", err)
	}
	return f, nil
}
