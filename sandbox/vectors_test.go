package sandbox

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// vectors reads the modules of test/vectors/wasm.tar.gz by name.
func vectors(tb testing.TB) map[string][]byte {
	tb.Helper()
	f, err := os.Open("../test/vectors/wasm.tar.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			tb.Fatal(err)
		}
		if name, ok := strings.CutSuffix(path.Base(h.Name), ".wasm"); ok {
			if out[name], err = io.ReadAll(r); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// vectorVerdicts says for each vector why it is refused. None speaks our calling
// convention, so none is accepted; the point is that each falls at the first
// check that it was made for, before any engine sees it.
func vectorVerdicts() map[string]struct {
	code abi.Code
	msg  string
} {
	type v = struct {
		code abi.Code
		msg  string
	}
	const (
		limit     = abi.ErrLimitExceeded
		denied    = abi.ErrCapabilityDenied
		malformed = abi.ErrUntrusted
	)
	wrongCall := v{malformed, `exports "call" as "ii>i"`}
	envLog := v{denied, `imports "log" from "env", which this host does not serve`}
	return map[string]v{
		"ansi-log":            envLog,
		"bigtable":            {limit, "a table of 134217728 elements"},
		"br-table-1m":         wrongCall,
		"codesec-size-lie":    {malformed, "section 10"},
		"component-binary":    {malformed, "not a WebAssembly core module"},
		"custom-8mb":          {limit, "a module of 8388671 bytes"},
		"data-out-of-range":   wrongCall,
		"div-zero":            wrongCall,
		"empty":               {malformed, "not a WebAssembly core module"},
		"expo":                {malformed, `no exported function "call"`},
		"export-name-dup":     {malformed, `exports "`},
		"export-wrong-type":   {malformed, `exports "call" as "l>d"`},
		"fill2":               {malformed, `no exported function "call"`},
		"header-only":         {malformed, `no exported function "call"`},
		"host-len-4g":         envLog,
		"host-ptr-oob":        envLog,
		"host-ptr-wrap":       envLog,
		"ifs-30k":             wrongCall,
		"import-memory":       {denied, `imports "memory" from "env", which is not a function`},
		"import-wasi":         {denied, `imports "path_open" from "wasi_snapshot_preview1"`},
		"import-wrong-type":   envLog,
		"imports-50k":         {limit, "50000 imports"},
		"load-oob":            wrongCall,
		"locals-4g":           wrongCall,
		"locals-50m":          wrongCall,
		"locals-5k-dataflow":  wrongCall,
		"loop-forever":        wrongCall,
		"loop-hostcalls":      envLog,
		"loop-in-start":       wrongCall,
		"many-functions-100k": {limit, "100000 functions"},
		"many-functions-1m":   {limit, "1000000 functions"},
		"manytables":          {limit, "tables"},
		"memory-grow-loop":    wrongCall,
		"memory-min-4g":       {limit, "a memory of 65536 pages"},
		"nested-blocks-100k":  wrongCall,
		"no-export":           {malformed, `no exported function "call"`},
		"no-memory":           envLog,
		"not-wasm":            {malformed, "not a WebAssembly core module"},
		"one-function-4mb":    wrongCall,
		"output-1g":           {denied, `imports "output" from "env"`},
		"output-deep-json":    {denied, `imports "output" from "env"`},
		"output-invalid-json": {denied, `imports "output" from "env"`},
		"recursion":           wrongCall,
		"reentrant":           {denied, `imports "reenter" from "env"`},
		"s-brtable20000":      {malformed, `no exported function "call"`},
		"s-loopy2000":         {malformed, `no exported function "call"`},
		"startloop":           {malformed, "a start section"},
		"table-grow-loop":     {limit, "a table of references without a maximum"},
		"trailing-garbage":    wrongCall,
		"truncated":           {malformed, "section"},
		"unreachable":         wrongCall,
	}
}

func TestPrescanVectors(t *testing.T) {
	verdicts := vectorVerdicts()
	all := vectors(t)
	if len(all) != len(verdicts) {
		t.Errorf("%d vectors and %d verdicts", len(all), len(verdicts))
	}
	for name, wasm := range all {
		t.Run(name, func(t *testing.T) {
			want, ok := verdicts[name]
			if !ok {
				t.Fatal("no verdict")
			}
			_, err := Prescan(wasm, Limits{})
			wantError(t, err, want.code)
			if !strings.Contains(err.Error(), want.msg) {
				t.Errorf("error %q, want %q", err, want.msg)
			}
		})
	}
}

// TestVectorsStopAtCompile takes the vectors' code, which wants to be compiled,
// into modules that pass for a guest, and sees what refuses them then.
func TestVectorsStopAtCompile(t *testing.T) {
	all := vectors(t)
	for name, want := range map[string]struct {
		code abi.Code
		msg  string
	}{
		"locals-4g":           {abi.ErrLimitExceeded, "a function of more than 10000 locals"},
		"locals-50m":          {abi.ErrLimitExceeded, "a function of more than 10000 locals"},
		"one-function-4mb":    {abi.ErrLimitExceeded, "a function of 4200004 bytes"},
		"many-functions-100k": {abi.ErrLimitExceeded, "100002 functions"},
		"br-table-1m":         {abi.ErrLimitExceeded, "more than 1s compiling"},
		"ifs-30k":             {abi.ErrLimitExceeded, "more than 1s compiling"},
		"nested-blocks-100k":  {abi.ErrLimitExceeded, "more than 1s compiling"},
		"s-loopy2000":         {abi.ErrLimitExceeded, "more than 1s compiling"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, Limits{CompileTime: 1e9, DataBytes: testDataBytes})
			_, err := s.Compile(t.Context(), asGuest(t, all[name]))
			wantError(t, err, want.code)
			if !strings.Contains(err.Error(), want.msg) {
				t.Errorf("error %q, want %q", err, want.msg)
			}
		})
	}
}

// asGuest puts a module's functions into one that passes for a guest.
func asGuest(tb testing.TB, wasm []byte) []byte {
	tb.Helper()
	g := wasmtest.Guest(nil, wasmtest.Output("{}"))
	r := &reader{b: wasm[8:]}
	var types, funcs []string
	for r.left() > 0 {
		id := r.byte()
		s := &reader{b: r.take(r.u32())}
		n := uint32(0)
		if id == secType || id == secFunction || id == secCode {
			n = s.u32()
		}
		for i := range n {
			switch id {
			case secType:
				s.byte()
				types = append(types, funcType{s.take(s.u32()), s.take(s.u32())}.String())
			case secFunction:
				funcs = append(funcs, types[s.u32()])
			case secCode:
				g.Funcs = append(g.Funcs, wasmtest.Func{Type: funcs[i], Raw: s.take(s.u32())})
			}
		}
		if r.err != nil || s.err != nil {
			tb.Fatal(r.err, s.err)
		}
	}
	return g.Bytes()
}
