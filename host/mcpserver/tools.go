package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// Keys of _meta that this server sets.
const (
	// MetaCapability holds a tool's dotted id, in tools/list.
	MetaCapability = "dev.drawbridge/capability"
	// MetaCode holds the abi.Code of a failed call.
	MetaCode = "dev.drawbridge/code"
	// MetaReason holds the abi.Reason of an untrusted call.
	MetaReason = "dev.drawbridge/reason"
	// MetaAudit holds the id of a call's row in the audit log.
	MetaAudit = "dev.drawbridge/audit"
	// MetaOrigin holds the origin of the pages that a result was read from: it is
	// data of that site, and never an instruction.
	MetaOrigin = "dev.drawbridge/origin"
	// MetaTruncated holds {shown, of}, in characters, where the text of a result
	// was cut.
	MetaTruncated = "dev.drawbridge/truncated"
	// MetaImage holds the name by which structuredContent calls an image.
	MetaImage = "dev.drawbridge/image"
)

const (
	proxyTool      = "call" // the one tool that mcp-go knows
	maxDescription = 2 << 10
	maxTitle       = 256
)

// A Definition is one tool as a principal's tools/list shows it.
type Definition struct {
	Name string // as listed
	JSON []byte // indented, keys sorted, a newline at the end
}

// Definitions returns the tools that p's tools/list shows, in its order: what
// snapshot tests compare.
func (s *Server) Definitions(ctx context.Context, p host.Principal) ([]Definition, error) {
	tools := s.listed(ctx, p)
	out := make([]Definition, 0, len(tools))
	for _, t := range tools {
		b, err := json.MarshalIndent(t, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("writing definition of %q: %w", t.Name, err)
		}
		out = append(out, Definition{Name: t.Name, JSON: append(b, '\n')})
	}
	return out, nil
}

