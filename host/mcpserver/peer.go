package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// A peer is the other end of one conversation: a byte stream, a session of the old
// era over HTTP, or a single request of the new one. Ids are the peer's own:
// nothing that another peer sends can name a request of this one.
type peer struct {
	srv     *Server
	who     host.Principal
	session *session // of the old era

	mu      sync.Mutex
	flights map[string]*flight                // by the key of the request's id
	asked   map[string]chan<- json.RawMessage // by the key of our request's id: where its result goes
}

// A flight is a request that has not been answered.
type flight struct {
	cancel    context.CancelFunc
	cancelled bool // by the client; guarded by the peer's mu
}

func (s *Server) newPeer(who host.Principal) *peer {
	return &peer{srv: s, who: who, session: &session{}, flights: map[string]*flight{}, asked: map[string]chan<- json.RawMessage{}}
}

// A stream carries frames to the client of one request. An error means that the
// client is gone.
type stream interface {
	send(frame) error
	// carries reports whether a frame before the reply reaches the client.
	carries() bool
}

// A request is what the handlers below mcp-go need to know.
type request struct {
	*message
	peer    *peer
	session *session
	out     stream
	lists   lists     // what it asks for
	err     *rpcError // what mcp-go can't express
	// extended is the result that an Extension gave.
	extended json.RawMessage
}

type requestKey struct{}

// A reply is the last frame of a request, and the code if it is an error. The
// zero reply is none.
type reply struct {
	frame frame
	code  int
}

// errorReply is an error as the reply to the request with that id.
func errorReply(id json.RawMessage, e *rpcError) reply {
	return reply{frame: errorFrame(id, e), code: e.code}
}

// answer serves a request and returns the reply, which is none if the client
// cancelled it. Frames that belong to it go to out while it runs, none afterwards.
func (p *peer) answer(ctx context.Context, m *message, out stream) reply {
	return p.begin(ctx, m, out)()
}

// begin is answer in two steps: when it returns, the request is in flight, and
// what it returns does the rest.
func (p *peer) begin(ctx context.Context, m *message, out stream) func() reply {
	ctx, f := p.start(ctx, m)
	if f == nil {
		return func() reply {
			return errorReply(m.id, rpcErrorf(mcp.INVALID_REQUEST, "another request with this id is not answered yet"))
		}
	}
	return func() reply {
		last := p.serve(ctx, m, out)
		if p.finish(m, f) {
			return reply{}
		}
		return last
	}
}

// start puts a request in flight, so that cancel finds it. The flight is nil if
// the id is taken.
func (p *peer) start(ctx context.Context, m *message) (context.Context, *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flights[m.key] != nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &flight{cancel: cancel}
	p.flights[m.key] = f
	return ctx, f
}

// finish takes a request out of flight and reports whether it was cancelled.
func (p *peer) finish(m *message, f *flight) (cancelled bool) {
	f.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flights, m.key)
	return f.cancelled
}

// cancel ends the request that a notifications/cancelled is about. Unknown ids are
// ignored, as the protocol wants.
func (p *peer) cancel(m *message) {
	key, ok := m.about()
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.flights[key]; f != nil {
		f.cancelled = true
		f.cancel()
	}
}

// serve lets mcp-go answer one request, under an id of ours and without what it
// need not see.
func (p *peer) serve(ctx context.Context, m *message, out stream) reply {
	r := &request{message: m, peer: p, session: p.session, out: out}
	if m.version != "" && !mcp.IsValidProtocolVersion(m.version) {
		return errorReply(m.id, unsupported(m.version))
	}
	if m.modern() {
		r.session = &session{} // knows of nothing but this request
	} else if err := p.inOrder(m); err != nil {
		return errorReply(m.id, err)
	}
	if m.method == string(mcp.MethodSubscriptionsListen) {
		unsubscribe := p.srv.subscribe(r)
		defer unsubscribe()
		var stop context.CancelFunc
		ctx, stop = p.srv.untilClosed(ctx)
		defer stop()
	}
	return p.worded(r, p.dispatch(ctx, r))
}

// inOrder refuses, in the old era, what comes before initialize, and a second one.
func (p *peer) inOrder(m *message) *rpcError {
	initialize := m.method == string(mcp.MethodInitialize)
	switch ready := p.session.Initialized(); {
	case initialize && ready:
		return rpcErrorf(mcp.INVALID_REQUEST, "initialize was already answered")
	case !initialize && !ready && m.method != string(mcp.MethodPing):
		return rpcErrorf(mcp.INVALID_REQUEST, "%q came before initialize", m.method)
	}
	return nil
}

// unsupported tells a client which revisions it can use instead.
func unsupported(version string) *rpcError {
	return &rpcError{
		code: mcp.UNSUPPORTED_PROTOCOL_VERSION,
		msg:  "unsupported protocol version",
		data: map[string]any{"supported": mcp.ValidProtocolVersions, "requested": cut(version, 64)},
	}
}

