package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// A process is the browser's program and the pipes to it. It holds the
// profile's lock until the program has ended.
type process struct {
	cmd         *exec.Cmd
	fromBrowser *os.File
	toBrowser   *os.File
	output      *tail
	exited      chan struct{} // closed when the program was reaped and the lock released
}

// startProcess runs the browser with the protocol on its file descriptors 3
// and 4. It runs no shell of ours and inherits nothing else.
func startProcess(o Options, lock io.Closer) (*process, error) {
	childIn, toBrowser, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	fromBrowser, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), childIn.Close(), toBrowser.Close())
	}
	p := &process{fromBrowser: fromBrowser, toBrowser: toBrowser, output: &tail{max: 4 << 10}, exited: make(chan struct{})}
	p.cmd = exec.Command(o.Exec, o.args()...) //nolint:gosec,noctx // the user's own browser; it outlives the call that starts it
	p.cmd.ExtraFiles = []*os.File{childIn, childOut}
	p.cmd.Env = environment(o.Display)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = closeTimeout
	setProcessAttributes(p.cmd)
	started := make(chan error)
	go p.run(started, lock)
	err = <-started
	err = errors.Join(err, childIn.Close(), childOut.Close())
	if err != nil {
		return nil, errors.Join(err, toBrowser.Close(), fromBrowser.Close())
	}
	return p, nil
}

// run starts the program and reaps it on one thread, because the kernel ends
// the browser with the thread that started it.
func (p *process) run(started chan<- error, lock io.Closer) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // how it ended is seen on the pipe
	killGroup(p.cmd.Process.Pid)
	_ = lock.Close() // the lock ends with us at the latest
	close(p.exited)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) waitExit(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill ends the program and its children and waits until it was reaped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.exited
}

// said returns the last of what the browser printed, on one line.
func (p *process) said() string {
	return strings.Join(strings.Fields(p.output.String()), " ")
}

// A tail keeps the last max bytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
	max int
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if len(b) > t.max {
		b = b[len(b)-t.max:]
	}
	if over := t.buf.Len() + len(b) - t.max; over > 0 {
		t.buf.Next(over)
	}
	t.buf.Write(b)
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
