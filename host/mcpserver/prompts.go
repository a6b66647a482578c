package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

const (
	proxyPrompt     = "prompt" // the one prompt that mcp-go knows
	maxPromptArgs   = 64       // arguments in one request, before any is looked at
	maxArgumentText = 16 << 10 // bytes of one argument, before the backend looks at it
)

// prompts words p's prompts for prompts/list.
func (s *Server) prompts(ctx context.Context, p host.Principal) []mcp.Prompt {
	defs := s.backend.Prompts(ctx, p)
	list := make([]mcp.Prompt, 0, len(defs))
	for _, d := range defs {
		if !listedName.MatchString(d.Name) || len(d.Description) > maxDescription || len(d.Title) > maxTitle {
			s.refused.log(ctx, s.log, d.Dotted, errors.New("prompt's name, title or description"))
			continue
		}
		m := mcp.Prompt{
			Name: d.Name, Title: d.Dotted + ": " + d.Title, Description: d.Description,
			Meta: &mcp.Meta{AdditionalFields: map[string]any{MetaCapability: d.Dotted}},
		}
		for _, a := range d.Arguments {
			m.Arguments = append(m.Arguments, mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		list = append(list, m)
	}
	return list
}

// getPrompt is the handler of the one prompt that mcp-go knows. A prompt is one
// message of the user's, and text alone.
func (s *Server) getPrompt(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return nil, errors.New("BUG: prompt without its request")
	}
	if s.extend(ctx, r, nil) {
		return &mcp.GetPromptResult{}, nil
	}
	name, ok := text(r.fields["name"])
	if !ok {
		return nil, r.fail(rpcErrorf(mcp.INVALID_PARAMS, "name must be a string"))
	}
	args, err := textArguments(r.fields["arguments"])
	if err != nil {
		return nil, r.fail(err)
	}
	def, words, promptErr := s.backend.Prompt(ctx, r.peer.who, name, args)
	if promptErr != nil {
		return nil, r.fail(s.notGiven(ctx, promptErr))
	}
	return &mcp.GetPromptResult{
		Description: def.Description,
		Messages:    []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(words)}},
	}, nil
}

// fail makes e the answer of r, whatever mcp-go would say.
func (r *request) fail(e *rpcError) error {
	r.err = e
	return errors.New(e.msg)
}

// notGiven words the backend's refusal of a prompt or completion.
func (s *Server) notGiven(ctx context.Context, err error) *rpcError {
	e, ok := errors.AsType[*abi.Error](err)
	if ok && (e.Code == abi.ErrNotFound || e.Code == abi.ErrInvalidArgs) {
		words, _ := clip(e.Error(), maxErrorText)
		return rpcErrorf(mcp.INVALID_PARAMS, "%s", words)
	}
	if ok && e.Code == abi.ErrLimitExceeded {
		return rpcErrorf(codeBusy, "too many requests at once")
	}
	s.log.ErrorContext(ctx, "prompt or completion", slog.Any("error", err))
	return rpcErrorf(mcp.INTERNAL_ERROR, "internal error")
}

// textArguments reads an object of strings; absent is none.
func textArguments(raw json.RawMessage) (map[string]string, *rpcError) {
	if raw == nil {
		return nil, nil
	}
	members, ok := object(raw)
	if !ok || len(members) > maxPromptArgs {
		return nil, rpcErrorf(mcp.INVALID_PARAMS, "arguments must be an object of at most %d strings", maxPromptArgs)
	}
	args := make(map[string]string, len(members))
	for name, v := range members {
		s, ok := text(v)
		if !ok || len(v) > maxArgumentText {
			return nil, rpcErrorf(mcp.INVALID_PARAMS, "argument %q must be a string", cut(name, 64))
		}
		args[name] = s
	}
	return args, nil
}
