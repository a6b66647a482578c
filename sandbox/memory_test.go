package sandbox

import (
	"bytes"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

func TestMemoryIsLentAgainWithoutWhatWasInIt(t *testing.T) {
	var m memories
	const first, most = 64 << 10, 1 << 20
	for round := range 3 {
		mem := m.Allocate(first, most)
		b := mem.Reallocate(first)
		for _, size := range []uint64{first, 2 * first, 2*first + 1, most} {
			was := len(b)
			b = mem.Reallocate(size)
			if uint64(len(b)) != size {
				t.Fatalf("round %d: %d bytes, want %d", round, len(b), size)
			}
			if i := bytes.IndexFunc(b[was:], func(r rune) bool { return r != 0 }); i >= 0 {
				t.Fatalf("round %d: byte %d of new memory is not zero", round, was+i)
			}
			if was > first && b[0] != 's' {
				t.Fatalf("round %d: growing lost what was in it", round)
			}
			for i := range b {
				b[i] = 's'
			}
		}
		mem.Free()
	}
	if m.kept != cap(m.spare[memorySpec{first, most}][0]) || len(m.spare) != 1 {
		t.Errorf("%d bytes kept in %d kinds, want the one memory", m.kept, len(m.spare))
	}
}

func TestMemoryThatIsKeptIsBounded(t *testing.T) {
	var m memories
	var lent []interface{ Free() }
	for range 5 {
		mem := m.Allocate(1<<16, 1<<30)
		mem.Reallocate(keepMemory/2 - 1)
		lent = append(lent, mem)
	}
	for _, mem := range lent {
		mem.Free()
	}
	if m.kept > keepMemory || m.kept < keepMemory/2 {
		t.Errorf("%d bytes kept, at most %d are allowed", m.kept, keepMemory)
	}
	huge := m.Allocate(1<<16, 1<<30)
	if got := cap(huge.Reallocate(1 << 16)); got != keepMemory/2-1 {
		t.Errorf("a memory of %d bytes, want one of those that were kept", got)
	}
	if m.kept >= keepMemory/2 {
		t.Errorf("%d bytes are kept after one was lent", m.kept)
	}
}

// A module's memory ends with its instance, and Extism's own with it.
func TestInstancesGiveTheirMemoryBack(t *testing.T) {
	e := testEngine(t)
	for range 4 {
		inst, err := e.instance()
		if err != nil {
			t.Fatal(err)
		}
		inst.close()
	}
	for spec, list := range e.memories.spare {
		if len(list) != 1 {
			t.Errorf("%d memories of %d bytes are kept after four instances, want one", len(list), spec.capacity)
		}
	}
	if len(e.memories.spare) == 0 {
		t.Error("no memory came back")
	}
}

func testEngine(t *testing.T) *engine {
	t.Helper()
	module := wasmtest.Guest(nil, wasmtest.Output(`{"ok":true}`)).Bytes()
	e, err := newEngine(hello{Cache: t.TempDir(), MemoryPages: 256, LogBytes: 1 << 10}, module, silentHost{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// silentHost answers nothing.
type silentHost struct{}

func (silentHost) ask(string, []byte) ([]byte, error) { return []byte(`{}`), nil }
func (silentHost) log(string, string) error           { return nil }
