package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// A tool that only reads may return more than a client can take at once. Its result
// then comes in pages: the same object with a part of its rows, a member that says
// which part, and a cursor that brings the next one in an identical call, without
// running the tool again. RATIONALE.md says why so.

const (
	// defaultResult is how many bytes of a result one answer holds.
	defaultResult = abi.MinClientResult
	// maxMore is how many bytes of them are for the member that says which part it is.
	maxMore = 3_000
	// MetaMaxResult is Claude Code's: how many characters of a tool's result it shows
	// to the model. It takes no more than maxClaude.
	MetaMaxResult = "anthropic/maxResultSizeChars"
	maxClaude     = abi.MaxClientResult
)

// Paging is what a tool calls the argument and the member that pages need.
type paging struct{ cursor, more string }

const (
	cursorSchema = `{"description":"Where this call's result came in parts: the cursor that it named for the next","type":"string"}`
	moreSchema   = `{"description":"Only in a result that comes in parts: which part this is, and the cursor of the next","type":"object"}`
)

// A shape is a tool's schemas with what pages need put in.
type shape struct {
	in, out       json.RawMessage // of the definition it was made from
	input, output json.RawMessage
	names         paging
	paged         bool
}

// Shapes remembers the shape of each tool, by its dotted id. Its zero value works.
type shapes struct {
	mu  sync.Mutex
	all map[string]shape
}

const maxShapes = 4096

func (s *shapes) of(d host.ToolDef) shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.all[d.Dotted]; ok && bytes.Equal(known.in, d.Input) && bytes.Equal(known.out, d.Output) {
		return known
	}
	made := shape{in: d.Input, out: d.Output, input: d.Input, output: d.Output}
	made.extend()
	if s.all == nil || len(s.all) >= maxShapes {
		s.all = map[string]shape{}
	}
	s.all[d.Dotted] = made
	return made
}

// extend puts the argument and the member into schemas that say plainly what their
// properties are. Any other may mean something else with one property more.
func (s *shape) extend() {
	in, inOK := readSchema(s.in)
	out, outOK := readSchema(s.out)
	if !inOK || !outOK {
		return
	}
	var names paging
	var fits bool
	if s.input, names.cursor, fits = in.with(cursorSchema, "cursor", "result_cursor"); !fits {
		s.input = s.in
		return
	}
	if s.output, names.more, fits = out.with(moreSchema, "more", "result_more"); !fits {
		s.input, s.output = s.in, s.out
		return
	}
	s.names, s.paged = names, true
}

// An openSchema is a schema whose properties are all that it says of them.
type openSchema struct{ members, properties map[string]json.RawMessage }

func readSchema(raw json.RawMessage) (openSchema, bool) {
	members, ok := object(raw)
	if !ok {
		return openSchema{}, false
	}
	for name := range members {
		if !slices.Contains([]string{
			"type", "properties", "required", "additionalProperties", "title", "description", "$defs", "$schema", "$comment", "examples",
		}, name) {
			return openSchema{}, false
		}
	}
	properties := map[string]json.RawMessage{}
	if raw, ok := members["properties"]; ok {
		if properties, ok = object(raw); !ok {
			return openSchema{}, false
		}
	}
	return openSchema{members, properties}, true
}

// with is the schema with one property more, by the first name that is free.
func (p openSchema) with(property string, names ...string) (schema json.RawMessage, name string, ok bool) {
	for _, name := range names {
		if _, taken := p.properties[name]; taken {
			continue
		}
		p.properties[name] = json.RawMessage(property)
		p.members["properties"] = json.RawMessage(marshal(p.properties))
		schema := json.RawMessage(marshal(p.members))
		return schema, name, len(schema) <= abi.MaxSchema
	}
	return nil, "", false
}

// shown is a tool as clients see it.
func (s *Server) shown(d host.ToolDef) host.ToolDef {
	if d.ReadOnly && !d.Destructive {
		shape := s.shapes.of(d)
		d.Input, d.Output = shape.input, shape.output
	}
	return d
}

// pagingOf says what a tool's pages need; ok is false for one that has none. A tool
// that writes has none: nothing of its may look like calling it again.
func (s *Server) pagingOf(d host.ToolDef) (names paging, ok bool) {
	if !d.ReadOnly || d.Destructive {
		return paging{}, false
	}
	shape := s.shapes.of(d)
	return shape.names, shape.paged
}

// budget is how many bytes of a tool's result one answer holds.
func (s *Server) budget(d host.ToolDef) int { return max(s.maxResult, d.MaxResult) }

// claimed is how many characters Claude Code is to show of a tool's result, or 0
// where its own limit is enough: more than the default where the definition says so,
// and all of what can't be parted.
func (s *Server) claimed(d host.ToolDef) int {
	_, paged := s.pagingOf(d)
	switch size := s.budget(d); {
	case d.ReadOnly && !d.Destructive && !paged:
		return maxClaude
	case size > defaultResult:
		return min(size, maxClaude)
	}
	return 0
}

