package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// The exports of a connector. Each takes its input and gives its output through
// Extism and returns nothing, or 0.
const (
	ExportCall     = "call"     // one tool call: abi.CallInput in, abi.CallOutput out
	ExportDescribe = "describe" // no input; abi.Description out
	ExportHealth   = "health"   // optional; like call

	exportInitialize = "_initialize" // a language runtime's
)

// Config says where a [Sandbox] lives and how it starts workers.
type Config struct {
	// Dir holds machine code, its key and private copies: an absolute path that
	// only this user may write to. It is made if it is missing.
	Dir string
	// Command starts a worker, with [WorkerMain] as all it does; the default is
	// this program with [WorkerCommand].
	Command []string
	// Limits that are zero have their default.
	Limits Limits
	// Ended, if it is not nil, is told of each worker that has ended what it cost.
	// Several may end at once.
	Ended func(Cost)
	// Log takes the guests' log, one record "guest" a line with its text escaped,
	// and what goes wrong behind host calls. The default drops both.
	Log *slog.Logger
}

// A Cost is what one worker process has used in its life. Zero is not known.
type Cost struct {
	Peak int64         // of resident memory, in bytes
	CPU  time.Duration // of all of its threads
}

// A Sandbox compiles modules and runs them. It may be used by many goroutines.
type Sandbox struct {
	lim       Limits
	command   []string
	ended     func(Cost) // or nil
	log       *slog.Logger
	store     *cacheStore
	spawner   *spawner
	compiling chan struct{} // holds one token: compilations take turns

	mu      sync.Mutex
	closed  bool
	pools   map[*pool]struct{}
	workers map[*worker]struct{} // alive, whoever owns them
	gone    sync.WaitGroup       // counts workers
}

// Open makes a sandbox. It starts no process and compiles nothing.
func Open(ctx context.Context, cfg Config) (*Sandbox, error) {
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("opening sandbox: directory %q is not absolute", cfg.Dir)
	}
	command := cfg.Command
	if len(command) == 0 {
		var err error
		if command, err = selfCommand(); err != nil {
			return nil, err
		}
	}
	store, err := openCacheStore(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	store.sweep(time.Hour)
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Sandbox{
		lim: cfg.Limits.withDefaults(), command: command, ended: cfg.Ended, log: log, store: store, spawner: newSpawner(),
		compiling: make(chan struct{}, 1), workers: make(map[*worker]struct{}), pools: make(map[*pool]struct{}),
	}, nil
}

// Close kills every worker and waits until they are gone. Calls that run end
// with an error.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for w := range s.workers {
		w.proc.kill()
	}
	pools := slices.Collect(maps.Keys(s.pools))
	s.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
	s.gone.Wait()
	s.spawner.close()
	return nil
}

// A Module is a compiled module with the capabilities that it was granted. It
// may be used by many goroutines; each call has a worker to itself.
type Module struct {
	sb      *Sandbox
	bytes   []byte
	sum     string
	info    Info
	granted []abi.Capability
	pool    *pool
}

// Module returns a module that [Sandbox.Compile] has compiled before, in this
// process or an earlier one, or [ErrNotCompiled]. It starts nothing. The slice
// is kept and must not change: what was verified is what runs. What is granted
// beyond the module's imports has no effect.
func (s *Sandbox) Module(wasm []byte, granted []abi.Capability) (*Module, error) {
	info, err := Prescan(wasm, s.lim)
	if err != nil {
		return nil, err
	}
	m := &Module{sb: s, bytes: wasm, sum: moduleSum(wasm), info: info, granted: slices.Clone(granted)}
	if !s.store.has(m.sum) {
		return nil, fmt.Errorf("opening module %s: %w", m.sum, ErrNotCompiled)
	}
	m.pool = &pool{size: s.lim.Workers, idleFor: s.lim.Idle, start: m.start}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	s.pools[m.pool] = struct{}{}
	return m, nil
}

// Info returns what the module's headers say.
func (m *Module) Info() Info { return m.info }

// SHA256 returns the hash of the module's bytes, in hexadecimal.
func (m *Module) SHA256() string { return m.sum }

// Close stops the module's idle workers; busy ones stop after their call.
func (m *Module) Close() {
	m.sb.mu.Lock()
	delete(m.sb.pools, m.pool)
	m.sb.mu.Unlock()
	m.pool.close()
}

