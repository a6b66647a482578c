package mcpserver

import (
	"context"
	_ "embed"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/drawbridge-mcp/drawbridge/host"
)

//go:embed instructions.md
var defaultInstructions string

// A Backend lists and calls tools. *host.Host is one.
type Backend interface {
	// Tools returns what p may see. It is asked on every tools/list and
	// tools/call, so it must be cheap; the slice is not changed here.
	Tools(ctx context.Context, p host.Principal) []host.ToolDef
	// Call runs one call until ctx ends. The request's Tool is a dotted id.
	Call(ctx context.Context, r host.CallRequest) host.CallResult
	// Connectors returns the connectors that p may see, and the plugins that are
	// not loaded. It must be cheap.
	Connectors(ctx context.Context, p host.Principal) ([]host.ConnectorInfo, []host.PluginProblem)
	// Audit returns p's own calls, newest first, before the one with an id if that
	// is given; not_found if p has no such call.
	Audit(ctx context.Context, p host.Principal, before string, limit int) ([]host.AuditCall, error)
	// Screenshot returns the last picture that one of p's own calls took, by the
	// call's id in the audit log; not_found if none is kept.
	Screenshot(ctx context.Context, p host.Principal, call string) (host.Image, error)
	// Prompts returns the prompts that p may see. It must be cheap.
	Prompts(ctx context.Context, p host.Principal) []host.PromptDef
	// Prompt returns a prompt's text with arguments put in; not_found or
	// invalid_args are for p to see.
	Prompt(ctx context.Context, p host.Principal, name string, args map[string]string) (host.PromptDef, string, error)
	// Complete returns the values that fit what was typed; not_found and
	// limit_exceeded are for the client to see.
	Complete(ctx context.Context, r host.CompleteRequest) (host.Completion, error)
}

// A NameStyle says how tools are named in tools/list. A call may use the listed
// name, the underscored one or the dotted id, whatever the style.
type NameStyle string

// The name styles. Clients that don't accept dots are many, so the default is
// NamesUnderscore.
const (
	NamesUnderscore NameStyle = "underscore" // tracker_list
	NamesDotted     NameStyle = "dotted"     // tracker.list
	NamesBare       NameStyle = "bare"       // list, where no other tool is called so
)

// Options say what the server tells about itself, and how much it takes on. The
// zero value works.
type Options struct {
	Name         string       // default "drawbridge"
	Version      string       // of the program; default "0.0.0"
	Instructions string       // for the model; default: the embedded text
	ToolNames    NameStyle    // default NamesUnderscore
	Logger       *slog.Logger // default: nothing is logged
	// MaxCalls is how many calls of one principal run at a time; more wait
	// their turn. The default is 256: calls that wait for a person are many.
	MaxCalls int
	// MaxResult is how many bytes of a result one answer holds, unless the tool says
	// more; the rest comes by a cursor. The default is 40,000.
	MaxResult int
	// Extension answers what connectors can't; nil, and so in drawbridge, is none.
	Extension Extension
}

// A Server serves any number of clients on any number of transports.
type Server struct {
	backend   Backend
	extension Extension
	names     NameStyle
	log       *slog.Logger
	mcp       *server.MCPServer
	hub       hub
	seq       atomic.Int64 // ids of messages to mcp-go, never a client's

	maxCalls   int
	maxResult  int
	maxPending int64 // bytes of messages on one byte stream, or of one principal over HTTP; tests lower it
	slotsMu    sync.Mutex
	slots      map[string]chan struct{} // by principal: one element for each running call

	refused refusals
	shapes  shapes
	shelf   shelf
	done    chan struct{} // closed by Close
	close   sync.Once
}

// New makes a server for b.
func New(b Backend, o Options) *Server {
	s := &Server{
		backend:    b,
		extension:  o.Extension,
		names:      NameStyle(or(string(o.ToolNames), string(NamesUnderscore))),
		log:        o.Logger,
		maxCalls:   o.MaxCalls,
		maxPending: maxPendingBytes,
		maxResult:  o.MaxResult,
		slots:      map[string]chan struct{}{},
		done:       make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.maxCalls <= 0 {
		s.maxCalls = 256
	}
	if s.maxResult <= 0 {
		s.maxResult = defaultResult
	}
	more := []server.ServerOption{server.WithResourceCapabilities(s.extension != nil, true)}
	if s.extension != nil {
		more = append(more, server.WithLogging())
	}
	s.mcp = server.NewMCPServer(or(o.Name, "drawbridge"), or(o.Version, "0.0.0"), append(more,
		server.WithToolCapabilities(true),
		server.WithCacheHints(0, mcp.CacheScopePrivate),
		server.WithInstructions(or(o.Instructions, defaultInstructions)),
		server.WithToolFilter(listedTools),
		server.WithPromptCapabilities(true),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{s}),
		server.WithHooks(hooks()),
	)...)
	// One of each stands for all: see RATIONALE.md.
	s.mcp.AddTool(mcp.NewTool(proxyTool), s.proxied)
	s.mcp.AddPrompt(mcp.NewPrompt(proxyPrompt), s.getPrompt)
	s.mcp.AddResource(mcp.NewResource(proxyResource, "proxy"), s.readResource)
	return s
}

// or returns v, or the default where v is empty.
func or(v, byDefault string) string {
	if v == "" {
		return byDefault
	}
	return v
}

// ToolsChanged tells the clients that listen that tools/list, and the other lists
// of what connectors offer, have another answer now. Any number of calls within a tenth of a second become one notification.
func (s *Server) ToolsChanged() { s.hub.changed() }

// Close ends the streams that only listen, so that an HTTP server that shuts down
// need not wait for them. Calls in flight go on.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.done)
		s.shelf.clear()
	})
}

// slot waits for p's turn to run a call. It fails only when ctx ends first.
func (s *Server) slot(ctx context.Context, p host.Principal) (release func(), err error) {
	s.slotsMu.Lock()
	turns, ok := s.slots[p.ID]
	if !ok {
		turns = make(chan struct{}, s.maxCalls)
		s.slots[p.ID] = turns
	}
	s.slotsMu.Unlock()
	select {
	case turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil { // both were ready
		<-turns
		return nil, err
	}
	return func() { <-turns }, nil
}
