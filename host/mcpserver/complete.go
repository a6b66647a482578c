package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// completer is what mcp-go asks for completions: both kinds of reference go to the
// request itself.
type completer struct{ srv *Server }

// CompletePromptArgument answers completion/complete.
func (c completer) CompletePromptArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return nil, errors.New("BUG: completion without its request")
	}
	release, err := c.srv.slot(ctx, r.peer.who)
	if err != nil {
		return nil, r.fail(rpcErrorf(codeBusy, "the connection ended before the request began"))
	}
	defer release()
	got, rpcErr := c.srv.complete(ctx, r)
	if rpcErr != nil {
		return nil, r.fail(rpcErr)
	}
	return &mcp.Completion{Values: append([]string{}, got.Values...), Total: got.Total, HasMore: got.Total > len(got.Values)}, nil
}

// complete reads the parameters of a completion/complete and finds the values.
func (s *Server) complete(ctx context.Context, r *request) (host.Completion, *rpcError) {
	ref, okRef := object(r.fields["ref"])
	argument, okArg := object(r.fields["argument"])
	name, okName := text(argument["name"])
	value, okValue := text(argument["value"])
	if !okRef || !okArg || !okName || !okValue || len(argument["value"]) > maxArgumentText {
		return host.Completion{}, rpcErrorf(mcp.INVALID_PARAMS, "ref, and argument with a name and a value, are needed")
	}
	ask := host.CompleteRequest{Principal: r.peer.who, Client: r.session.clientName(), Arg: name, Value: value}
	switch kind, _ := text(ref["type"]); kind {
	case "ref/prompt":
		prompt, ok := text(ref["name"])
		if !ok || prompt == "" {
			return host.Completion{}, rpcErrorf(mcp.INVALID_PARAMS, "a ref/prompt has a name")
		}
		ask.Prompt = prompt
		return s.completed(ctx, ask)
	case "ref/resource":
		return s.completeTemplate(ctx, ask, ref["uri"])
	}
	return host.Completion{}, rpcErrorf(mcp.INVALID_PARAMS, "ref is neither a ref/prompt nor a ref/resource")
}

func (s *Server) completed(ctx context.Context, ask host.CompleteRequest) (host.Completion, *rpcError) {
	got, err := s.backend.Complete(ctx, ask)
	if err != nil {
		return host.Completion{}, s.notGiven(ctx, err)
	}
	return got, nil
}

// completeTemplate completes a variable of a resource template, which is named by
// its whole text.
func (s *Server) completeTemplate(ctx context.Context, ask host.CompleteRequest, ref json.RawMessage) (host.Completion, *rpcError) {
	uri, _ := text(ref)
	switch {
	case uri == templateConnector && ask.Arg == "id":
		return s.completeConnector(ctx, ask), nil
	case uri == templateAudit && ask.Arg == "before", uri == templateScreenshot && ask.Arg == "call":
		return s.completeCall(ctx, ask)
	}
	for _, d := range s.backend.Tools(ctx, ask.Principal) {
		t, ok := toolTemplate(d)
		if _, has := plainArguments(d)[ask.Arg]; ok && has && t == uri {
			ask.Tool = d.Dotted
			return s.completed(ctx, ask)
		}
	}
	return host.Completion{}, rpcErrorf(mcp.INVALID_PARAMS, "no template %q has a variable %q", cut(uri, maxURI), cut(ask.Arg, 64))
}

func (s *Server) completeConnector(ctx context.Context, ask host.CompleteRequest) host.Completion {
	var ids []string
	connectors, _ := s.backend.Connectors(ctx, ask.Principal)
	for _, c := range connectors {
		ids = append(ids, c.ID)
	}
	return beginning(ids, ask.Value)
}

func (s *Server) completeCall(ctx context.Context, ask host.CompleteRequest) (host.Completion, *rpcError) {
	calls, err := s.backend.Audit(ctx, ask.Principal, "", auditPage)
	if err != nil {
		return host.Completion{}, s.notGiven(ctx, err)
	}
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	return beginning(ids, ask.Value), nil
}

// beginning returns the values that begin with what was typed.
func beginning(all []string, typed string) host.Completion {
	all = slices.DeleteFunc(all, func(v string) bool { return !strings.HasPrefix(v, typed) })
	return host.Completion{Values: all[:min(len(all), host.MaxCompletions)], Total: len(all)}
}
