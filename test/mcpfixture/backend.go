package mcpfixture

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
)

// The clients, by their tokens. Only the first is trusted to ask for confirmations,
// and only the second has seen nothing of the suite.
const (
	TokenSuite = "suite-token"
	TokenAlice = "alice-token"
)

// A Backend has tools that do as their names say.
type Backend struct {
	gate    *gate.Gate
	changed func() // tells the clients that the tools changed

	deleted   atomic.Int64 // runs of fixture_delete
	cancelled atomic.Int64 // calls that ended with their context

	mu     sync.Mutex
	added  map[string]bool // tools that came while it ran
	states map[string]map[string]string
}

// patient is how long the gate waits for an answer: so short that a test can see
// what comes after it, and long enough for a client that answers.
const patient = 4 * time.Second

// New makes a backend and its server.
func New() (*Backend, *mcpserver.Server, error) {
	g, err := gate.New(gate.Options{Wait: patient, MayAsk: func(string) bool { return true }})
	if err != nil {
		return nil, nil, err
	}
	b := &Backend{gate: g, added: map[string]bool{}, states: map[string]map[string]string{}}
	s := mcpserver.New(b, mcpserver.Options{Version: "0.0.0-fixture", Extension: b.extend})
	b.changed = s.ToolsChanged
	return b, s, nil
}

// Auth knows the clients by their tokens.
func Auth(token string) (host.Principal, bool) {
	name, ok := strings.CutSuffix(token, "-token")
	return host.Principal{ID: "p-" + name, Name: name}, ok && name != ""
}

const (
	anyObject = `{"type":"object"}`
	noArgs    = `{"type":"object","properties":{},"additionalProperties":false}`
)

// tool defines a tool that only reads; connector_name or, for the suite, name.
func tool(name, input, output string) host.ToolDef {
	connector, short, _ := strings.Cut(name, "_")
	d := host.ToolDef{
		Name: name, Dotted: connector + "." + short, Title: "Fixture", Description: "What " + name + " says.",
		Input: json.RawMessage(input), ReadOnly: true, Idempotent: true,
	}
	if output != "" {
		d.Output = json.RawMessage(output)
	}
	return d
}

// Tools returns the fixture's tools, those of the suite for the suite alone.
func (b *Backend) Tools(_ context.Context, p host.Principal) []host.ToolDef {
	defs := clientTools()
	if p.Name == "suite" {
		defs = suiteTools()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.added {
		if who, short, _ := strings.Cut(name, "/"); who == p.ID {
			defs = append(defs, tool(short, noArgs, anyObject))
		}
	}
	return defs
}

// addTool adds a tool for one client, or takes it away, and tells.
func (b *Backend) addTool(p host.Principal, name string, there bool) {
	b.mu.Lock()
	if key := p.ID + "/" + name; there {
		b.added[key] = true
	} else {
		delete(b.added, key)
	}
	b.mu.Unlock()
	b.changed()
}

// Call runs one tool.
func (b *Backend) Call(ctx context.Context, r host.CallRequest) host.CallResult {
	if short, ok := strings.CutPrefix(r.Tool, "fixture."); ok {
		return b.clientCall(ctx, short, r)
	}
	return b.suiteCall(ctx, strings.Replace(r.Tool, ".", "_", 1), r)
}

func structured(v any) host.CallResult {
	doc, err := json.Marshal(v)
	if err != nil {
		return host.CallResult{Err: abi.Errorf(abi.ErrInternal, "", "internal error")}
	}
	return host.CallResult{Structured: doc}
}

// pause waits a moment, or less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Connectors returns one connector, so that there is a resource of each kind.
func (*Backend) Connectors(context.Context, host.Principal) ([]host.ConnectorInfo, []host.PluginProblem) {
	return []host.ConnectorInfo{{ID: "fixture", Title: "Fixture", Plugin: "test/fixture@1.0.0", Health: host.Health{Status: "unknown"}}}, nil
}

// Audit returns no calls.
func (*Backend) Audit(context.Context, host.Principal, string, int) ([]host.AuditCall, error) {
	return nil, nil
}

// Prompts returns those of the suite.
func (*Backend) Prompts(context.Context, host.Principal) []host.PromptDef { return suitePrompts() }

// Prompt returns a prompt that is text alone.
func (*Backend) Prompt(_ context.Context, _ host.Principal, name string, args map[string]string) (host.PromptDef, string, error) {
	all := suitePrompts()
	i := slices.IndexFunc(all, func(d host.PromptDef) bool { return d.Name == name })
	if i < 0 {
		return host.PromptDef{}, "", abi.Errorf(abi.ErrNotFound, "", "no prompt %q", name)
	}
	words := "This is a simple prompt for testing."
	if name == promptArgs {
		words = "Prompt with arguments: arg1='" + args["arg1"] + "', arg2='" + args["arg2"] + "'"
	}
	return all[i], words, nil
}

// Complete completes to what begins as it was typed.
func (*Backend) Complete(_ context.Context, r host.CompleteRequest) (host.Completion, error) {
	var fit []string
	for _, v := range []string{"test", "testing", "tested", "other"} {
		if strings.HasPrefix(v, r.Value) {
			fit = append(fit, v)
		}
	}
	return host.Completion{Values: fit, Total: len(fit)}, nil
}

// Screenshot keeps none.
func (*Backend) Screenshot(_ context.Context, _ host.Principal, call string) (host.Image, error) {
	return host.Image{}, abi.Errorf(abi.ErrNotFound, "screenshot", "no picture of call %q is kept", call)
}
