package redact

import "strings"

// A sieve tells in one pass whether a text holds any of a set of parts. It goes
// by the first two bytes of a part: a text of some length holds few of them.
type sieve struct {
	single [256]bool
	pairs  [1 << 16 / 64]uint64
	parts  map[uint16][]string // by the first two bytes
	folded map[uint16][]string // in lower case; by the first two bytes in any case
}

// newSieve looks for parts exactly, and for those in folded, which are ASCII, in
// any case.
func newSieve(parts, folded []string) *sieve {
	s := &sieve{parts: map[uint16][]string{}, folded: map[uint16][]string{}}
	for _, p := range parts {
		if len(p) == 1 {
			s.single[p[0]] = true
			continue
		}
		s.add(s.parts, p[0], p[1], p)
	}
	for _, p := range folded {
		for _, a := range [...]string{p[:1], strings.ToUpper(p[:1])} {
			for _, b := range [...]string{p[1:2], strings.ToUpper(p[1:2])} {
				s.add(s.folded, a[0], b[0], p)
			}
		}
	}
	return s
}

func (s *sieve) add(to map[uint16][]string, a, b byte, part string) {
	k := uint16(a)<<8 | uint16(b)
	s.pairs[k/64] |= 1 << (k % 64)
	to[k] = append(to[k], part)
}

// holds reports whether any part stands in text.
func (s *sieve) holds(text []byte) bool {
	for i, c := range text {
		if s.single[c] {
			return true
		}
		if i+1 == len(text) {
			break
		}
		k := uint16(c)<<8 | uint16(text[i+1])
		if s.pairs[k/64]&(1<<(k%64)) != 0 && s.at(k, text[i:]) {
			return true
		}
	}
	return false
}

// at reports whether text begins with one of the parts of pair k.
func (s *sieve) at(k uint16, text []byte) bool {
	for _, p := range s.parts[k] {
		if len(text) >= len(p) && string(text[:len(p)]) == p {
			return true
		}
	}
	for _, p := range s.folded[k] {
		if len(text) >= len(p) && strings.EqualFold(string(text[:len(p)]), p) {
			return true
		}
	}
	return false
}