// dispatch calls mcp-go, or the tool. A panic in it, or below it, costs this request alone.
func (p *peer) dispatch(ctx context.Context, r *request) (answer mcp.JSONRPCMessage) {
	defer func() {
		if v := recover(); v != nil {
			incident := p.srv.incident(ctx, v)
			r.err = rpcErrorf(mcp.INTERNAL_ERROR, "internal error (incident %s)", incident)
		}
	}()
	if r.err = r.prepare(ctx); r.err != nil || p.srv.extendUnknown(ctx, r) {
		return nil
	}
	if r.method == string(mcp.MethodToolsCall) && !r.modern() {
		return p.srv.plainCall(ctx, r)
	}
	ctx = p.srv.mcp.WithContext(ctx, r.session)
	return p.srv.mcp.HandleMessage(context.WithValue(ctx, requestKey{}, r), p.srv.forward(r.message))
}

// plainCall serves a tools/call of the old era, where a result is all that it says:
// mcp-go has nothing to add, and would read the message four times more.
func (s *Server) plainCall(ctx context.Context, r *request) mcp.JSONRPCMessage {
	res, err := s.callTool(ctx, r)
	if err != nil {
		return nil // r says why
	}
	return mcp.JSONRPCResponse{Result: res}
}

// forward words a request for mcp-go: the parameters that it needs by their exact
// names, and the one tool, prompt or resource that it knows. The members are JSON already; putting
// them together by hand saves a tenth of the time of a small call.
func (s *Server) forward(m *message) json.RawMessage {
	b := make([]byte, 0, 128+len(m.fields["_meta"]))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, s.seq.Add(1), 10)
	b = append(b, `,"method":`...)
	b = append(b, marshal(m.method)...)
	b = append(b, `,"params":{`...)
	switch mcp.MCPMethod(m.method) {
	case mcp.MethodToolsCall:
		b = append(b, `"name":"`+proxyTool+`",`...)
	case mcp.MethodPromptsGet:
		b = append(b, `"name":"`+proxyPrompt+`",`...)
	case mcp.MethodResourcesRead:
		b = append(b, `"uri":"`+proxyResource+`",`...)
	case mcp.MethodCompletionComplete:
		b = append(b, `"ref":{"type":"ref/prompt","name":"`+proxyPrompt+`"},"argument":{"name":"","value":""},`...)
	}
	for _, name := range forwarded(mcp.MCPMethod(m.method)) {
		if v, ok := m.fields[name]; ok {
			b = append(b, `"`+name+`":`...)
			b = append(append(b, v...), ',')
		}
	}
	b = bytes.TrimSuffix(b, []byte(","))
	return append(b, "}}"...)
}

// forwarded names the parameters that mcp-go reads.
func forwarded(method mcp.MCPMethod) []string {
	switch method {
	case mcp.MethodInitialize:
		return []string{"_meta", "protocolVersion", "capabilities", "clientInfo"}
	case mcp.MethodSubscriptionsListen:
		return []string{"_meta", "notifications"}
	default:
		return []string{"_meta"}
	}
}

// worded gives mcp-go's answer the client's own id, and its errors our words.
func (p *peer) worded(r *request, answer mcp.JSONRPCMessage) reply {
	if r.err != nil {
		return errorReply(r.id, r.err)
	}
	if r.extended != nil {
		return reply{frame: answerFrame(r.id, r.extended)}
	}
	switch a := answer.(type) {
	case mcp.JSONRPCResponse:
		if res, ok := a.Result.(mcp.SubscriptionsListenResult); ok {
			res.EnsureResultMeta().SetSubscriptionID(r.id)
			a.Result = res
		}
		b, err := resultFrame(r.id, a.Result)
		if err != nil {
			p.srv.log.Error("answer that is not JSON", slog.String("method", r.method), slog.Any("error", err))
			return errorReply(r.id, rpcErrorf(mcp.INTERNAL_ERROR, "internal error"))
		}
		return reply{frame: b}
	case mcp.JSONRPCError:
		return errorReply(r.id, plain(r.message, a.Error))
	default:
		return errorReply(r.id, rpcErrorf(mcp.INTERNAL_ERROR, "internal error"))
	}
}

// plain words an error of mcp-go's: its texts name Go types and wrap causes.
func plain(m *message, e mcp.JSONRPCErrorDetails) *rpcError {
	switch e.Code {
	case mcp.METHOD_NOT_FOUND:
		return rpcErrorf(e.Code, "method %q not found", cut(m.method, 64))
	case mcp.INVALID_PARAMS:
		return rpcErrorf(e.Code, "invalid params for %q", cut(m.method, 64))
	case mcp.INVALID_REQUEST:
		return rpcErrorf(e.Code, "invalid request")
	default:
		return rpcErrorf(mcp.INTERNAL_ERROR, "internal error")
	}
}

// incident logs a panic under a random name, which is all that a client learns.
func (s *Server) incident(ctx context.Context, v any) string {
	name := rand.Text()[:12]
	s.log.ErrorContext(ctx, "panic while serving a request", slog.String("incident", name),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	return name
}