func moduleSum(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// A Call is one call of one export.
type Call struct {
	Export string
	Input  []byte
	// Calls serves the host calls; nil refuses all of them.
	Calls HostCalls
	// OwnWorker gives the call a process that no other call had or will have,
	// and that is there even when every other worker is busy.
	OwnWorker bool
	// Output, if it is not nil, points to a zero value into which the output is
	// decoded; it is then checked against that type, by strictjson's rules.
	Output any
	// GuestTime, if it is not nil, is set to how long the module itself ran, host
	// calls not counted, as its worker says.
	GuestTime *time.Duration
}

// Run calls an export in a fresh instance and returns its output, which is one
// JSON object in UTF-8. The call ends with ctx, at the latest: then its worker
// is killed. Errors are an *[abi.Error]:
//   - guest_trap: the module crashed, exited or broke the protocol
//   - limit_exceeded: CPU, memory, host calls, or the size of input or result
//   - timeout: ctx ended; its cause is in the chain
//   - invalid_result: the output is not a JSON object, or not what Output takes
//   - invalid_args: no such export
//   - untrusted, reason tampered: the stored machine code was changed
//
// or [ErrNotCompiled], if the machine code no longer fits the processor. After
// an error the worker is gone, and the next call gets another.
func (m *Module) Run(ctx context.Context, c Call) ([]byte, error) {
	if err := m.check(c); err != nil {
		return nil, err
	}
	w, err := m.take(ctx, c.OwnWorker)
	if err != nil {
		return nil, err
	}
	d := &desk{lim: m.sb.lim, granted: m.granted, calls: c.Calls, log: m.sb.log}
	out, err := w.call(ctx, c, d)
	if err == nil {
		err = c.check(out)
	}
	if c.OwnWorker {
		w.close()
	} else {
		m.pool.put(w, err == nil)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Prepare has a worker ready sooner for a call that is on its way, and returns at
// once. Starting the first one takes about a tenth of a second, in which a browser
// can start as well. It gives up when ctx ends.
func (m *Module) Prepare(ctx context.Context) { m.pool.prepare(ctx) }

// check refuses output that isn't what the caller takes.
func (c Call) check(out []byte) error {
	if c.Output == nil {
		return checkJSON(out)
	}
	if err := strictjson.Decode(out, c.Output, strictjson.MaxBytes(max(len(out), 1)), strictjson.AnyText()); err != nil {
		return invalidResult("%w", err)
	}
	return nil
}

// check refuses a call that no worker needs to see.
func (m *Module) check(c Call) error {
	switch {
	case !slices.Contains([]string{ExportCall, ExportDescribe, ExportHealth}, c.Export) || !m.info.HasExport(c.Export):
		return abi.Errorf(abi.ErrInvalidArgs, "guest", "no export %q", c.Export)
	case len(c.Input) > m.sb.lim.InputBytes:
		return abi.Errorf(abi.ErrLimitExceeded, "guest",
			"an input of %d bytes; at most %d are allowed", len(c.Input), m.sb.lim.InputBytes)
	}
	return nil
}

func (m *Module) take(ctx context.Context, own bool) (*worker, error) {
	if own {
		return m.start(ctx)
	}
	return m.pool.get(ctx)
}

// start starts a worker with the module's machine code and waits for its first
// instance.
func (m *Module) start(ctx context.Context) (*worker, error) {
	files, err := m.sb.store.open(m.sum)
	if err != nil {
		return nil, err
	}
	dir, err := m.sb.store.privateDir(files)
	if err != nil {
		return nil, err
	}
	defer removeAll(dir)
	w, err := m.sb.newWorker(m.bytes, m.info, dir, false)
	if err != nil {
		return nil, err
	}
	if err := m.load(ctx, w, dir, len(files)); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// load waits until the worker has its machine code, sees that it made none, and
// waits for the first instance.
func (m *Module) load(ctx context.Context, w *worker, dir string, files int) error {
	g := guard{wall: w.lim.StartTime, cpu: w.lim.StartTime, resident: w.lim.RunBytes}
	err := w.await(ctx, g, kindCompiled)
	if err == nil && countFiles(dir) == files {
		return w.begin(ctx)
	}
	// It was compiled once, so a refusal means that the engine would not take
	// what is stored, and may not store anything else.
	if err == nil || errors.Is(err, abi.ErrUntrusted) {
		return fmt.Errorf("loading module %s: %w", m.sum, ErrNotCompiled)
	}
	return err
}

// errClosed is what a call on a closed sandbox meets.
func errClosed() error { return abi.Errorf(abi.ErrInternal, "sandbox", "the sandbox is closed") }

// isABI reports whether err is one that may be shown.
func isABI(err error) bool { return errors.As(err, new(*abi.Error)) }
