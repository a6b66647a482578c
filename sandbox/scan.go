package sandbox

import (
	"bytes"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A scanner collects what the sections of one module say. Later sections rely
// on earlier ones, whose order is fixed by the format.
type scanner struct {
	lim  Limits
	info Info

	types       []funcType
	imported    []uint32 // type indices of imported functions
	defined     []uint32 // type indices of defined functions
	bodies      int
	memories    int
	exportNames map[string]bool
	memoryName  string // under which the memory is exported
	custom      int
	customBytes int
}

// Section ids of the core format.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

// module walks the sections.
func (s *scanner) module(wasm []byte) error {
	magic := []byte("\x00asm\x01\x00\x00\x00")
	if !bytes.HasPrefix(wasm, magic) {
		return malformed("not a WebAssembly core module of version 1")
	}
	r := &reader{b: wasm[len(magic):]}
	last := 0
	for r.left() > 0 {
		id := int(r.byte())
		body := r.take(r.u32())
		if r.err != nil {
			return malformed("section %d: %w", id, r.err)
		}
		if id == secCustom {
			if err := s.customSection(body); err != nil {
				return err
			}
			continue
		}
		pos := sectionOrder(id)
		if pos == 0 || pos <= last {
			return malformed("section %d is unknown, repeated or out of order", id)
		}
		last = pos
		if err := s.section(id, &reader{b: body}); err != nil {
			return err
		}
	}
	return nil
}

// sectionOrder returns the place of a section, from 1, or 0 if there is none.
// The data count stands before the code.
func sectionOrder(id int) int {
	order := []int{
		secType, secImport, secFunction, secTable, secMemory, secGlobal,
		secExport, secStart, secElement, secDataCount, secCode, secData,
	}
	return slices.Index(order, id) + 1
}

// section reads one section that is not custom.
func (s *scanner) section(id int, r *reader) error {
	if id == secStart {
		return malformed("a start section; export _initialize instead")
	}
	n := r.u32()
	if limit, what := sectionLimit(id); n > limit {
		return overLimit("%d %s; at most %d are allowed", n, what, limit)
	}
	read := map[int]func(*reader) error{
		secType: s.typeEntry, secImport: s.importEntry, secFunction: s.functionEntry, secTable: s.tableEntry,
		secMemory: s.memoryEntry, secExport: s.exportEntry, secCode: s.codeEntry,
	}[id]
	if read == nil { // globals, elements, data: bounded by count and size, left to the compiler
		if r.err != nil {
			return malformed("section %d: %w", id, r.err)
		}
		return nil
	}
	for range n {
		if err := read(r); err != nil {
			return err
		}
		if r.err != nil {
			break
		}
	}
	if r.err == nil && r.left() > 0 {
		return malformed("section %d: %d bytes too many", id, r.left())
	}
	if r.err != nil {
		return malformed("section %d: %w", id, r.err)
	}
	return nil
}

// sectionLimit returns how many entries a section may have, and their name.
func sectionLimit(id int) (uint32, string) {
	switch id {
	case secType:
		return maxTypes, "types"
	case secImport:
		return maxImports, "imports"
	case secFunction, secCode:
		return maxFunctions, "functions"
	case secTable:
		return maxTables, "tables"
	case secMemory:
		return 1, "memories"
	case secGlobal:
		return maxGlobals, "globals"
	case secExport:
		return maxExports, "exports"
	case secElement:
		return maxElements, "element segments"
	default:
		return maxData, "data segments"
	}
}

func (s *scanner) customSection(body []byte) error {
	if s.custom++; s.custom > maxCustom {
		return overLimit("more than %d custom sections", maxCustom)
	}
	if s.customBytes += len(body); s.customBytes > maxCustomBytes {
		return overLimit("more than %d bytes of custom sections", maxCustomBytes)
	}
	r := &reader{b: body}
	if r.name(); r.err != nil {
		return malformed("custom section: %w", r.err)
	}
	return nil
}

// finish checks what only the whole module shows.
func (s *scanner) finish() error {
	if len(s.defined) != s.bodies {
		return malformed("%d functions are declared and %d have code", len(s.defined), s.bodies)
	}
	s.info.Functions = len(s.defined)
	for _, name := range []string{ExportCall, ExportDescribe} {
		if !s.info.HasExport(name) {
			return malformed("no exported function %q", name)
		}
	}
	if s.memories != 1 || s.memoryName != "memory" {
		return malformed("no exported memory %q", "memory")
	}
	slices.Sort(s.info.Capabilities)
	s.info.Capabilities = slices.Compact(s.info.Capabilities)
	return nil
}

func (s *scanner) typeEntry(r *reader) error {
	if form := r.byte(); r.err == nil && form != 0x60 {
		return malformed("type form %#x", form)
	}
	var t funcType
	for _, list := range []*[]byte{&t.params, &t.results} {
		n := r.u32()
		if n > maxTypeValues {
			return overLimit("a type with %d values; at most %d are allowed", n, maxTypeValues)
		}
		*list = r.take(n)
	}
	s.types = append(s.types, t)
	return nil
}

func (s *scanner) importEntry(r *reader) error {
	im := Import{Module: r.name(), Name: r.name()}
	kind := r.byte()
	if r.err != nil {
		return nil //nolint:nilerr // section reports r.err
	}
	if kind != kindFunc {
		return notServed("imports %q from %q, which is not a function", im.Name, im.Module)
	}
	idx := r.u32()
	want, served := signature(im.Module, im.Name)
	if !served {
		return notServed("imports %q from %q, which this host does not serve", im.Name, im.Module)
	}
	if got := s.typeString(idx); r.err == nil && got != want {
		return notServed("imports %q from %q as %q; it is %q", im.Name, im.Module, got, want)
	}
	s.imported = append(s.imported, idx)
	s.info.Imports = append(s.info.Imports, im)
	switch im.Module {
	case abi.Namespace:
		s.info.Capabilities = append(s.info.Capabilities, abi.Capability(im.Name))
	case moduleWASI:
		s.info.WASI = true
	}
	return nil
}

func (s *scanner) functionEntry(r *reader) error {
	idx := r.u32()
	if r.err == nil && int(idx) >= len(s.types) {
		return malformed("function type %d of %d", idx, len(s.types))
	}
	s.defined = append(s.defined, idx)
	return nil
}

// tableEntry lets function tables go without a maximum, because toolchains
// leave it out; the memory guard watches those that grow.
func (s *scanner) tableEntry(r *reader) error {
	elem := r.byte()
	minimum, maximum, bounded := r.limits()
	if r.err != nil {
		return nil //nolint:nilerr // section reports r.err
	}
	if elem != 0x70 && !bounded {
		return overLimit("a table of references without a maximum")
	}
	if minimum > maxTableSize || elem != 0x70 && maximum > maxTableSize {
		return overLimit("a table of %d elements; at most %d are allowed", max(minimum, maximum), maxTableSize)
	}
	return nil
}

func (s *scanner) memoryEntry(r *reader) error {
	minimum, _, _ := r.limits()
	if r.err == nil && minimum > s.lim.MemoryPages {
		return overLimit("a memory of %d pages; at most %d are allowed", minimum, s.lim.MemoryPages)
	}
	s.memories++
	return nil
}

func (s *scanner) exportEntry(r *reader) error {
	name, kind, idx := r.name(), r.byte(), r.u32()
	if r.err != nil {
		return nil //nolint:nilerr // section reports r.err
	}
	if s.exportNames[name] {
		return malformed("exports %q twice", name)
	}
	if s.exportNames == nil {
		s.exportNames = make(map[string]bool)
	}
	s.exportNames[name] = true
	switch kind {
	case kindFunc:
		return s.exportFunc(name, idx)
	case kindMemory:
		s.memoryName = name
	}
	return nil
}

// exportFunc checks the type of the exports that the host calls.
func (s *scanner) exportFunc(name string, idx uint32) error {
	s.info.Exports = append(s.info.Exports, name)
	allowed := map[string][]string{
		ExportCall:     {">i", ">"},
		ExportDescribe: {">i", ">"},
		ExportHealth:   {">i", ">"},
		"_initialize":  {">"},
	}[name]
	if allowed == nil {
		return nil
	}
	all := append(slices.Clone(s.imported), s.defined...)
	if int(idx) >= len(all) {
		return malformed("exports %q as function %d of %d", name, idx, len(all))
	}
	if got := s.typeString(all[idx]); !slices.Contains(allowed, got) {
		return malformed("exports %q as %q; it is %q", name, got, allowed[0])
	}
	return nil
}

func (s *scanner) codeEntry(r *reader) error {
	body := &reader{b: r.take(r.u32())}
	if len(body.b) > maxBodyBytes {
		return overLimit("a function of %d bytes; at most %d are allowed", len(body.b), maxBodyBytes)
	}
	var locals uint64
	for n := body.u32(); n > 0 && body.err == nil; n-- {
		if locals += uint64(body.u32()); locals > maxLocals {
			return overLimit("a function of more than %d locals", maxLocals)
		}
		body.byte()
	}
	s.bodies++
	if r.err == nil && body.err != nil {
		return malformed("function %d: %w", s.bodies-1, body.err)
	}
	return nil
}
