package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

const benchInput = `{"v":1,"tool":"echo.echo","args":{"text":"żółć","limit":20}}`

func echoCalls() *fakeCalls {
	return &fakeCalls{read: func(_ context.Context, b []byte) ([]byte, error) { return b, nil }}
}

// BenchmarkCall compares one call of a Go guest through everything this package
// does with the same module on wazero alone, in this process.
func BenchmarkCall(b *testing.B) {
	wasm := buildEcho(b)
	s := openTest(b, Limits{DataBytes: testDataBytes})
	m := mustModule(b, s, wasm)
	run := func(b *testing.B) {
		b.Helper()
		out, err := m.Run(b.Context(), Call{Export: ExportCall, Input: []byte(benchInput), Calls: echoCalls()})
		if err != nil || len(out) == 0 {
			b.Fatal(err)
		}
	}
	b.Run("worker/paced", func(b *testing.B) { // the next instance is ready when a call comes
		for b.Loop() {
			b.StopTimer()
			run(b) // leaves a worker that makes its next instance
			poll(b, "a ready worker", func() bool {
				m.pool.mu.Lock()
				defer m.pool.mu.Unlock()
				return len(m.pool.idle) > 0
			})
			b.StartTimer()
			run(b)
		}
	})
	b.Run("worker/back-to-back", func(b *testing.B) {
		for b.Loop() {
			run(b)
		}
	})
	b.Run("worker/own", func(b *testing.B) {
		for b.Loop() {
			c := Call{Export: ExportCall, Input: []byte(benchInput), Calls: echoCalls(), OwnWorker: true}
			if _, err := m.Run(b.Context(), c); err != nil {
				b.Fatal(err)
			}
		}
	})
	raw := newRawHost(b, wasm)
	b.Run("wazero/ready-instance", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			in := raw.instance(b)
			b.StartTimer()
			raw.call(b, in)
			b.StopTimer()
			_ = in.Close(b.Context())
			b.StartTimer()
		}
	})
	b.Run("wazero/fresh-instance", func(b *testing.B) {
		for b.Loop() {
			in := raw.instance(b)
			raw.call(b, in)
			_ = in.Close(b.Context())
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	wasm := buildEcho(b)
	s := openTest(b, Limits{DataBytes: testDataBytes})
	for b.Loop() {
		if _, err := s.Compile(b.Context(), wasm); err != nil {
			b.Fatal(err)
		}
	}
}

// A rawHost is the least host that the Go PDK's guests run on: Extism memory is
// one slice that is never freed.
type rawHost struct {
	r        wazero.Runtime
	compiled wazero.CompiledModule
	mem      []byte
	sizes    map[uint64]uint64
	out      []byte
}

func newRawHost(b *testing.B, wasm []byte) *rawHost {
	b.Helper()
	h := &rawHost{r: wazero.NewRuntime(b.Context()), sizes: map[uint64]uint64{}}
	b.Cleanup(func() { _ = h.r.Close(context.Background()) }) //nolint:usetesting // after the test's context
	wasi_snapshot_preview1.MustInstantiate(b.Context(), h.r)
	env := h.r.NewHostModuleBuilder(moduleExtism)
	for name, f := range map[string]any{
		"alloc":          h.alloc,
		"length":         func(at uint64) uint64 { return h.sizes[at] },
		"store_u8":       func(at uint64, v uint32) { h.mem[at] = byte(v) },
		"load_u8":        func(at uint64) uint32 { return uint32(h.mem[at]) },
		"store_u64":      func(at, v uint64) { binary.LittleEndian.PutUint64(h.mem[at:], v) },
		"load_u64":       func(at uint64) uint64 { return binary.LittleEndian.Uint64(h.mem[at:]) },
		"input_length":   func() uint64 { return uint64(len(benchInput)) },
		"input_load_u8":  func(at uint64) uint32 { return uint32(benchInput[at]) },
		"input_load_u64": func(at uint64) uint64 { return binary.LittleEndian.Uint64([]byte(benchInput)[at:]) },
		"output_set":     func(at, n uint64) { h.out = h.mem[at : at+n] },
		"error_set":      func(uint64) {},
	} {
		env.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	_, err := env.Instantiate(b.Context())
	own := h.r.NewHostModuleBuilder(abi.Namespace).NewFunctionBuilder().
		WithFunc(func(at uint64) uint64 { return at }).Export("read")
	_, err2 := own.Instantiate(b.Context())
	var err3 error
	h.compiled, err3 = h.r.CompileModule(b.Context(), wasm)
	if err := errors.Join(err, err2, err3); err != nil {
		b.Fatal(err)
	}
	return h
}

func (h *rawHost) alloc(n uint64) uint64 {
	at := uint64(len(h.mem))
	h.mem = append(h.mem, make([]byte, (n+7)&^7)...)
	h.sizes[at] = n
	return at
}

func (h *rawHost) instance(b *testing.B) api.Module {
	b.Helper()
	h.mem = make([]byte, 8, 1<<10)
	clear(h.sizes)
	in, err := h.r.InstantiateModule(b.Context(), h.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions(exportInitialize))
	if err != nil {
		b.Fatal(err)
	}
	return in
}

func (h *rawHost) call(b *testing.B, in api.Module) {
	b.Helper()
	rc, err := in.ExportedFunction(ExportCall).Call(b.Context())
	if err != nil || rc[0] != 0 || checkJSON(h.out) != nil {
		b.Fatalf("%v, %v, %s", rc, err, h.out)
	}
}
