package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// plain is a guest that passes.
func plain() wasmtest.Module { return wasmtest.Guest(nil, wasmtest.Output("{}")) }

func TestPrescanAccepts(t *testing.T) {
	m := wasmtest.Guest([]string{"read", "progress", "act", "read"}, wasmtest.Output("{}"))
	m.Imports = append(m.Imports, wasmtest.Import{Module: moduleWASI, Name: "fd_write", Type: "iiii>i"})
	m.Funcs = append(m.Funcs, wasmtest.Func{Export: ExportHealth, Type: ">i", Body: [][]byte{wasmtest.I32(0)}})
	wasm := append(m.Bytes(), custom("name", "x")...)
	info, err := Prescan(wasm, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []abi.Capability{"act", "progress", "read"}; !slices.Equal(info.Capabilities, want) {
		t.Errorf("capabilities %v, want %v", info.Capabilities, want)
	}
	if want := []string{"call", "describe", "health"}; !slices.Equal(info.Exports, want) {
		t.Errorf("exports %v, want %v", info.Exports, want)
	}
	if !info.WASI || info.Functions != 3 || info.Size != len(wasm) || len(info.Imports) != 11 {
		t.Errorf("info %+v", info)
	}
	if info, err := Prescan(plain().Bytes(), Limits{}); err != nil || info.WASI || len(info.Capabilities) > 0 {
		t.Errorf("a plain guest: %+v, %v", info, err)
	}
}

// custom encodes a custom section.
func custom(name, data string) []byte {
	body := slices.Concat(wasmtest.U(uint32(len(name))), []byte(name), []byte(data))
	return slices.Concat([]byte{0}, wasmtest.U(uint32(len(body))), body)
}

// edited returns a plain guest after a change.
func edited(change func(*wasmtest.Module)) []byte {
	m := plain()
	change(&m)
	return m.Bytes()
}

func importing(module, name, typ string) []byte {
	return edited(func(m *wasmtest.Module) {
		m.Imports = append(m.Imports, wasmtest.Import{Module: module, Name: name, Type: typ})
	})
}

func TestPrescanRefusesImports(t *testing.T) {
	tests := []struct{ module, name, typ, want string }{
		{moduleExtism, "http_request", "ll>l", "does not serve"},
		{moduleExtism, "http_status_code", ">i", "does not serve"},
		{moduleExtism, "http_headers", ">l", "does not serve"},
		{moduleExtism, "var_get", "l>l", "does not serve"},
		{moduleExtism, "var_set", "ll>", "does not serve"},
		{moduleExtism, "config_get", "l>l", "does not serve"},
		{moduleExtism, "", "l>l", "does not serve"},
		{moduleExtism, "alloc l>l", "l>l", "does not serve"},
		{moduleExtism, "alloc", "i>l", `as "i>l"; it is "l>l"`},
		{moduleExtism, "log_info", "l>l", `as "l>l"; it is "l>"`},
		{moduleWASI, "path_open", "iiiiillii>i", "does not serve"},
		{moduleWASI, "sock_accept", "iii>i", "does not serve"},
		{moduleWASI, "fd_write", "iii>i", `it is "iiii>i"`},
		{"wasi_unstable", "fd_write", "iiii>i", "does not serve"},
		{abi.Namespace, "Read", "l>l", "does not serve"},
		{abi.Namespace, "eval", "l>l", "does not serve"},
		{abi.Namespace, "read", "ll>l", `it is "l>l"`},
		{"drawbridge:host/v2", "read", "l>l", "does not serve"},
		{"extism:host/user", "read", "l>l", "does not serve"},
		{"env", "read", "l>l", "does not serve"},
	}
	for _, tt := range tests {
		t.Run(tt.module+" "+tt.name, func(t *testing.T) {
			_, err := Prescan(importing(tt.module, tt.name, tt.typ), Limits{})
			wantError(t, err, abi.ErrCapabilityDenied)
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `"`+tt.name+`" from "`+tt.module+`"`) {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestPrescanRefuses(t *testing.T) {
	good := plain().Bytes()
	inserted := func(before byte, section []byte) []byte {
		for i := 8; i < len(good); {
			r := &reader{b: good[i+1:]}
			n := r.u32()
			if good[i] == before {
				return slices.Concat(good[:i], section, good[i:])
			}
			i = len(good) - len(r.b) + int(n)
		}
		t.Fatalf("no section %d", before)
		return nil
	}
	tests := []struct {
		name string
		wasm []byte
		code abi.Code
		want string
	}{
		{"nothing", nil, abi.ErrUntrusted, "not a WebAssembly core module"},
		{"version 2", slices.Concat([]byte("\x00asm\x02\x00\x00\x00"), good[8:]), abi.ErrUntrusted, "not a WebAssembly core module"},
		{"start section", inserted(secCode, []byte{secStart, 1, 8}), abi.ErrUntrusted, "a start section"},
		{"tag section", inserted(secMemory, []byte{13, 3, 1, 0, 0}), abi.ErrUntrusted, "unknown, repeated or out of order"},
		{"repeated section", inserted(secCode, wasmtest.Section(secMemory, [][]byte{{0, 1}})), abi.ErrUntrusted, "repeated"},
		{"section too long", slices.Concat(good, []byte{0, 100}), abi.ErrUntrusted, "unexpected end"},
		{"garbage", slices.Concat(good, []byte{0x99}), abi.ErrUntrusted, "unexpected end"},
		{"custom section without name", slices.Concat(good, []byte{0, 0}), abi.ErrUntrusted, "custom section"},
		{"custom name not UTF-8", slices.Concat(good, custom("\xff\xfe", "")), abi.ErrUntrusted, "custom section"},
		{"many custom sections", slices.Concat(good, bytes.Repeat(custom("x", ""), maxCustom+1)), abi.ErrLimitExceeded, "custom sections"},
		{"large custom section", slices.Concat(good, custom("x", strings.Repeat("x", maxCustomBytes))), abi.ErrLimitExceeded, "custom sections"},
		{"memory not exported", edited(func(m *wasmtest.Module) { m.NoExport = true }), abi.ErrUntrusted, `no exported memory`},
		{"no memory", edited(func(m *wasmtest.Module) { m.Memory = nil }), abi.ErrUntrusted, `no exported memory`},
		{"memory of 65 MiB", edited(func(m *wasmtest.Module) { m.Memory.Min = 1025 }), abi.ErrLimitExceeded, "a memory of 1025 pages"},
		{"large table", edited(func(m *wasmtest.Module) { m.Table = &wasmtest.Limits{Min: maxTableSize + 1} }), abi.ErrLimitExceeded, "a table of 20001"},
		{"no describe", edited(func(m *wasmtest.Module) { m.Funcs = m.Funcs[:1] }), abi.ErrUntrusted, `no exported function "describe"`},
		{"no call", edited(func(m *wasmtest.Module) { m.Funcs[0].Export = "main" }), abi.ErrUntrusted, `no exported function "call"`},
		{"call takes", edited(func(m *wasmtest.Module) { m.Funcs[0].Type = "l>i" }), abi.ErrUntrusted, `exports "call" as "l>i"; it is ">i"`},
		{"call twice", edited(func(m *wasmtest.Module) { m.Funcs[1].Export = "call" }), abi.ErrUntrusted, `exports "call" twice`},
		{"initialize returns", edited(func(m *wasmtest.Module) {
			m.Funcs = append(m.Funcs, wasmtest.Func{Export: exportInitialize, Type: ">i", Body: [][]byte{wasmtest.I32(0)}})
		}), abi.ErrUntrusted, `exports "_initialize" as ">i"`},
		{"long export name", edited(func(m *wasmtest.Module) { m.Funcs[0].Export = strings.Repeat("x", 129) }), abi.ErrUntrusted, "malformed encoding"},
		{"many exports", edited(func(m *wasmtest.Module) {
			for i := range maxExports {
				m.Funcs = append(m.Funcs, wasmtest.Func{Export: "f" + string(rune('a'+i%26)) + strings.Repeat("x", i/26), Type: ">"})
			}
		}), abi.ErrLimitExceeded, "exports"},
		{"many imports", edited(func(m *wasmtest.Module) {
			m.Imports = slices.Repeat(m.Imports[:1], maxImports+1)
		}), abi.ErrLimitExceeded, "129 imports"},
		{"many locals", edited(func(m *wasmtest.Module) {
			m.Funcs[0].Raw = slices.Concat([]byte{2}, wasmtest.U(maxLocals), []byte{0x7f, 1, 0x7f, 0x0b})
		}), abi.ErrLimitExceeded, "more than 10000 locals"},
		{"4 Gi locals twice", edited(func(m *wasmtest.Module) {
			m.Funcs[0].Raw = slices.Concat([]byte{2}, wasmtest.U(1<<32-1), []byte{0x7f}, wasmtest.U(1<<32-1), []byte{0x7f, 0x0b})
		}), abi.ErrLimitExceeded, "more than 10000 locals"},
		{"long body", edited(func(m *wasmtest.Module) {
			m.Funcs[0].Raw = bytes.Repeat([]byte{1}, maxBodyBytes+1)
		}), abi.ErrLimitExceeded, "a function of 1048577 bytes"},
		{"empty body", edited(func(m *wasmtest.Module) { m.Funcs[0].Raw = []byte{} }), abi.ErrUntrusted, "function 0"},
		{"function without code", slices.Concat(good[:8], wasmtest.Section(secType, [][]byte{{0x60, 0, 0}}),
			wasmtest.Section(secFunction, [][]byte{{0}})), abi.ErrUntrusted, "1 functions are declared and 0 have code"},
		{"function of no type", slices.Concat(good[:8], wasmtest.Section(secFunction, [][]byte{{0}})), abi.ErrUntrusted, "function type 0 of 0"},
		{
			"export of no function", slices.Concat(good[:8], wasmtest.Section(secExport, [][]byte{slices.Concat([]byte{4}, []byte("call"), []byte{0, 0})})),
			abi.ErrUntrusted, `exports "call" as function 0 of 0`,
		},
		{"section with a rest", slices.Concat(good[:8], []byte{secType, 2, 0, 0}), abi.ErrUntrusted, "1 bytes too many"},
		{"count of 4 Gi types", slices.Concat(good[:8], []byte{secType, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), abi.ErrLimitExceeded, "4294967295 types"},
		{"number of six bytes", slices.Concat(good[:8], []byte{secType, 0x80, 0x80, 0x80, 0x80, 0x80, 0}), abi.ErrUntrusted, "malformed encoding"},
		{"number over 32 bits", slices.Concat(good[:8], []byte{secType, 5, 0xff, 0xff, 0xff, 0xff, 0x1f}), abi.ErrUntrusted, "malformed encoding"},
		{"type form", slices.Concat(good[:8], []byte{secType, 2, 1, 0x5f}), abi.ErrUntrusted, "type form 0x5f"},
		{"wide type", slices.Concat(good[:8], []byte{secType, 3, 1, 0x60, maxTypeValues + 1}), abi.ErrLimitExceeded, "a type with 65 values"},
		{"shared memory", slices.Concat(good[:8], []byte{secMemory, 4, 1, 3, 1, 1}), abi.ErrUntrusted, "malformed encoding"},
		{"64-bit memory", slices.Concat(good[:8], []byte{secMemory, 3, 1, 4, 1}), abi.ErrUntrusted, "malformed encoding"},
		{"several memories", slices.Concat(good[:8], []byte{secMemory, 5, 2, 0, 1, 0, 1}), abi.ErrLimitExceeded, "2 memories"},
		{"externref table without maximum", slices.Concat(good[:8], []byte{secTable, 4, 1, 0x6f, 0, 1}), abi.ErrLimitExceeded, "without a maximum"},
		{"externref table with a large maximum", slices.Concat(good[:8], []byte{secTable, 7, 1, 0x6f, 1, 1, 0xff, 0xff, 0x7f}), abi.ErrLimitExceeded, "a table of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Prescan(tt.wasm, Limits{})
			wantError(t, err, tt.code)
			if tt.code == abi.ErrUntrusted {
				wantReason(t, err, abi.ReasonMalformed)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want %q", err, tt.want)
			}
		})
	}
}

func TestPrescanSizeIsSettable(t *testing.T) {
	wasm := plain().Bytes()
	if _, err := Prescan(wasm, Limits{ModuleBytes: len(wasm)}); err != nil {
		t.Error(err)
	}
	_, err := Prescan(wasm, Limits{ModuleBytes: len(wasm) - 1})
	wantError(t, err, abi.ErrLimitExceeded)
}

// TestPrescanCutShort refuses every proper prefix of a module.
func TestPrescanCutShort(t *testing.T) {
	wasm := plain().Bytes()
	for n := range len(wasm) {
		if _, err := Prescan(wasm[:n], Limits{}); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(wasm))
		}
	}
}

func FuzzPrescan(f *testing.F) {
	for _, wasm := range vectors(f) {
		if len(wasm) < 64<<10 {
			f.Add(wasm)
		}
	}
	f.Add(plain().Bytes())
	f.Fuzz(func(t *testing.T, wasm []byte) {
		info, err := Prescan(wasm, Limits{})
		if err != nil {
			if !isABI(err) {
				t.Errorf("error %v is not an *abi.Error", err)
			}
			return
		}
		for _, im := range info.Imports {
			if _, ok := signature(im.Module, im.Name); !ok {
				t.Errorf("accepted import %q %q", im.Module, im.Name)
			}
		}
		if !info.HasExport(ExportCall) || !info.HasExport(ExportDescribe) {
			t.Error("accepted without exports")
		}
	})
}

func BenchmarkPrescan(b *testing.B) {
	wasm := buildEcho(b)
	for b.Loop() {
		if _, err := Prescan(wasm, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
