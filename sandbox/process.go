package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// A process is a running worker as the system sees it: three pipes, a group to
// kill, and an end.
type process struct {
	cmd   *exec.Cmd
	in    *os.File // the worker's standard input
	out   *os.File // the worker's standard output
	tail  *tail    // of its standard error
	ended chan struct{}

	mu     sync.Mutex
	reaped bool  // the pid may belong to another process; under mu
	peak   int64 // of resident memory that was seen, in bytes; under mu

	status string // how it ended; once ended is closed
}

// startProcess starts command as a worker.
func startProcess(sp *spawner, command []string) (*process, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		closeAll(inR, inW)
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	p := &process{in: inW, out: outR, tail: &tail{limit: 16 << 10}, ended: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...) //nolint:noctx,gosec // ended by kill, which takes the group; the command is the caller's own
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, p.tail
	p.cmd.Env = []string{} // not nil, which would mean ours
	p.cmd.Dir = rootDir()
	p.cmd.SysProcAttr = processAttr()
	p.cmd.WaitDelay = time.Second
	err = sp.run(p.cmd.Start)
	closeAll(inR, outW)
	if err != nil {
		closeAll(inW, outR)
		return nil, fmt.Errorf("starting worker: %w", err)
	}
	go p.reap()
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// reap waits for the end of the worker, ends what is left of its group while
// the pid is still its own, and collects it.
func (p *process) reap() {
	defer close(p.ended)
	if !waitsWithoutReaping {
		p.collect()
		return
	}
	waitExited(p.cmd.Process.Pid)
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd)
	p.collect()
	p.reaped = true
}

func (p *process) collect() {
	_ = p.cmd.Wait() // the state says it all
	p.status = p.cmd.ProcessState.String()
}

// kill ends the worker and its group at once. It may be called at any time.
func (p *process) kill() {
	if waitsWithoutReaping {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.reaped {
			return
		}
	}
	killGroup(p.cmd)
}

// close kills the worker, waits for its end and gives back its descriptors.
// Nobody may be reading or writing any more.
func (p *process) close() {
	p.kill()
	<-p.ended
	closeAll(p.in, p.out)
}

// cpu is usage's first half, which is all that the beginning of a call needs.
func (p *process) cpu() time.Duration {
	if !waitsWithoutReaping {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return 0
	}
	cpu, _ := readCPU(p.cmd.Process.Pid)
	return cpu
}

// usage returns what the worker has used so far; false if nobody can tell.
func (p *process) usage() (usage, bool) {
	if !waitsWithoutReaping {
		return usage{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return usage{}, false
	}
	u, ok := readUsage(p.cmd.Process.Pid)
	p.peak = max(p.peak, u.resident)
	return u, ok
}

// notePeak looks how much memory the worker had at most, before it ends.
func (p *process) notePeak() {
	if !waitsWithoutReaping {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.peak = max(p.peak, readPeak(p.cmd.Process.Pid))
	}
}

// cost is what an ended process has used.
func (p *process) cost() Cost {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := Cost{Peak: p.peak}
	if s := p.cmd.ProcessState; s != nil {
		c.CPU = s.UserTime() + s.SystemTime()
	}
	return c
}

// A usage is what a worker costs.
type usage struct {
	cpu      time.Duration
	resident int64 // bytes
}

// selfCommand starts this program again.
func selfCommand() ([]string, error) {
	exe, err := selfExecutable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return []string{exe, WorkerCommand}, nil
}

// rootDir is a working directory that no file of the user's is relative to.
func rootDir() string { return filepath.VolumeName(os.TempDir()) + string(filepath.Separator) }

// A tail keeps the first bytes of a stream; a crash report begins with its cause.
type tail struct {
	limit int
	mu    sync.Mutex
	b     bytes.Buffer
}

// Write never fails, so that the worker is never blocked by it.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), t.limit-t.b.Len())])
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
