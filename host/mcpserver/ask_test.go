package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// An askBackend has one destructive tool behind a real gate.
type askBackend struct {
	quiet
	gate  *gate.Gate
	ran   atomic.Int64
	via   atomic.Value // gate.Via of the last run
	asked atomic.Int64 // calls that came to the gate
}

func newAskBackend(t *testing.T, wait time.Duration, mayAsk func(string) bool) *askBackend {
	t.Helper()
	g, err := gate.New(gate.Options{Wait: wait, MayAsk: mayAsk})
	if err != nil {
		t.Fatal(err)
	}
	return &askBackend{gate: g}
}

func anybody(string) bool { return true }

func (b *askBackend) Tools(context.Context, host.Principal) []host.ToolDef {
	return []host.ToolDef{tool("delete", "Delete a ticket", false)}
}

func (b *askBackend) Call(ctx context.Context, r host.CallRequest) host.CallResult {
	b.asked.Add(1)
	s := gate.Subject{
		Principal: r.Principal, Client: r.Client, Connector: "tracker", Tool: r.Tool, Definition: []byte("{}"),
		ModuleSHA256: "0", Release: "a/b@1", Args: r.Args, Destructive: true, Writes: []string{"POST /"},
	}
	via := gate.Inquiry{ByRetry: r.Ask.ByRetry, Reply: r.Ask.Reply}
	if r.Ask.Ask != nil {
		via.Ask = func(ctx context.Context, p gate.Pending) (bool, error) {
			return r.Ask.Ask(ctx, "may it? "+p.Subject.Tool)
		}
	}
	grant, err := b.gate.AllowAsking(ctx, s, via)
	if err != nil {
		res := host.CallResult{Err: host.Safe(err)}
		if q, ok := errors.AsType[*gate.QuestionError](err); ok {
			res.Confirm = &host.Confirmation{Message: "may it? " + q.Pending.Subject.Tool, State: q.State}
		}
		return res
	}
	b.ran.Add(1)
	b.via.Store(grant.Approver.Via)
	return host.CallResult{Structured: json.RawMessage(`{"deleted":true}`)}
}

// startAsking connects a go-sdk client to b.
func (o connected) startAsking(t *testing.T, b Backend) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "go-sdk", Version: "1.8.0"}, &o.options)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	session, err := c.Connect(ctx, o.connect(t, New(b, Options{})), &sdk.ClientSessionOptions{ProtocolVersion: o.version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func answering(f func(context.Context) (*sdk.ElicitResult, error)) sdk.ClientOptions {
	return sdk.ClientOptions{
		Capabilities:       &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}},
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return f(ctx) },
	}
}

func accept(approve any) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": approve}}
}

// The official Go client, over both transports in both eras: only a clear yes runs,
// once, and a no is a no.
func TestSDKConfirms(t *testing.T) {
	for name, tt := range map[string]struct {
		answer *sdk.ElicitResult
		runs   int64
		code   abi.Code
	}{
		"accepted":          {accept(true), 1, ""},
		"accepted as false": {accept(false), 0, abi.ErrConfirmationDenied},
		"declined":          {&sdk.ElicitResult{Action: "decline"}, 0, abi.ErrConfirmationDenied},
		"dismissed":         {&sdk.ElicitResult{Action: "cancel"}, 0, abi.ErrConfirmationDenied},
	} {
		var shown atomic.Int64
		o := answering(func(context.Context) (*sdk.ElicitResult, error) {
			shown.Add(1)
			return tt.answer, nil
		})
		for client, how := range everyClient(o) {
			t.Run(name+"/"+client, func(t *testing.T) {
				shown.Store(0)
				b := newAskBackend(t, time.Minute, anybody)
				c := how.startAsking(t, b)
				r, err := callSDK(t.Context(), c, "tracker_delete", map[string]any{"id": 7})
				if err != nil || r.IsError == (tt.runs == 1) || tt.code != "" && r.Meta[MetaCode] != string(tt.code) {
					t.Fatalf("%v %+v", err, r)
				}
				if b.ran.Load() != tt.runs || shown.Load() != 1 || tt.runs == 1 && b.via.Load() != gate.ViaClient {
					t.Errorf("ran %d times via %v, the client was asked %d times", b.ran.Load(), b.via.Load(), shown.Load())
				}
			})
		}
	}
}

// A client that is not trusted, or can't show forms, is not asked: the call waits
// for somebody else, as if there were no such thing.
func TestSDKIsNotAsked(t *testing.T) {
	form := answering(func(context.Context) (*sdk.ElicitResult, error) {
		t.Error("it was asked")
		return accept(true), nil
	})
	url := sdk.ClientOptions{
		Capabilities:       &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: form.ElicitationHandler,
	}
	for name, tt := range map[string]struct {
		o      sdk.ClientOptions
		mayAsk func(string) bool
	}{
		"not trusted":   {form, func(id string) bool { return id != alice.ID }},
		"nobody is":     {form, nil},
		"url only":      {url, anybody},
		"no capability": {sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}, anybody},
	} {
		for client, how := range everyClient(tt.o) {
			t.Run(name+"/"+client, func(t *testing.T) {
				b := newAskBackend(t, 50*time.Millisecond, tt.mayAsk)
				r, err := callSDK(t.Context(), how.startAsking(t, b), "tracker_delete", nil)
				if err != nil || !r.IsError || r.Meta[MetaCode] != "confirmation_required" || b.ran.Load() != 0 {
					t.Errorf("%v %+v, ran %d times", err, r, b.ran.Load())
				}
				if p := b.gate.Pending(); len(p) != 1 || p[0].State != gate.StateOpen {
					t.Errorf("waiting for others: %+v", p)
				}
			})
		}
	}
}

// A question that is over is taken back, in the client too: the handler's context
// ends. The request stays for the terminal.
func TestSDKNeverAnswers(t *testing.T) {
	over := make(chan error, 10)
	o := answering(func(ctx context.Context) (*sdk.ElicitResult, error) {
		<-ctx.Done()
		over <- ctx.Err()
		return accept(true), nil
	})
	for client, how := range everyClient(o) {
		if how.version != "2025-11-25" {
			continue // there it is the client that waits
		}
		t.Run(client, func(t *testing.T) {
			b := newAskBackend(t, 50*time.Millisecond, anybody)
			r, err := callSDK(t.Context(), how.startAsking(t, b), "tracker_delete", nil)
			if err != nil || r.Meta[MetaCode] != "confirmation_required" || b.ran.Load() != 0 {
				t.Errorf("%v %+v, ran %d times", err, r, b.ran.Load())
			}
			if err := receive(t, over); err == nil {
				t.Error("the dialog did not end")
			}
			if p := b.gate.Pending(); len(p) != 1 || p[0].State != gate.StateOpen {
				t.Errorf("waiting for others: %+v", p)
			}
		})
	}
}
