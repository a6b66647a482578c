package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A worker is the host's side of one worker process. One goroutine at a time
// uses it; only kill may come from elsewhere.
type worker struct {
	sb    *Sandbox
	sum   string // the module's, for the log
	proc  *process
	r     *bufio.Reader
	lim   Limits
	calls int
	idle  *time.Timer // owned by the pool
}

// newWorker starts a process, tells it its limits and gives it the module.
func (s *Sandbox) newWorker(module []byte, info Info, dir string, writeCache bool) (*worker, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed()
	}
	s.gone.Add(1) // before the process is, so that Close waits for it
	s.mu.Unlock()
	proc, err := startProcess(s.spawner, s.command)
	if err != nil {
		s.gone.Done()
		return nil, err
	}
	w := &worker{
		sb: s, sum: moduleSum(module), proc: proc,
		r: bufio.NewReaderSize(proc.out, 64<<10), lim: s.lim,
	}
	s.mu.Lock()
	s.workers[w] = struct{}{}
	closed := s.closed
	s.mu.Unlock()
	if closed { // Close has not seen it
		proc.kill()
	}
	if err := w.introduce(module, info, dir, writeCache); err != nil {
		err = w.died(err)
		w.close()
		return nil, err
	}
	return w, nil
}

// introduce sends the two frames that a worker waits for. They can be longer
// than the pipe, so a worker that never reads must not hold the host.
func (w *worker) introduce(module []byte, info Info, dir string, writeCache bool) error {
	defer time.AfterFunc(w.lim.StartTime, w.proc.kill).Stop()
	told, err := json.Marshal(hello{
		V: protocolVersion, Cache: dir, WriteCache: writeCache, Runtime: info.WASI || info.HasExport(exportInitialize),
		MemoryPages: w.lim.MemoryPages, DataBytes: max(w.lim.DataBytes, 0), ModuleBytes: w.lim.ModuleBytes,
		InputBytes: w.lim.InputBytes, RequestBytes: w.lim.RequestBytes, AnswerBytes: w.lim.AnswerBytes,
		ResultBytes: w.lim.ResultBytes, LogBytes: w.lim.LogBytes,
	})
	if err != nil {
		return fmt.Errorf("writing hello: %w", err)
	}
	if err := w.send(frame{kind: kindHello, payload: told}); err != nil {
		return err
	}
	return w.send(frame{kind: kindModule, payload: module})
}

func (w *worker) send(f frame) error { return writeFrame(w.proc.in, f) }

// close ends the process and forgets it. It is called once.
func (w *worker) close() {
	w.proc.notePeak()
	w.proc.close()
	if w.sb.ended != nil {
		w.sb.ended(w.proc.cost())
	}
	w.sb.mu.Lock()
	delete(w.sb.workers, w)
	w.sb.mu.Unlock()
	w.sb.gone.Done()
}

// alive reports whether the process has not ended yet.
func (w *worker) alive() bool {
	select {
	case <-w.proc.ended:
		return false
	default:
		return true
	}
}

// begin lets guest code run: the first instance is made.
func (w *worker) begin(ctx context.Context) error {
	if err := w.send(frame{kind: kindStart}); err != nil {
		return w.died(err)
	}
	return w.ready(ctx)
}

// ready waits for an instance.
func (w *worker) ready(ctx context.Context) error {
	return w.await(ctx, guard{
		wall: w.lim.StartTime, cpu: w.lim.GuestCPU, resident: w.lim.RunBytes, doing: "initializing",
	}, kindReady)
}

// await reads one empty frame of kind k under a guard.
func (w *worker) await(ctx context.Context, g guard, k kind) error {
	watch := w.watch(ctx, g)
	limits := w.lim.fromWorker()
	f, err := readFrame(w.r, frameLimits{k: limits[k], kindFail: limits[kindFail]})
	if err == nil && f.kind == kindFail {
		err = readFail(f.payload)
	}
	return w.verdict(watch.stop(), err)
}

// call sends a call, serves its host calls and returns its output.
func (w *worker) call(ctx context.Context, c Call, d *desk) ([]byte, error) {
	w.calls++
	ctx, cancel := context.WithTimeout(ctx, w.lim.CallTime)
	defer cancel()
	watch := w.watch(ctx, guard{cpu: w.lim.GuestCPU, resident: w.lim.RunBytes, doing: "running"})
	out, err := w.converse(ctx, c, d, watch)
	return out, w.verdict(watch.stop(), err)
}

