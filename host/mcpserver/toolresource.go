package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// A tool that only reads is a resource too: drawbridge://tools/tracker_get?id=7.
// Reading it is a call like any other. It is where the protocol lets a client
// complete a tool's arguments, which it knows for prompts and templates alone.

// codeFailed is an error from the range that JSON-RPC leaves to servers: a call that
// was made and failed.
const codeFailed = -32001

var argumentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// A textArg is one argument as it stands in a URI, decoded.
type textArg struct{ name, value string }

// parseToolCall reads NAME?a=1&b=2 as a template's expansion writes it: names in
// order and once, and every byte of a value that is not unreserved as an escape in
// capitals. There is no other spelling.
func parseToolCall(call string) (name string, args []textArg, ok bool) {
	name, query, has := strings.Cut(call, "?")
	if !listedName.MatchString(name) || has && query == "" {
		return "", nil, false
	}
	if !has {
		return name, nil, true
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, raw, ok := strings.Cut(pair, "=")
		value, decoded := unescape(raw)
		if !ok || !decoded || !argumentName.MatchString(key) || len(args) > 0 && key <= args[len(args)-1].name {
			return "", nil, false
		}
		args = append(args, textArg{key, value})
	}
	return name, args, true
}

const hexDigits = "0123456789ABCDEF"

// unescape decodes a value, and refuses one that is not spelled as escape does.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		high, low := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), escape(b.String()) == s
}

// escape is RFC 6570's expansion of a value.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString(string([]byte{'%', hexDigits[c>>4], hexDigits[c&15]}))
	}
	return b.String()
}

// plainArguments are the types of those arguments of a tool that can stand in a URI,
// by name.
func plainArguments(d host.ToolDef) map[string]string {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(d.Input, &s) != nil {
		return nil
	}
	out := map[string]string{}
	for name, p := range s.Properties {
		kind, ok := text(p.Type)
		if ok && argumentName.MatchString(name) && slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
			out[name] = kind
		}
	}
	return out
}

// toolTemplate is the URI template of a tool that only reads and has arguments that
// can stand in it.
func toolTemplate(d host.ToolDef) (template string, ok bool) {
	args := slices.Sorted(maps.Keys(plainArguments(d)))
	if !d.ReadOnly || d.Destructive || len(args) == 0 || !listedName.MatchString(d.Name) {
		return "", false
	}
	return uriTools + d.Name + "{?" + strings.Join(args, ",") + "}", true
}

func (s *Server) toolTemplates(ctx context.Context, p host.Principal) []mcp.ResourceTemplate {
	var list []mcp.ResourceTemplate
	for _, d := range s.backend.Tools(ctx, p) {
		if t, ok := toolTemplate(d); ok {
			list = append(list, mcp.NewResourceTemplate(t, d.Dotted, mcp.WithTemplateMIMEType(mimeJSON),
				mcp.WithTemplateDescription(cut("What the tool "+d.Name+" returns. "+d.Title, maxTitle))))
		}
	}
	return list
}

// readTool calls a tool that only reads. Any other is no resource: a client reads
// resources without asking anybody.
func (s *Server) readTool(ctx context.Context, r *request, uri, call string) ([]mcp.ResourceContents, error) {
	name, given, _ := parseToolCall(call)
	defs := s.backend.Tools(ctx, r.peer.who)
	i := slices.IndexFunc(defs, func(d host.ToolDef) bool { return d.Name == name && d.ReadOnly && !d.Destructive })
	if i < 0 {
		return nil, r.fail(r.noResource(uri))
	}
	args, err := typedArguments(s.shown(defs[i]), given)
	if err != nil {
		return nil, r.fail(err)
	}
	res := s.readCall(ctx, r, defs[i], args, given)
	if res == nil {
		return nil, r.fail(rpcErrorf(codeBusy, "the connection ended before the call began"))
	}
	words, _ := res.Content[0].(mcp.TextContent)
	meta := map[string]any{}
	if res.Meta != nil {
		meta = res.Meta.AdditionalFields
	}
	if res.IsError {
		return nil, r.fail(&rpcError{code: codeFailed, msg: words.Text, data: map[string]any{"uri": uri, "code": meta[MetaCode]}})
	}
	kind := mimeJSON
	if meta[MetaTruncated] != nil {
		kind = "text/plain"
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: words.Text, Meta: meta}}, nil
}

// readCall makes the call, or brings a page of its result. It is nil if the client
// left before its turn.
func (s *Server) readCall(ctx context.Context, r *request, d host.ToolDef, args json.RawMessage, given []textArg) *mcp.CallToolResult {
	a := asked{def: d, call: host.CallRequest{Principal: r.peer.who, Client: r.session.clientName(), Tool: d.Dotted, Args: args}}
	names, _ := s.pagingOf(d)
	a.next = func(cursor string) string { return "read " + toolURI(d.Name, given, textArg{names.cursor, cursor}) }
	if page := s.continued(a); page != nil {
		return page
	}
	release, err := s.slot(ctx, r.peer.who)
	if err != nil {
		return nil
	}
	defer release()
	return s.answer(ctx, a, s.call(ctx, a.call))
}

// toolURI is the URI of a call with one argument more, or another value of it.
func toolURI(name string, args []textArg, more textArg) string {
	args = slices.DeleteFunc(slices.Clone(args), func(a textArg) bool { return a.name == more.name })
	args = append(args, more)
	slices.SortFunc(args, func(a, b textArg) int { return cmp.Compare(a.name, b.name) })
	pairs := make([]string, len(args))
	for i, a := range args {
		pairs[i] = a.name + "=" + escape(a.value)
	}
	return uriTools + name + "?" + strings.Join(pairs, "&")
}

// typedArguments makes JSON of a URI's arguments, by the types in the tool's schema.
func typedArguments(d host.ToolDef, given []textArg) (json.RawMessage, *rpcError) {
	types := plainArguments(d)
	args := map[string]json.RawMessage{}
	for _, a := range given {
		value := json.RawMessage(a.value)
		switch kind := types[a.name]; {
		case kind == "string":
			value = json.RawMessage(marshal(a.value))
		case kind == "boolean" && (a.value == "true" || a.value == "false"):
		case (kind == "integer" || kind == "number") && isNumber(value):
		default:
			return nil, rpcErrorf(mcp.INVALID_PARAMS, "tool %q has no argument %q that can be %q", d.Name, a.name, cut(a.value, 64))
		}
		args[a.name] = value
	}
	return json.RawMessage(marshal(args)), nil
}

// isNumber reports whether text is a number of JSON and nothing else.
func isNumber(raw json.RawMessage) bool {
	return json.Valid(raw) && len(raw) <= 32 && bytes.IndexByte([]byte("-0123456789"), raw[0]) >= 0
}
