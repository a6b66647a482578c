package mcpserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// The fake backend's prompts: one that works, one that is no use in a list, and one
// that fails inside.
func (b *fakeBackend) Prompts(context.Context, host.Principal) []host.PromptDef {
	return []host.PromptDef{
		{
			Name: "tracker_triage", Dotted: "tracker.triage", Title: "Triage", Description: "Reads a ticket.",
			Arguments: []abi.PromptArgument{{Name: "id", Description: "Number", Required: true}, {Name: "tone", Description: "How", OneOf: []string{"short"}}},
		},
		{Name: "bad name\n", Dotted: "tracker.bad", Title: "x", Description: "x"},
		{Name: "tracker_trap", Dotted: "tracker.trap", Title: "Trap", Description: "Fails."},
	}
}

func (b *fakeBackend) Prompt(_ context.Context, _ host.Principal, name string, args map[string]string) (host.PromptDef, string, error) {
	switch {
	case name == "tracker_trap":
		return host.PromptDef{}, "", errors.New("open /home/u/.ssh/id: permission denied")
	case name != "tracker_triage":
		return host.PromptDef{}, "", abi.Errorf(abi.ErrNotFound, "", "no prompt %q is installed", name)
	case args["id"] == "":
		return host.PromptDef{}, "", abi.Errorf(abi.ErrInvalidArgs, "", "argument %q is missing", "id")
	}
	return host.PromptDef{Description: "Reads a ticket."}, `Read ticket "` + args["id"] + `".`, nil
}

func TestSDKGetsPrompts(t *testing.T) {
	for name, client := range everyClient(sdk.ClientOptions{}) {
		t.Run(name, func(t *testing.T) {
			_, _, c := client.start(t)
			list, err := c.ListPrompts(t.Context(), nil)
			if err != nil || len(list.Prompts) != 2 || list.Prompts[1].Name != "tracker_triage" {
				t.Fatalf("%v %+v", err, list)
			}
			p := list.Prompts[1]
			if len(p.Arguments) != 2 || !p.Arguments[0].Required || p.Arguments[1].Required || p.Title != "tracker.triage: Triage" {
				t.Errorf("%+v", p)
			}
			r, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "tracker_triage", Arguments: map[string]string{"id": "12"}})
			if err != nil || len(r.Messages) != 1 || r.Messages[0].Role != "user" || r.Description != "Reads a ticket." {
				t.Fatalf("%v %+v", err, r)
			}
			if got, ok := r.Messages[0].Content.(*sdk.TextContent); !ok || got.Text != `Read ticket "12".` {
				t.Errorf("%+v", r.Messages[0].Content)
			}
			for prompt, want := range map[string]string{"tracker_triage": `argument "id" is missing`, "nosuch": `no prompt "nosuch"`, "prompt": `no prompt "prompt"`, "tracker_trap": "internal error"} {
				if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: prompt}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "ssh") {
					t.Errorf("%s: %v", prompt, err)
				}
			}
		})
	}
}

func TestPromptArgumentsAreStrings(t *testing.T) {
	c := serveLines(t, New(newFakeBackend(), Options{}), alice)
	c.initialize()
	for _, args := range []string{`{"id":1}`, `{"id":null}`, `{"id":["1"]}`, `[]`, `"x"`, `null`, `{"id":"` + strings.Repeat("x", maxArgumentText) + `"}`} {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"tracker_triage","arguments":` + args + `}}`)
		if got := c.recv(); !strings.Contains(got, "-32602") {
			t.Errorf("%.40s: %s", args, got)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":["tracker_triage"]}}`)
	if got := c.recv(); !strings.Contains(got, "-32602") {
		t.Error(got)
	}
}

// Connectors that come or go change all three lists, and a client hears of those
// that it asked for.
func TestEveryListIsToldOf(t *testing.T) {
	s := New(newFakeBackend(), Options{})
	c := serveLines(t, s, alice)
	c.initialize()
	await(t, "the client to listen", func() bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return len(s.hub.listeners) == 1
	})
	s.ToolsChanged()
	for _, list := range []string{"tools", "prompts", "resources"} {
		if got := c.recv(); !strings.Contains(got, `"notifications/`+list+`/list_changed"`) {
			t.Errorf("told %s, want %s", got, list)
		}
	}
	modern := serveLines(t, s, alice)
	modern.send(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},` + modernMeta + `}}`)
	modern.recv()
	s.ToolsChanged()
	if got := modern.recv(); !strings.Contains(got, `"notifications/prompts/list_changed"`) || !strings.Contains(got, `"s"`) {
		t.Errorf("told %s", got)
	}
}
