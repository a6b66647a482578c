package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
)

// An Extension answers a request before the server's own handlers, or leaves it to
// them by returning nothing at all. It is asked about calls of listed tools, about
// prompts/get and resources/read, and in the old era about methods that the server
// doesn't know. The result's members are what the protocol wants; an
// *[ExtensionError] reaches the client, and any other error as an internal one.
//
// drawbridge has none, and test/arch holds that, since no gate stands before it. It
// is how the fixture of the protocol's own test suite offers what connectors can't
// (sampling, roots, logging, audio), on the transports that are under test.
type Extension func(ctx context.Context, x *Exchange) (result map[string]any, err error)

// An ExtensionError is an error of JSON-RPC.
type ExtensionError struct {
	Code    int
	Message string
	Data    any
}

// Error returns the message.
func (e *ExtensionError) Error() string { return e.Message }

// An Exchange is one request as an Extension sees it. It must not be kept.
type Exchange struct {
	r   *request
	out *outbox
}

// Method returns the request's method.
func (x *Exchange) Method() string { return x.r.method }

// Param returns one parameter, as JSON; nil if it is absent.
func (x *Exchange) Param(name string) json.RawMessage { return x.r.fields[name] }

// Modern reports whether the request belongs to the stateless era.
func (x *Exchange) Modern() bool { return x.r.modern() }

// Declares reports whether the client declared a capability, such as "sampling".
func (x *Exchange) Declares(capability string) bool {
	caps, _ := object(marshal(x.r.session.GetClientCapabilities()))
	v, ok := caps[capability]
	return ok && !bytes.Equal(v, []byte("null"))
}

// Notify sends a notification on the request's own stream, before its reply.
func (x *Exchange) Notify(method string, params map[string]any) {
	x.out.push(notificationFrame(method, params))
}

// Ask sends a request to the client, on the same stream, and returns its result.
// There are none in the new era.
func (x *Exchange) Ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if x.r.modern() || !x.r.out.carries() {
		return nil, errors.New("the client can't be asked")
	}
	return x.r.ask(ctx, x.out, method, params)
}

// extend lets the extension answer r, and reports whether it did. Frames go to out,
// or to an outbox of their own.
func (s *Server) extend(ctx context.Context, r *request, out *outbox) bool {
	if s.extension == nil {
		return false
	}
	if out == nil {
		out = &outbox{out: r.out}
		defer out.close()
	}
	result, err := s.extension(ctx, &Exchange{r, out})
	if result != nil && err == nil {
		if r.modern() && result["resultType"] == nil {
			result["resultType"] = "complete"
		}
		r.extended, err = json.Marshal(result)
	}
	if err != nil {
		r.err = rpcErrorf(mcp.INTERNAL_ERROR, "internal error")
		if e, ok := errors.AsType[*ExtensionError](err); ok {
			r.err = &rpcError{code: e.Code, msg: e.Message, data: e.Data}
		} else {
			s.log.ErrorContext(ctx, "extension", slog.String("method", r.method), slog.Any("error", err))
		}
	}
	return r.err != nil || r.extended != nil
}

// extendUnknown lets the extension answer what mcp-go would not, in the old era.
func (s *Server) extendUnknown(ctx context.Context, r *request) bool {
	switch mcp.MCPMethod(r.method) {
	case mcp.MethodSetLogLevel, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		return !r.modern() && s.extend(ctx, r, nil)
	default:
		return false
	}
}