// converse carries frames until the call ends.
func (w *worker) converse(ctx context.Context, c Call, d *desk, watch *watch) ([]byte, error) {
	limits := w.lim.fromWorker()
	delete(limits, kindReady)
	delete(limits, kindCompiled)
	log := &guestLog{to: w.sb.log, sum: w.sum, left: w.lim.LogBytes}
	if err := w.send(named(kindCall, c.Export, c.Input)); err != nil {
		return nil, err
	}
	for {
		f, err := readFrame(w.r, limits)
		if err != nil {
			return nil, err
		}
		switch f.kind {
		case kindOutput:
			took, out, err := readOutput(f.payload)
			if c.GuestTime != nil {
				*c.GuestTime = took
			}
			return out, err
		case kindFail:
			return nil, readFail(f.payload)
		case kindLog:
			err = log.frame(ctx, f.payload)
		case kindAsk:
			watch.hostTime(func() { err = w.serve(ctx, d, f.payload) })
		case kindHello, kindModule, kindStart, kindCall, kindAnswer, kindCompiled, kindReady:
			err = fmt.Errorf("reading frame: kind %q out of turn", f.kind) // limits have no such kind
		}
		if err != nil {
			return nil, err
		}
	}
}

// serve answers one host call.
func (w *worker) serve(ctx context.Context, d *desk, payload []byte) error {
	name, request, err := splitNamed(payload)
	if err != nil {
		return err
	}
	answer, err := d.answer(ctx, name, request)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // nobody waits for what the guest would make of it
		return ended(ctx)
	}
	return w.send(frame{kind: kindAnswer, payload: answer})
}

// verdict decides between what the guard saw and what the pipe said. A result
// that arrived stands, even if the guard struck a moment later: ready frames
// and outputs are whole.
func (w *worker) verdict(cause, err error) error {
	switch {
	case err == nil:
		return nil
	case cause != nil:
		return cause
	case isABI(err):
		return err
	default:
		return w.died(err)
	}
}

// died explains a pipe that broke or said what it may not: the worker is killed,
// and its last words are looked at.
func (w *worker) died(err error) error {
	w.proc.kill()
	<-w.proc.ended
	w.sb.mu.Lock()
	closed := w.sb.closed
	w.sb.mu.Unlock()
	if closed {
		return errClosed()
	}
	words := w.proc.tail.String()
	cause := fmt.Errorf("%w (%s; %s)", err, w.proc.status, visible(clip(words, 1<<10)))
	e := &abi.Error{Code: abi.ErrGuestTrap, Op: "guest", Msg: "the worker ended", Err: cause}
	if outOfMemory(words) {
		e.Code, e.Msg = abi.ErrLimitExceeded, "the worker ran out of memory"
	}
	return e
}

// outOfMemory recognizes the Go runtime's last words at the memory limit. Its
// collector uses the memory for its own queues without a look at whether it got
// any (go1.26, spanQueue), so that it may fault at address zero instead.
func outOfMemory(words string) bool {
	collector := strings.HasPrefix(words, "SIGSEGV") && strings.Contains(words, "addr=0x0\n") && strings.Contains(words, "\nruntime.(*spanQueue).")
	return collector || strings.Contains(words, "out of memory") || strings.Contains(words, "cannot allocate memory")
}

// A guestLog writes the log of one call and keeps its budget, whatever the
// worker did about it.
type guestLog struct {
	to   *slog.Logger
	sum  string
	left int
	full bool
}

// frame writes one line.
func (l *guestLog) frame(ctx context.Context, payload []byte) error {
	name, text, err := splitNamed(payload)
	if err != nil || l.full {
		return err
	}
	level, ok := map[string]slog.Level{"info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[name]
	if !ok {
		return fmt.Errorf("reading log: level %q: %w", name, errEncoded)
	}
	// Each line costs something, so that empty ones come to an end too.
	if l.left -= len(text) + 1; l.left < 0 {
		l.full = true
		text = []byte(logTruncated)
	}
	l.to.LogAttrs(ctx, level, "guest", slog.String("module", l.sum), slog.String("text", visible(string(text))))
	return nil
}
