package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A sheet is one page, a part of a result that is too long for one answer: the whole object,
// with what doesn't belong to this page left out of its long lists and texts.
type sheet struct {
	body  json.RawMessage
	parts []part
}

// A part says how much of one long list or text a page holds. First and Last count
// from 1, and are 0 where the page holds nothing of it.
type part struct {
	At    string `json:"at"`   // such as issues, or notes[3].text
	Unit  string `json:"unit"` // rows or characters
	First int    `json:"first"`
	Last  int    `json:"last"`
	Of    int    `json:"of"`
	Left  int    `json:"left"` // on the pages after this
}

const (
	maxParts  = 24      // that one page tells of
	maxNodes  = 50_000  // rows and members of one result
	maxTimes  = 4       // how often longer than the result all its pages may be
	maxPartAt = 80      // characters of a part's name
	textChunk = 1 << 10 // bytes of a long text that are never parted
	unitRows  = "rows"
	unitChars = "characters"
)

// paginate parts a result, an object of compact JSON that was checked, into pages
// of about size bytes. What is short stands on every page. It is nil where the
// result can't be parted so that each page keeps to its size and tells what it lacks,
// or only into far too many.
func paginate(result json.RawMessage, size int) []sheet {
	for _, short := range []int{size / 8, size / 64} { // many short ones are long too
		b := builder{short: short, whole: size / 4, chunk: min(textChunk, max(size/16, 16))}
		root := b.node(result, "", false)
		if b.nodes > maxNodes {
			return nil
		}
		if root.fixed > size/2 || len(b.units) == 0 {
			continue
		}
		if pages := b.pages(root, size); pages != nil {
			return pages
		}
	}
	return nil
}

type nodeKind int

const (
	nodeFixed  nodeKind = iota // as it is, wherever what holds it is
	nodeRow                    // one unit: as it is, on one page
	nodeRecord                 // an object with something long in it
	nodeList
	nodeText
)

// A node is a value in a result. It begins at one unit and ends before another.
type node struct {
	kind   nodeKind
	at     string
	raw    []byte
	names  [][]byte // of a record's members, with their quotes
	kids   []*node  // members or items
	chunks []string // of a text
	lo, hi int
	fixed  int // bytes without any unit
}

// A unit is what is never parted: a row, or a piece of a long text.
type unit struct {
	size   int
	within []*node // the long rows that it is part of, which come with it
}

// A builder numbers the units of a result in its order.
type builder struct {
	short, whole, chunk int // bytes: of what is fixed, of a row at most, of a piece of text

	units []unit
	rows  []*node // the long rows around what is read now
	nodes int     // what was taken apart; nothing more is after maxNodes
}

func (b *builder) node(raw []byte, at string, row bool) *node {
	n := &node{kind: nodeFixed, at: at, raw: raw, lo: len(b.units), fixed: len(raw)}
	switch {
	case row && len(raw) <= b.whole:
		n.kind = nodeRow
	case row || len(raw) > b.short:
		b.long(n, row)
	}
	if n.kind == nodeRow {
		b.unit(len(raw) + 1)
	}
	n.hi = len(b.units)
	return n
}

// long takes a long value apart. A long row that has nothing long in it is one unit.
func (b *builder) long(n *node, row bool) {
	if row {
		b.rows = append(slices.Clip(b.rows), n)
		defer func() { b.rows = b.rows[:len(b.rows)-1] }()
	}
	switch n.raw[0] {
	case '{':
		n.kind, n.fixed = nodeRecord, len("{}")
		for _, m := range counted(b, membersOf(n.raw, nil)) {
			kid := b.node(m.value, join(n.at, m.name), false)
			n.names, n.kids = append(n.names, m.name), append(n.kids, kid)
			n.fixed += len(m.name) + len(":,") + kid.fixed
		}
	case '[':
		n.kind, n.fixed = nodeList, len("[]")
		for i, item := range counted(b, itemsOf(n.raw, nil)) {
			n.kids = append(n.kids, b.node(item, fmt.Sprintf("%s[%d]", n.at, i+1), true))
		}
	case '"':
		n.kind, n.fixed = nodeText, len(`""`)
		b.text(n)
	}
	if row && len(b.units) == n.lo {
		n.kind, n.fixed, n.kids = nodeRow, len(n.raw), nil
	}
}

