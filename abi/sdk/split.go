package sdk

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The host's answers are JSON that it wrote itself, long and read once. Decoding
// them step by step with encoding/json would scan each byte half a dozen times,
// and a scan costs a module a millisecond for each 20 kB. So the outer layers are
// taken apart here, by brackets and quotes alone, and encoding/json decodes what
// is left. What does not look as expected is left to it from the start.

// splitObject calls each for the members of a JSON object, and reports whether it
// was one.
func splitObject(raw []byte, each func(key, value []byte)) bool {
	s := splitter{b: raw}
	return s.list('{', '}', func() bool {
		key := s.value()
		s.space()
		if len(key) < 2 || key[0] != '"' || slices.Contains(key, '\\') || !s.skip(':') {
			return false
		}
		value := s.value()
		each(key[1:len(key)-1], value)
		return value != nil
	}) && s.end()
}

// splitArray returns the elements of a JSON array.
func splitArray(raw []byte, into [][]byte) ([][]byte, bool) {
	s := splitter{b: raw}
	ok := s.list('[', ']', func() bool {
		value := s.value()
		into = append(into, value)
		return value != nil
	}) && s.end()
	return into, ok
}

// A splitter finds where values begin and end.
type splitter struct {
	b  []byte
	at int
}

// list walks a list between brackets; each takes one of its parts.
func (s *splitter) list(open, end byte, each func() bool) bool {
	if s.space(); !s.skip(open) {
		return false
	}
	if s.space(); s.skip(end) {
		return true
	}
	for {
		if s.space(); !each() {
			return false
		}
		if s.space(); s.skip(end) {
			return true
		}
		if !s.skip(',') {
			return false
		}
	}
}

func (s *splitter) space() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\n' || s.b[s.at] == '\t' || s.b[s.at] == '\r') {
		s.at++
	}
}

func (s *splitter) skip(c byte) bool {
	if s.at == len(s.b) || s.b[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *splitter) end() bool {
	s.space()
	return s.at == len(s.b)
}

// value takes one value, or returns nil where none ends.
func (s *splitter) value() []byte {
	s.space()
	from, depth := s.at, 0
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case '"':
			if !s.text() {
				return nil
			}
			if depth == 0 {
				return s.b[from:s.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return s.since(from)
			}
			if depth == 0 {
				s.at++
				return s.b[from:s.at]
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return s.since(from)
			}
		}
		s.at++
	}
	if depth > 0 {
		return nil
	}
	return s.since(from)
}

func (s *splitter) since(from int) []byte {
	if s.at == from {
		return nil
	}
	return s.b[from:s.at]
}

// text skips a string. What is plain is searched, which in WASM takes a fraction of
// the time that a loop over its bytes takes.
func (s *splitter) text() bool {
	s.at++
	for quote := -1; ; {
		if quote < s.at {
			n := bytes.IndexByte(s.b[s.at:], '"')
			if n < 0 {
				s.at = len(s.b)
				return false
			}
			quote = s.at + n
		}
		escape := bytes.IndexByte(s.b[s.at:quote], '\\')
		if escape < 0 {
			s.at = quote + 1
			return true
		}
		s.at += escape + 2 // what is escaped can't end it
	}
}

// splitAnswer decodes a program's answer; the data stay as they are, and share
// raw's memory.
func splitAnswer(raw []byte) (*Result, bool) {
	var res Result
	rest := []byte("{")
	ok := splitObject(raw, func(key, value []byte) {
		if string(key) == "data" {
			res.Data = map[string]json.RawMessage{}
			if splitObject(value, func(as, v []byte) { res.Data[string(as)] = v }) {
				return
			}
			res.Data = nil // a name with an escape, or null
		}
		rest = append(append(append(rest, '"'), key...), `":`...)
		rest = append(append(rest, value...), ',')
	})
	if !ok {
		return nil, false
	}
	data := res.Data
	rest[len(rest)-1] = '}'
	if len(rest) == 1 {
		rest = []byte("{}")
	}
	if json.Unmarshal(rest, &res.Answer) != nil {
		return nil, false
	}
	if data != nil {
		res.Data = data
	}
	return &res, true
}
