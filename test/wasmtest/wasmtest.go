// Package wasmtest builds small WebAssembly modules for tests: guests that speak
// the host's calling convention and misbehave in one chosen way.
//
// A body is a list of instructions, each a byte slice from one of the functions
// below; [Guest] puts a call and a describe around it.
package wasmtest

import (
	"slices"
	"strings"
)

// A Module is what [Module.Bytes] encodes. Types are written as parameters, ">",
// results: i and l are integers of 32 and 64 bits.
type Module struct {
	Imports  []Import
	Funcs    []Func
	Memory   *Limits // exported as "memory"; nil for none
	Table    *Limits // of functions
	Data     string  // at offset 0 of the memory
	NoExport bool    // of the memory
}

// An Import is an imported function.
type Import struct{ Module, Name, Type string }

// A Func is a defined function. It is exported if Export is not empty.
type Func struct {
	Export string
	Type   string
	Locals string // value letters
	Body   [][]byte
	Raw    []byte // locals, instructions and end as they stand, in place of Locals and Body
}

// Limits are a size and an optional maximum.
type Limits struct {
	Min uint32
	Max *uint32
}

// Bytes encodes the module.
func (m Module) Bytes() []byte {
	var types typeList
	var imports, funcs, exports, code [][]byte
	for _, im := range m.Imports {
		imports = append(imports, slices.Concat(name(im.Module), name(im.Name), []byte{0}, types.index(im.Type)))
	}
	for i, f := range m.Funcs {
		funcs = append(funcs, types.index(f.Type))
		code = append(code, f.encode())
		if f.Export != "" {
			exports = append(exports, slices.Concat(name(f.Export), []byte{0}, U(uint32(len(m.Imports)+i))))
		}
	}
	var memory, table, data [][]byte
	if m.Memory != nil {
		memory = [][]byte{m.Memory.encode()}
		if !m.NoExport {
			exports = append(exports, slices.Concat(name("memory"), []byte{2, 0}))
		}
	}
	if m.Table != nil {
		table = [][]byte{append([]byte{0x70}, m.Table.encode()...)}
	}
	if m.Data != "" {
		data = [][]byte{slices.Concat([]byte{0}, I32(0), []byte{0x0b}, name(m.Data))}
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		Section(1, types.entries()), Section(2, imports), Section(3, funcs), Section(4, table), Section(5, memory),
		Section(7, exports), Section(10, code), Section(11, data))
}

// encode returns an entry of the code section.
func (f Func) encode() []byte {
	body := f.Raw
	if body == nil {
		body = slices.Concat(locals(f.Locals), slices.Concat(f.Body...), []byte{0x0b})
	}
	return slices.Concat(U(uint32(len(body))), body)
}

// A typeList is the type section while it is collected.
type typeList []string

// index returns the encoded index of a type, which is added if it is new.
func (l *typeList) index(t string) []byte {
	i := slices.Index(*l, t)
	if i < 0 {
		i = len(*l)
		*l = append(*l, t)
	}
	return U(uint32(i))
}

func (l typeList) entries() [][]byte {
	var out [][]byte
	for _, t := range l {
		params, results, _ := strings.Cut(t, ">")
		out = append(out, slices.Concat([]byte{0x60}, values(params), values(results)))
	}
	return out
}

// Section encodes a section of entries; none if there are none.
func Section(id byte, entries [][]byte) []byte {
	if len(entries) == 0 {
		return nil
	}
	body := slices.Concat(U(uint32(len(entries))), slices.Concat(entries...))
	return slices.Concat([]byte{id}, U(uint32(len(body))), body)
}

func (l Limits) encode() []byte {
	if l.Max == nil {
		return append([]byte{0}, U(l.Min)...)
	}
	return slices.Concat([]byte{1}, U(l.Min), U(*l.Max))
}

func name(s string) []byte { return append(U(uint32(len(s))), s...) }

func values(letters string) []byte {
	b := U(uint32(len(letters)))
	for _, c := range letters {
		b = append(b, valueType(c))
	}
	return b
}

func locals(letters string) []byte {
	b := U(uint32(len(letters)))
	for _, c := range letters {
		b = append(b, 1, valueType(c))
	}
	return b
}

func valueType(letter rune) byte {
	switch letter {
	case 'i':
		return 0x7f
	case 'l':
		return 0x7e
	default:
		panic("BUG: no value type " + string(letter))
	}
}

// U encodes an unsigned number.
func U(v uint32) []byte {
	var b []byte
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// S encodes a signed number.
func S(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Do joins instructions.
func Do(ins ...[]byte) []byte { return slices.Concat(ins...) }

// I32 pushes a constant.
func I32(v int32) []byte { return append([]byte{0x41}, S(int64(v))...) }

// I64 pushes a constant.
func I64(v int64) []byte { return append([]byte{0x42}, S(v)...) }

// Get pushes a local.
func Get(i uint32) []byte { return append([]byte{0x20}, U(i)...) }

// Set pops a local.
func Set(i uint32) []byte { return append([]byte{0x21}, U(i)...) }

// Call calls function i.
func Call(i uint32) []byte { return append([]byte{0x10}, U(i)...) }

// Loop repeats its instructions for ever.
func Loop(ins ...[]byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, slices.Concat(ins...), []byte{0x0c, 0, 0x0b})
}

// Times repeats its instructions n times, counting in an i32 local.
func Times(n int32, local uint32, ins ...[]byte) []byte {
	return slices.Concat(I32(n), Set(local), []byte{0x03, 0x40}, slices.Concat(ins...),
		Get(local), I32(1), []byte{0x6b}, append([]byte{0x22}, U(local)...), []byte{0x0d, 0, 0x0b})
}

// Trap traps.
func Trap() []byte { return []byte{0x00} }

// Drop pops a value.
func Drop() []byte { return []byte{0x1a} }

// DivideByZero traps.
func DivideByZero() []byte { return Do(I32(1), I32(0), []byte{0x6d}, Drop()) }

// Grow grows the memory by n pages and drops the answer.
func Grow(n int32) []byte { return Do(I32(n), []byte{0x40, 0}, Drop()) }

// GrowTable grows table 0 by n null functions and drops the answer.
func GrowTable(n int32) []byte {
	return Do([]byte{0xd0, 0x70}, I32(n), []byte{0xfc}, U(15), []byte{0}, Drop())
}

// Fill writes n bytes from offset 0 on.
func Fill(n int32) []byte { return Do(I32(0), I32(1), I32(n), []byte{0xfc, 0x0b, 0}) }

// Load reads an i32 at an address and drops it.
func Load(at int32) []byte { return Do(I32(at), []byte{0x28, 2, 0}, Drop()) }