// counted is parts, or nothing where they are too many: each takes memory.
func counted[T any](b *builder, parts []T) []T {
	if b.nodes += len(parts); b.nodes > maxNodes {
		return nil
	}
	return parts
}

func join(at string, name []byte) string {
	plain, _ := text(name)
	if at != "" {
		plain = at + "." + plain
	}
	return plain
}

func (b *builder) text(n *node) {
	rest, _ := text(n.raw)
	for rest != "" {
		end := min(b.chunk, len(rest))
		for end < len(rest) && !utf8.RuneStart(rest[end]) {
			end++
		}
		n.chunks = append(n.chunks, rest[:end])
		b.unit(len(quoted(rest[:end])))
		rest = rest[end:]
	}
}

func (b *builder) unit(size int) { b.units = append(b.units, unit{size, b.rows}) }

// quoted is a text as JSON, spelled as connectors spell it.
func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("BUG: a string is not JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// pages fills one page after the other. A page holds one unit at least.
func (b *builder) pages(root *node, size int) []sheet {
	var out []sheet
	total := 0
	for from := 0; from < len(b.units); {
		to, used := b.fill(root, size, from)
		parts := root.tell(nil, from, to)
		total += used
		if used > 2*size || len(parts) > maxParts || total > maxTimes*len(root.raw) {
			return nil
		}
		out = append(out, sheet{root.append(make([]byte, 0, used), from, to), parts})
		from = to
	}
	return out
}

// fill finds the units from one on that fit on a page, and how long it gets.
func (b *builder) fill(root *node, size, from int) (to, used int) {
	used = root.fixed
	seen := map[*node]bool{}
	for to = from; to < len(b.units); to++ {
		cost := b.units[to].size
		for _, row := range b.units[to].within {
			if !seen[row] {
				cost += row.fixed + 1
			}
		}
		if to > from && used+cost > size {
			break
		}
		used += cost
		for _, row := range b.units[to].within {
			seen[row] = true
		}
	}
	return to, used
}

// append writes what a page with these units shows of n.
func (n *node) append(to []byte, lo, hi int) []byte {
	switch n.kind {
	case nodeRecord:
		to = append(to, '{')
		for i, kid := range n.kids {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(append(to, n.names[i]...), ':')
			to = kid.append(to, lo, hi)
		}
		return append(to, '}')
	case nodeList:
		to = append(to, '[')
		empty := len(to)
		for _, kid := range n.kids {
			if !kid.on(lo, hi) {
				continue
			}
			if len(to) > empty {
				to = append(to, ',')
			}
			to = kid.append(to, lo, hi)
		}
		return append(to, ']')
	case nodeText:
		var s []byte
		for i, c := range n.chunks {
			if u := n.lo + i; lo <= u && u < hi {
				s = append(s, c...)
			}
		}
		return append(to, quoted(string(s))...)
	case nodeFixed, nodeRow:
	}
	return append(to, n.raw...)
}

// on reports whether a page with these units shows some of n.
func (n *node) on(lo, hi int) bool { return n.lo < hi && n.hi > lo }

// tell adds what a page with these units doesn't show whole.
func (n *node) tell(to []part, lo, hi int) []part {
	if n.lo >= lo && n.hi <= hi || len(to) > maxParts {
		return to
	}
	p := part{At: cut(n.at, maxPartAt)}
	switch n.kind {
	case nodeList:
		p.Unit, p.Of = unitRows, len(n.kids)
		for i, kid := range n.kids {
			p.count(1, i, kid.on(lo, hi), kid.hi > hi)
		}
		to = append(to, p)
	case nodeText:
		p.Unit = unitChars
		for i, c := range n.chunks {
			u, chars := n.lo+i, utf8.RuneCountInString(c)
			p.count(chars, p.Of, lo <= u && u < hi, u >= hi)
			p.Of += chars
		}
		to = append(to, p)
	case nodeFixed, nodeRow, nodeRecord:
	}
	for _, kid := range n.kids {
		if n.kind == nodeRecord || kid.on(lo, hi) {
			to = kid.tell(to, lo, hi)
		}
	}
	return to
}

// count adds what stands at some place, before which there are so many: here, or on
// a page after this.
func (p *part) count(n, before int, here, later bool) {
	if here {
		if p.First == 0 {
			p.First = before + 1
		}
		p.Last = before + n
	}
	if later {
		p.Left += n
	}
}