// listed words p's tools for tools/list, sorted by name. What could break the list
// for its readers is left out.
func (s *Server) listed(ctx context.Context, p host.Principal) []mcp.Tool {
	defs := s.backend.Tools(ctx, p)
	names := s.listedNames(defs)
	tools := make([]mcp.Tool, 0, len(defs))
	seen := map[string]bool{}
	for i, d := range defs {
		t, err := definition(names[i], s.shown(d))
		if err == nil && seen[t.Name] {
			err = errors.New("another tool has this name")
		}
		if err != nil {
			s.refused.log(ctx, s.log, d.Dotted, err)
			continue
		}
		if n := s.claimed(d); n > 0 {
			t.Meta.AdditionalFields[MetaMaxResult] = n
		}
		seen[t.Name] = true
		tools = append(tools, t)
	}
	slices.SortFunc(tools, func(a, b mcp.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return tools
}

// listedTools is mcp-go's tool filter: it puts what the request may see in the
// place of the one tool that mcp-go knows.
func listedTools(ctx context.Context, registered []mcp.Tool) []mcp.Tool {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok || r.method != string(mcp.MethodToolsList) {
		return registered
	}
	return r.lists.tools
}

// listedNames names each tool in the server's style.
func (s *Server) listedNames(defs []host.ToolDef) []string {
	names := make([]string, len(defs))
	count := map[string]int{}
	for _, d := range defs {
		count[bare(d)]++
		count[d.Name]++ // a bare name must not be another tool's name
	}
	for i, d := range defs {
		switch b := bare(d); {
		case s.names == NamesDotted:
			names[i] = d.Dotted
		case s.names == NamesBare && count[b] == 1:
			names[i] = b
		default:
			names[i] = d.Name
		}
	}
	return names
}

// bare is a tool's id without its connector.
func bare(d host.ToolDef) string {
	_, b, _ := strings.Cut(d.Dotted, ".")
	return b
}

var listedName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// definition words one tool. Definitions were admitted when the connector was
// installed; this repeats only what would break the whole list, here or in a
// client, because one tool must not cost the others.
func definition(name string, d host.ToolDef) (mcp.Tool, error) {
	switch {
	case !listedName.MatchString(name):
		return mcp.Tool{}, fmt.Errorf("name %q", cut(name, 80))
	case len(d.Description) > maxDescription || len(d.Title) > maxTitle:
		return mcp.Tool{}, errors.New("title or description is too long")
	}
	t := mcp.Tool{
		Name:           name,
		Title:          d.Dotted,
		Description:    d.Description,
		RawInputSchema: d.Input,
		Annotations: mcp.ToolAnnotation{
			ReadOnlyHint:    new(d.ReadOnly),
			DestructiveHint: new(d.Destructive),
			IdempotentHint:  new(d.Idempotent),
			OpenWorldHint:   new(d.OpenWorld),
		},
		Meta: &mcp.Meta{AdditionalFields: map[string]any{MetaCapability: d.Dotted}},
	}
	if d.Title != "" {
		t.Title += ": " + d.Title
	}
	if err := objectSchema(d.Input); err != nil {
		return mcp.Tool{}, fmt.Errorf("input schema: %w", err)
	}
	if err := mcp.ValidateParamHeaderAnnotations(&t); err != nil {
		return mcp.Tool{}, fmt.Errorf("input schema: %w", err)
	}
	if d.Output != nil {
		if err := objectSchema(d.Output); err != nil {
			return mcp.Tool{}, fmt.Errorf("output schema: %w", err)
		}
		t.RawOutputSchema = d.Output
	}
	return t, nil
}

// objectSchema reports what keeps a schema from being listed. Clients of the old
// era drop the whole list if one schema is not of type object.
func objectSchema(schema json.RawMessage) error {
	if err := strictjson.Check(schema, strictjson.MaxBytes(abi.MaxSchema), strictjson.MaxDepth(abi.MaxJSONDepth),
		strictjson.AnyText(), strictjson.AnyKeys()); err != nil {
		return err
	}
	members, ok := object(schema)
	if kind, isText := text(members["type"]); !ok || !isText || kind != "object" {
		return errors.New("not of type object")
	}
	return nil
}

// find returns the tool that a client calls by its listed name, its underscored
// name or its dotted id.
func (s *Server) find(ctx context.Context, p host.Principal, name string) (host.ToolDef, bool) {
	defs := s.backend.Tools(ctx, p)
	is := func(d host.ToolDef) bool { return d.Name == name || d.Dotted == name }
	if i := slices.IndexFunc(defs, is); i >= 0 {
		return defs[i], true
	}
	if s.names == NamesBare {
		if i := slices.Index(s.listedNames(defs), name); i >= 0 {
			return defs[i], true
		}
	}
	if b, ok := s.backend.(revoker); ok && b.Revoked(name) {
		return host.ToolDef{Name: name, Dotted: name}, true // the call says why it does not run
	}
	return host.ToolDef{}, false
}

// A revoker is a backend that knows which tools were taken away from clients that
// may still have them in their lists.
type revoker interface {
	Revoked(tool string) bool
}

// proxied is the handler of the one tool that mcp-go knows.
func (s *Server) proxied(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return nil, errors.New("BUG: call without its request")
	}
	return s.callTool(ctx, r)
}

// callTool carries the call that a request asks for to the backend.
func (s *Server) callTool(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
	a, err := s.callRequest(ctx, r)
	if err != nil {
		r.err = err
		return nil, errors.New(err.msg)
	}
	if page := s.continued(a); page != nil {
		return page, nil
	}
	release, waitErr := s.slot(ctx, r.peer.who)
	if waitErr != nil {
		r.err = rpcErrorf(codeBusy, "the connection ended before the call began")
		return nil, waitErr // it never starts
	}
	defer release()
	out := &outbox{out: r.out}
	defer out.close()
	if s.extend(ctx, r, out) {
		return &mcp.CallToolResult{}, nil
	}
	call := a.call
	call.Progress = newProgress(r, out).report
	call.Ask.Ask = r.asker(out)
	res := s.call(ctx, call)
	if res.Confirm != nil && call.Ask.ByRetry {
		return inputRequired(res.Confirm), nil
	}
	return s.answer(ctx, a, res), nil
}

// callRequest reads the parameters of a tools/call.
func (s *Server) callRequest(ctx context.Context, r *request) (asked, *rpcError) {
	name, ok := text(r.fields["name"])
	if !ok {
		return asked{}, wrongCall(abi.ErrInvalidArgs, "name must be a string")
	}
	args := r.fields["arguments"]
	if bytes.Equal(args, []byte("null")) {
		args = nil
	}
	if args != nil && !isObject(args) {
		return asked{}, wrongCall(abi.ErrInvalidArgs, "arguments must be an object")
	}
	def, ok := s.find(ctx, r.peer.who, name)
	if !ok {
		return asked{}, wrongCall(abi.ErrNotFound, fmt.Sprintf("unknown tool %q", cut(name, 128)))
	}
	ask, err := r.inquiry()
	if err != nil {
		return asked{}, err
	}
	return asked{def: def, call: host.CallRequest{
		Principal: r.peer.who,
		Client:    r.session.clientName(),
		Tool:      def.Dotted,
		Args:      args,
		Ask:       ask,
	}}, nil
}

// call is the backend's Call, with a panic in it made an internal error.
func (s *Server) call(ctx context.Context, r host.CallRequest) (res host.CallResult) {
	defer func() {
		if v := recover(); v != nil {
			incident := s.incident(ctx, v)
			res = host.CallResult{Err: abi.Errorf(abi.ErrInternal, "", "internal error"), AuditID: "incident " + incident}
		}
	}()
	return s.backend.Call(ctx, r)
}

// refusals remembers which definitions were left out of a list, so that the log
// says it once and not on every tools/list. Its zero value works.
type refusals struct {
	mu   sync.Mutex
	told map[string]bool
}

func (r *refusals) log(ctx context.Context, log *slog.Logger, tool string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	about := cut(tool, 128)
	if r.told[about] || len(r.told) > 1000 {
		return
	}
	if r.told == nil {
		r.told = map[string]bool{}
	}
	r.told[about] = true
	log.WarnContext(ctx, "tool left out of tools/list", slog.String("tool", about), slog.Any("error", err))
}
