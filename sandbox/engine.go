package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A host is what an engine needs of the worker around it.
type host interface {
	ask(name string, request []byte) ([]byte, error)
	log(level, text string) error
}

// An engine is one compiled module in a worker. Nothing of Extism or wazero is
// used outside this file.
type engine struct {
	told     hello
	host     host
	compiled *extism.CompiledPlugin
	memories memories
	warming  bool // no host call is carried further
}

// newEngine loads the module's machine code from the private cache, or compiles
// it into that cache. It runs no guest code.
func newEngine(told hello, module []byte, h host) (*engine, error) {
	ctx := experimental.WithCompilationWorkers(context.Background(), 2)
	cache, err := wazero.NewCompilationCacheWithDir(told.Cache)
	if err != nil {
		return nil, fmt.Errorf("opening cache: %w", err)
	}
	e := &engine{told: told, host: h}
	manifest := extism.Manifest{
		Wasm:   []extism.Wasm{extism.WasmData{Data: module}},
		Memory: &extism.ManifestMemory{MaxPages: told.MemoryPages},
	}
	config := extism.PluginConfig{
		EnableWasi: told.Runtime,
		// No WithCloseOnContextDone: it makes calls three to four times slower
		// and stops less than a signal does.
		RuntimeConfig: wazero.NewRuntimeConfigCompiler().
			WithCompilationCache(cache).
			WithMemoryLimitPages(told.MemoryPages).
			WithDebugInfoEnabled(false),
	}
	extism.SetLogLevel(extism.LogLevelInfo)
	if e.compiled, err = extism.NewCompiledPlugin(ctx, manifest, config, e.functions()); err != nil {
		return nil, fmt.Errorf("compiling: %w", err)
	}
	return e, nil
}

// functions links every host call; whether it is granted is the host's to say.
func (e *engine) functions() []extism.HostFunction {
	var out []extism.HostFunction
	for _, c := range abi.Capabilities() {
		f := extism.NewHostFunctionWithStack(string(c),
			func(_ context.Context, p *extism.CurrentPlugin, stack []uint64) {
				stack[0] = e.hostCall(p, string(c), stack[0])
			}, []extism.ValueType{extism.ValueTypePTR}, []extism.ValueType{extism.ValueTypePTR})
		f.SetNamespace(abi.Namespace)
		out = append(out, f)
	}
	return out
}

// hostCall reads the block at offset, asks, and returns the offset of the
// answer. A panic here is a trap in the guest: wazero unwinds the call.
func (e *engine) hostCall(p *extism.CurrentPlugin, name string, offset uint64) uint64 {
	n, err := p.Length(offset)
	if err != nil || n == 0 {
		panic(fmt.Errorf("%s: %d is not a block", name, offset))
	}
	if n > uint64(e.told.RequestBytes) {
		panic(fmt.Errorf("%s: a request of %d bytes; at most %d are allowed", name, n, e.told.RequestBytes))
	}
	request, err := p.ReadBytes(offset)
	if err != nil {
		panic(fmt.Errorf("%s: reading request: %w", name, err))
	}
	answer := refusal(abi.Errorf(abi.ErrCapabilityDenied, name, "no host call before the call itself"))
	if !e.warming {
		if answer, err = e.host.ask(name, request); err != nil {
			panic(fmt.Errorf("%s: %w", name, err))
		}
	}
	at, err := p.WriteBytes(answer)
	if err != nil || at == 0 && len(answer) > 0 {
		panic(fmt.Errorf("%s: no memory for an answer of %d bytes", name, len(answer)))
	}
	return at
}

// An instance serves one call and is thrown away.
type instance struct {
	log    *logWriter
	plugin *extism.Plugin
}

// instance makes a fresh instance and runs its _initialize, if it has one.
func (e *engine) instance() (*instance, error) {
	ctx := experimental.WithMemoryAllocator(context.Background(), &e.memories)
	log := &logWriter{host: e.host, left: e.told.LogBytes}
	config := wazero.NewModuleConfig().
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(nap).
		WithRandSource(rand.Reader).
		WithStdout(log.stream("info")).
		WithStderr(log.stream("warn"))
	p, err := e.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, fmt.Errorf("making an instance: %w", err)
	}
	p.SetLogger(func(level extism.LogLevel, text string) { log.line(levelName(level), text) })
	if err := e.warm(p, log); err != nil {
		return nil, err
	}
	return &instance{log: log, plugin: p}, nil
}

// warm gets a language runtime's initialization out of the way of the call.
// Extism runs _initialize inside the first call of an ordinary export and can't
// be asked to earlier, so describe is that first call: it takes no input, its
// output is dropped, its log is not kept and its host calls are refused.
func (e *engine) warm(p *extism.Plugin, log *logWriter) error {
	if !e.told.Runtime || !p.FunctionExists(exportInitialize) {
		return nil
	}
	e.warming, log.muted = true, true
	defer func() { e.warming, log.muted = false, false }()
	if _, _, err := p.CallWithContext(context.Background(), ExportDescribe, nil); err != nil {
		return fmt.Errorf("initializing: %w", err)
	}
	return nil
}

// call runs an export with input and returns its output.
func (i *instance) call(export string, input []byte) ([]byte, error) {
	rc, out, err := i.plugin.CallWithContext(context.Background(), export, input)
	if err != nil {
		return nil, err
	}
	if rc != 0 {
		return nil, fmt.Errorf("%s returned %d", export, rc)
	}
	return out, nil
}

// explain returns the first line of a trap, and logs the guest's stack, which is
// the rest.
func (i *instance) explain(err error) string {
	first, stack, _ := strings.Cut(err.Error(), "\n")
	i.log.flush()
	for line := range strings.Lines(stack) {
		i.log.line("error", strings.TrimRight(line, "\n"))
	}
	return strings.TrimSuffix(first, " (recovered by wazero)")
}

func (i *instance) close() {
	// A trap leaves nothing worth reporting behind.
	_ = i.plugin.CloseWithContext(context.Background())
}

// nap sleeps for at most a second, so that a guest that polls for an hour still
// meets its deadline in an orderly way and one that can't sleep doesn't spin.
func nap(ns int64) {
	const longest = int64(time.Second)
	<-time.After(time.Duration(min(max(ns, 0), longest)))
}

func levelName(l extism.LogLevel) string {
	switch l {
	case extism.LogLevelError:
		return "error"
	case extism.LogLevelWarn:
		return "warn"
	case extism.LogLevelTrace, extism.LogLevelDebug, extism.LogLevelInfo, extism.LogLevelOff:
	}
	return "info"
}