// An asked is a call as its client made it.
type asked struct {
	def  host.ToolDef
	call host.CallRequest
	// next says how to get at the next page, if not by the same call.
	next func(cursor string) string
}

// answer words what a call ended with, or the first page of it.
func (s *Server) answer(ctx context.Context, a asked, res host.CallResult) *mcp.CallToolResult {
	size := s.budget(a.def)
	if res.Err == nil && len(res.Structured) > size {
		if p := s.parted(a, res, size); p != nil {
			first := p.result(0, res.Images, a.next)
			p.pages[0] = sheet{} // nothing names it
			s.shelf.put(p)
			return first
		}
	}
	return s.result(ctx, res, size)
}

// parted parts a result, or returns nil if that can't be done.
func (s *Server) parted(a asked, res host.CallResult, size int) *paged {
	names, ok := s.pagingOf(a.def)
	if !ok {
		return nil
	}
	structured, ok := compactObject(res.Structured)
	if !ok || len(structured) <= size {
		return nil
	}
	pages := paginate(structured, size-min(maxMore, size/4))
	if len(pages) < 2 || !fits(a.def.Output, pages) {
		return nil
	}
	p := &paged{
		call: callKey{a.call.Principal.ID, a.def.Dotted, argsDigest(a.call.Args)}, pages: pages, names: names,
		audit: res.AuditID, origin: res.Origin,
	}
	for range pages[1:] {
		p.cursors = append(p.cursors, rand.Text())
	}
	return p
}

// fits reports whether each page alone is a result as the tool's schema has it: a
// list may not be allowed to be empty, or a text to be shorter.
func fits(schema json.RawMessage, pages []sheet) bool {
	s, err := release.CompileSchema(schema)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(pages, func(p sheet) bool { return s.Validate(p.body) != nil })
}

// argsDigest is equal for arguments that say the same. They are JSON already.
func argsDigest(args json.RawMessage) string {
	v := any(map[string]any{})
	if args != nil {
		v, _ = strictjson.Value(args)
	}
	sum := sha256.Sum256(marshal(v))
	return string(sum[:])
}

// A more tells which part of a result a page is.
type more struct {
	Cursor string `json:"cursor,omitempty"`
	Hint   string `json:"hint"`
	Parts  []part `json:"parts"`
}

// result words a page: as structuredContent and as text, like any result.
func (p *paged) result(n int, images []host.Image, next func(cursor string) string) *mcp.CallToolResult {
	m := more{Hint: "this is the last part", Parts: p.pages[n].parts}
	if n < len(p.cursors) {
		m.Cursor = p.cursors[n]
		how := fmt.Sprintf("make this call again with the same arguments and %s set to %s.cursor", p.names.cursor, p.names.more)
		if next != nil {
			how = next(m.Cursor)
		}
		m.Hint = fmt.Sprintf("for the next part %s, within %.0f minutes", how, keepPages.Minutes())
	}
	body := p.pages[n].body
	b := append(make([]byte, 0, len(body)+maxMore), `{"`+p.names.more+`":`...)
	b = append(append(b, marshal(m)...), ',')
	b = append(b, body[1:]...)
	return worded(b, columns(b), images, resultMeta(originMeta(p.origin), p.audit))
}

// continued answers a call that has a cursor: it brings a page of a result that is
// kept, and runs nothing. It is nil for a call without one.
func (s *Server) continued(a asked) *mcp.CallToolResult {
	args, who := a.call.Args, a.call.Principal.ID
	if !bytes.Contains(args, []byte("cursor")) && !bytes.Contains(args, []byte(`\`)) {
		return nil // the usual case, and fast
	}
	names, ok := s.pagingOf(a.def)
	members, isObject := object(args)
	raw, has := members[names.cursor]
	if !ok || !isObject || !has {
		return nil
	}
	cursor, ok := text(raw)
	if !ok {
		return failure(abi.Errorf(abi.ErrInvalidArgs, "", "%s must be a string", names.cursor).
			WithHint("leave it out to get the first part"), "")
	}
	delete(members, names.cursor)
	found, n, ok := s.shelf.get(who, cursor)
	if !ok {
		return failure(abi.Errorf(abi.ErrInvalidArgs, "", "%s %q is not known, or was last used more than %.0f minutes ago", names.cursor, cut(cursor, 64), keepPages.Minutes()).
			WithHint("make the call again without it: that reads everything anew, from its first part"), "")
	}
	if found.call != (callKey{who, a.def.Dotted, argsDigest(json.RawMessage(marshal(members)))}) {
		return failure(abi.Errorf(abi.ErrInvalidArgs, "", "%s %q belongs to a call of another tool or with other arguments", names.cursor, cut(cursor, 64)).
			WithHint("repeat the call that it came from: the same tool, all of its arguments, and the cursor"), "")
	}
	return found.result(n, nil, a.next)
}
