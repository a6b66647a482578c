package sandbox

import (
	"errors"
	"math"
	"unicode/utf8"
)

// Kinds of imports and exports.
const (
	kindFunc   = 0
	kindMemory = 2
)

// The two faults of an encoding.
var (
	errShort   = errors.New("unexpected end")
	errEncoded = errors.New("malformed encoding")
)

// A reader reads the WebAssembly binary format. After the first fault err is
// set, nothing more is read, and every method returns zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) left() int { return len(r.b) }

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail(errShort)
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// u32 reads an unsigned LEB128 of at most five bytes.
func (r *reader) u32() uint32 {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if n > math.MaxUint32 {
				break
			}
			if r.err != nil {
				return 0
			}
			return uint32(n)
		}
	}
	r.fail(errEncoded)
	return 0
}

// take returns the next n bytes, which stay the module's.
func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) name() string {
	b := r.take(r.u32())
	if len(b) > maxNameBytes || !utf8.Valid(b) {
		r.fail(errEncoded)
		return ""
	}
	return string(b)
}

// limits reads the size of a table or memory. Shared and 64-bit ones are
// refused by their flags.
func (r *reader) limits() (minimum, maximum uint32, bounded bool) {
	switch r.byte() {
	case 0:
		return r.u32(), 0, false
	case 1:
		return r.u32(), r.u32(), true
	default:
		r.fail(errEncoded)
		return 0, 0, false
	}
}

// A funcType is the type of a function, as the module has it.
type funcType struct{ params, results []byte }

// String writes a type as its parameters, ">", and its results: i and l are
// integers of 32 and 64 bits, f and d floats, ? is anything else.
func (t funcType) String() string {
	var b []byte
	for _, v := range t.params {
		b = append(b, valueLetter(v))
	}
	b = append(b, '>')
	for _, v := range t.results {
		b = append(b, valueLetter(v))
	}
	return string(b)
}

func valueLetter(v byte) byte {
	switch v {
	case 0x7f:
		return 'i'
	case 0x7e:
		return 'l'
	case 0x7d:
		return 'f'
	case 0x7c:
		return 'd'
	default:
		return '?'
	}
}

// typeString returns type idx as text, or "?" if there is none.
func (s *scanner) typeString(idx uint32) string {
	if int(idx) >= len(s.types) {
		return "?"
	}
	return s.types[idx].String()
}
