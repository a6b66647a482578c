package sandbox

import "github.com/tetratelabs/wazero/experimental"

// keepMemory is how much a worker keeps between calls, in bytes.
const keepMemory = 32 << 20

// memories lends linear memory to one instance after another. Memory that a
// process gets anew costs a page fault for each 4 KiB when it is first touched,
// and that is in the middle of a call: about a third of a Go guest's time. What
// an instance leaves is zeroed while nobody waits, and lent to the next one.
//
// A worker has one instance at a time and one goroutine, so there is no lock.
type memories struct {
	spare map[memorySpec][][]byte // zeroed
	kept  int                     // bytes in spare
}

// A memorySpec tells the memories of an instance apart: Extism's own, and the
// module's.
type memorySpec struct{ capacity, limit uint64 }

func (m *memories) Allocate(capacity, limit uint64) experimental.LinearMemory {
	return &linearMemory{from: m, spec: memorySpec{capacity, limit}}
}

// take returns what an earlier memory of this kind left, or nil. It is as large
// as that one became, so that the next one grows without being moved.
func (m *memories) take(s memorySpec) []byte {
	list := m.spare[s]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	m.spare[s] = list[:len(list)-1]
	m.kept -= cap(b)
	return b
}

// give takes a memory back. What would be too much is left to the collector.
func (m *memories) give(s memorySpec, b []byte) {
	b = b[:cap(b)]
	if len(b) == 0 || m.kept+len(b) > keepMemory {
		return
	}
	clear(b)
	if m.spare == nil {
		m.spare = map[memorySpec][][]byte{}
	}
	m.spare[s] = append(m.spare[s], b)
	m.kept += len(b)
}

// A linearMemory is one memory of one instance.
type linearMemory struct {
	from *memories
	spec memorySpec
	buf  []byte
}

// Reallocate returns the memory with a length of size bytes, of which those
// beyond the old length are zero. It may move.
func (l *linearMemory) Reallocate(size uint64) []byte {
	if l.buf == nil {
		l.buf = l.from.take(l.spec)
	}
	if size > uint64(cap(l.buf)) || l.buf == nil {
		room := size
		if len(l.buf) > 0 { // it grows, and may well do so again
			room = max(size, min(size+size/4, l.spec.limit))
		}
		grown := make([]byte, room)
		copy(grown, l.buf)
		l.buf = grown
	}
	l.buf = l.buf[:size]
	return l.buf
}

// Free gives the memory back.
func (l *linearMemory) Free() {
	l.from.give(l.spec, l.buf)
	l.buf = nil
}
