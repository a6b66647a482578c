package sandbox

import (
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Info is what a module's headers say.
type Info struct {
	Size         int              // bytes
	Functions    int              // defined, not imported
	Imports      []Import         // in the module's order
	Exports      []string         // functions, in the module's order
	Capabilities []abi.Capability // the imports from [abi.Namespace], sorted, each once
	WASI         bool             // whether it imports any WASI call
}

// An Import is one imported function.
type Import struct {
	Module, Name string
}

// HasExport reports whether the module exports a function of that name.
func (i Info) HasExport(name string) bool { return slices.Contains(i.Exports, name) }

// The counts beyond which a module is refused. The compiler's time and memory
// grow with them, and real guests stay far below: a Go guest has about 35,000
// data segments, 2,000 functions and bodies of 30 KiB.
const (
	maxTypes       = 5_000
	maxTypeValues  = 64 // parameters, and results, of one type
	maxImports     = 128
	maxFunctions   = 30_000
	maxTables      = 4
	maxTableSize   = 20_000
	maxGlobals     = 5_000
	maxExports     = 512
	maxElements    = 5_000
	maxData        = 100_000
	maxBodyBytes   = 1 << 20
	maxLocals      = 10_000
	maxCustom      = 1_000
	maxCustomBytes = 4 << 20
	maxNameBytes   = 128
)

// Prescan reads the headers of a module without compiling it and says what it
// asks for. It refuses, always with an *[abi.Error]:
//   - limit_exceeded: a size or a count that no honest module needs and that
//     would cost the compiler minutes or its life
//   - capability_denied: an import that this host does not serve, by name, or
//     one of another type than it has
//   - untrusted, reason malformed: anything else, such as a start section, which
//     would run before a call does, or a missing export
//
// A module that passes can still be invalid or slow to compile: it is compiled
// in a worker only. The time is linear in the number of functions, below a
// millisecond for the guests that we know.
func Prescan(wasm []byte, lim Limits) (Info, error) {
	lim = lim.withDefaults()
	if len(wasm) > lim.ModuleBytes {
		return Info{}, overLimit("a module of %d bytes; at most %d are allowed", len(wasm), lim.ModuleBytes)
	}
	s := &scanner{lim: lim, info: Info{Size: len(wasm)}}
	if err := s.module(wasm); err != nil {
		return Info{}, err
	}
	if err := s.finish(); err != nil {
		return Info{}, err
	}
	return s.info, nil
}

func overLimit(format string, args ...any) error {
	return abi.Errorf(abi.ErrLimitExceeded, "module", format, args...)
}

func malformed(format string, args ...any) error {
	e := abi.Errorf(abi.ErrUntrusted, "module", format, args...)
	e.Reason = abi.ReasonMalformed
	return e
}

func notServed(format string, args ...any) error {
	return abi.Errorf(abi.ErrCapabilityDenied, "module", format, args...)
}
