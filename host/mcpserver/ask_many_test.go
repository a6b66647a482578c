package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// openBackend has a tool that needs nobody beside the one that does.
type openBackend struct{ *askBackend }

func (b openBackend) Tools(context.Context, host.Principal) []host.ToolDef {
	return []host.ToolDef{tool("delete", "", false), tool("list", "", true)}
}

func (b openBackend) Call(ctx context.Context, r host.CallRequest) host.CallResult {
	if r.Tool == "tracker.list" {
		return host.CallResult{Structured: json.RawMessage(`{"rows":[]}`)}
	}
	return b.askBackend.Call(ctx, r)
}

// Two hundred questions of twenty-five clients are open, and other calls are served,
// of those clients and of another.
func TestTwoHundredQuestionsStopNobody(t *testing.T) {
	b := openBackend{newAskBackend(t, time.Minute, anybody)}
	s := New(b, Options{})
	begin := func(p host.Principal) *lineClient {
		c := serveLines(t, s, p)
		c.send(askingInit, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.recv()
		return c
	}
	const list = `{"jsonrpc":"2.0","id":"list","method":"tools/call","params":{"name":"tracker_list"}}`
	var clients []*lineClient
	for n := range 25 {
		c := begin(host.Principal{ID: fmt.Sprintf("p%d", n), Name: "x"})
		for i := range gate.MaxOpen {
			c.send(deleteCall(i))
			c.question()
		}
		clients = append(clients, c)
	}
	if open := len(b.gate.Pending()); open != 200 {
		t.Fatalf("%d questions are open", open)
	}
	for _, c := range append(clients, begin(alice)) {
		c.send(list)
		if got := c.recv(); !strings.Contains(got, `"id":"list"`) || !strings.Contains(got, `"rows":[]`) {
			t.Fatalf("meanwhile: %s", got)
		}
	}
	if b.ran.Load() != 0 {
		t.Error("something ran that nobody approved")
	}
}
