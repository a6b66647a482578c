package bench

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A guest runs a module in this process, without a worker and with the answer
// of its host call at hand: what is left is the module's own time.
type guest struct {
	compiled *extism.CompiledPlugin
	input    []byte
	memory   memory
}

// memory keeps linear memory between calls, as a worker does: page faults are
// not the module's time.
type memory struct{ spare map[uint64][]byte }

func (m *memory) Allocate(capacity, _ uint64) experimental.LinearMemory {
	b := m.spare[capacity]
	delete(m.spare, capacity)
	return &lent{from: m, capacity: capacity, b: b}
}

type lent struct {
	from     *memory
	capacity uint64
	b        []byte
}

func (l *lent) Reallocate(size uint64) []byte {
	if size > uint64(cap(l.b)) {
		l.b = append(make([]byte, 0, size), l.b...)
	}
	l.b = l.b[:size]
	return l.b
}

func (l *lent) Free() {
	clear(l.b[:cap(l.b)])
	if l.from.spare == nil {
		l.from.spare = map[uint64][]byte{}
	}
	l.from.spare[l.capacity] = l.b
}

// newGuest prepares a module whose host calls are all answered with data, the
// table that it read through the whole stack.
func newGuest(b *testing.B, wasm []byte, data json.RawMessage) *guest {
	b.Helper()
	answer := marshal(b, map[string]any{"ok": true, "data": map[string]any{"rows": data}})
	in := marshal(b, abi.CallInput{V: abi.Version, Tool: "reader.list", Args: json.RawMessage(`{}`), Settings: map[string]string{}, Locale: "en"})
	var calls []extism.HostFunction
	for _, name := range []string{"read"} {
		f := extism.NewHostFunctionWithStack(name, func(_ context.Context, p *extism.CurrentPlugin, stack []uint64) {
			if _, err := p.ReadBytes(stack[0]); err != nil {
				stack[0] = 0
				return
			}
			at, err := p.WriteBytes(answer)
			if err != nil {
				at = 0
			}
			stack[0] = at
		}, []extism.ValueType{extism.ValueTypeI64}, []extism.ValueType{extism.ValueTypeI64})
		f.SetNamespace(abi.Namespace)
		calls = append(calls, f)
	}
	compiled, err := extism.NewCompiledPlugin(b.Context(), extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}},
		extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfigCompiler()}, calls)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = compiled.Close(context.Background()) }) //nolint:usetesting // after the test's context
	return &guest{compiled: compiled, input: in}
}

func marshal(b *testing.B, v any) []byte {
	b.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// call returns the milliseconds of one call in an instance that is ready.
func (g *guest) call(b *testing.B) float64 {
	b.Helper()
	p, err := g.compiled.Instance(experimental.WithMemoryAllocator(b.Context(), &g.memory), extism.PluginInstanceConfig{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close(b.Context()) }()
	if _, _, err := p.Call("describe", nil); err != nil { // a runtime starts in its first call
		b.Fatal(err)
	}
	start := time.Now()
	_, out, err := p.Call("call", g.input)
	took := time.Since(start)
	if err != nil || len(out) < 1000 {
		b.Fatalf("guest call: %v: %.300s", err, out)
	}
	return float64(took.Microseconds()) / 1000
}
