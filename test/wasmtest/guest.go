package wasmtest

import "slices"

// The functions that every [Guest] imports, by index.
const (
	Alloc = iota
	StoreU8
	OutputSet
	LogInfo
	ErrorSet
	Length
	Host // the first of the host calls that Guest was asked for
)

// Namespace is the import module of the host calls.
const Namespace = "drawbridge:host/v1"

// Guest is a connector whose export call runs the instructions, with locals 0
// (l), 1 (i) and 2 (l), and whose describe returns {}. It imports the named host
// calls.
func Guest(hostCalls []string, call ...[]byte) Module {
	const env = "extism:host/env"
	m := Module{
		Imports: []Import{
			{env, "alloc", "l>l"},
			{env, "store_u8", "li>"},
			{env, "output_set", "ll>"},
			{env, "log_info", "l>"},
			{env, "error_set", "l>"},
			{env, "length", "l>l"},
		},
		Memory: &Limits{Min: 1},
	}
	for _, c := range hostCalls {
		m.Imports = append(m.Imports, Import{Namespace, c, "l>l"})
	}
	m.Funcs = []Func{
		{Export: "call", Type: ">i", Locals: "lil", Body: append(slices.Clone(call), I32(0))},
		{Export: "describe", Type: ">i", Locals: "lil", Body: [][]byte{Output("{}"), I32(0)}},
	}
	return m
}

// Func returns the index of the n-th function that is defined beyond call and
// describe.
func (m Module) Func(n int) uint32 { return uint32(len(m.Imports) + 2 + n) }

// Block makes an Extism block of s and leaves its offset in local 0.
func Block(s string) []byte {
	b := Do(I64(int64(len(s))), Call(Alloc), Set(0))
	for i := range len(s) {
		b = append(b, Do(Get(0), I64(int64(i)), []byte{0x7c}, I32(int32(s[i])), Call(StoreU8))...)
	}
	return b
}

// Output sets the output to s.
func Output(s string) []byte {
	return Do(Block(s), Get(0), I64(int64(len(s))), Call(OutputSet))
}

// OutputSize sets the output to a block of n bytes, all zero.
func OutputSize(n int64) []byte {
	return Do(I64(n), Call(Alloc), Set(0), Get(0), I64(n), Call(OutputSet))
}

// Log writes a line to the log.
func Log(s string) []byte { return Do(Block(s), Get(0), Call(LogInfo)) }

// Ask makes host call n (counted from 0 in the order given to Guest) with s and
// leaves the offset of the answer in local 2.
func Ask(n uint32, s string) []byte { return Do(Block(s), Get(0), Call(Host+n), Set(2)) }

// OutputAnswer sets the output to the block in local 2.
func OutputAnswer() []byte {
	return Do(Get(2), Get(2), Call(Length), Call(OutputSet))
}

// Explode is a guest of 45 functions, each of which calls the next twice: 2^44
// calls without a loop.
func Explode() Module {
	m := Guest(nil, Output("{}"))
	const depth = 45
	first := m.Func(0)
	m.Funcs[0].Body = [][]byte{Call(first), Output("{}"), I32(0)}
	for i := range uint32(depth) {
		f := Func{Type: ">"}
		if i < depth-1 {
			f.Body = [][]byte{Call(first + i + 1), Call(first + i + 1)}
		}
		m.Funcs = append(m.Funcs, f)
	}
	return m
}

// FillForLong is a guest that fills its whole memory n times, in a straight line.
func FillForLong(n int) Module {
	const pages = 1024
	body := slices.Repeat([][]byte{Fill(pages << 16)}, n)
	m := Guest(nil, append(body, Output("{}"))...)
	m.Memory = &Limits{Min: pages}
	return m
}

// Recurse is a guest that calls itself without end.
func Recurse() Module {
	m := Guest(nil, Output("{}"))
	self := m.Func(0)
	m.Funcs[0].Body = [][]byte{Call(self), I32(0)}
	m.Funcs = append(m.Funcs, Func{Type: ">", Body: [][]byte{Call(self)}})
	return m
}
