package sandbox

import (
	"context"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// CompiledInfo is what is known of a module after it was compiled.
type CompiledInfo struct {
	SHA256   string // of the module's bytes, in hexadecimal
	Info     Info
	Describe []byte // output of the export describe, a JSON object that nobody has compared yet
}

// Compile prescans a module, compiles it in a worker of its own, stores the
// sealed machine code, and asks the module to describe itself without any
// capability. One module is compiled at a time. Errors are as for [Prescan] and
// [Module.Run]; limit_exceeded also when compiling takes longer or more memory
// than allowed, untrusted with reason malformed when the compiler refuses it.
// Machine code is stored before describe runs, so it may stay behind after an
// error; nothing runs it but this package.
func (s *Sandbox) Compile(ctx context.Context, wasm []byte) (CompiledInfo, error) {
	info, err := Prescan(wasm, s.lim)
	if err != nil {
		return CompiledInfo{}, err
	}
	select {
	case s.compiling <- struct{}{}:
		defer func() { <-s.compiling }()
	case <-ctx.Done():
		return CompiledInfo{}, ended(ctx)
	}
	out := CompiledInfo{SHA256: moduleSum(wasm), Info: info}
	out.Describe, err = s.compile(ctx, wasm, info, out.SHA256)
	if err != nil {
		return CompiledInfo{}, err
	}
	return out, nil
}

// compile keeps this order: no guest code runs before the machine code has left
// the worker's reach.
func (s *Sandbox) compile(ctx context.Context, wasm []byte, info Info, sum string) ([]byte, error) {
	dir, err := s.store.privateDir(nil)
	if err != nil {
		return nil, err
	}
	defer removeAll(dir)
	w, err := s.newWorker(wasm, info, dir, true)
	if err != nil {
		return nil, err
	}
	defer w.close()
	// CPU is left to the clock: the compiler may use both processors.
	g := guard{wall: s.lim.CompileTime, resident: s.lim.CompileBytes, doing: "compiling"}
	if err := w.await(ctx, g, kindCompiled); err != nil {
		return nil, err
	}
	files, err := harvest(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("compiling module %s: no machine code", sum)
	}
	if err := s.store.seal(sum, files); err != nil {
		return nil, err
	}
	if err := w.begin(ctx); err != nil {
		return nil, err
	}
	out, err := w.call(ctx, Call{Export: ExportDescribe}, &desk{lim: s.lim, log: s.log})
	if err == nil {
		err = checkJSON(out)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ended is the error of a call whose context is done.
func ended(ctx context.Context) error {
	err := context.Cause(ctx)
	if ctx.Err() == context.DeadlineExceeded {
		return abi.Errorf(abi.ErrTimeout, "guest", "the call's deadline passed: %w", err)
	}
	return abi.Errorf(abi.ErrTimeout, "guest", "the call was cancelled: %w", err)
}
