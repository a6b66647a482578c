package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host/control"
)

// trust lets a client ask, at a terminal, and returns its new token.
func (h *home) trust(args ...string) string {
	h.t.Helper()
	seen := h.want(0, agree(), append([]string{"clients"}, args...)...)
	_, token, ok := strings.Cut(seen, "token:  ")
	if !ok || !strings.Contains(seen, "Trust this client to ask?") {
		h.t.Fatalf("the terminal shows:\n%s", seen)
	}
	token, _, _ = strings.Cut(token, "\n")
	return strings.TrimSpace(token)
}

const yes = `{"action":"accept","content":{"approve":true}}`

// A client that a person trusts asks in its own dialog; who answered there stands in
// the log. Without that trust the same client is not asked.
func TestClientThatMayAsk(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	token := h.trust("add", "coder", "--may-ask")
	c := h.dialAsking(token, yes, "coder")
	if a := c.call("sample_touch", map[string]any{"text": "hello \x1b[31mworld"}); a.IsError {
		t.Fatalf("the call: %+v", a)
	}
	message, _ := c.asked.Load().(string)
	for _, part := range []string{"sample.touch", "client coder", "acme/sample@1.0.0", `text = hello \x1b[31mworld`, "POST"} {
		if !strings.Contains(message, part) {
			t.Errorf("the dialog does not show %q:\n%s", part, message)
		}
	}
	if log := h.run("audit", "--json"); !strings.Contains(log, "in its own dialog") || !strings.Contains(log, "client trusted to ask") {
		t.Errorf("the audit log:\n%s", log)
	}
	no := h.dialAsking(token, `{"action":"accept","content":{"approve":"true"}}`, "coder")
	if a := no.call("sample_touch", map[string]any{"text": "no"}); !a.IsError || !strings.Contains(a.Content[0].Text, "confirmation_denied") {
		t.Errorf("a no: %+v", a)
	}
	h.run("clients", "may-ask", "coder", "--off")
	untrusted := h.dialAsking(token, yes, "coder")
	got := make(chan callAnswer, 1)
	go func() { got <- untrusted.call("sample_touch", map[string]any{"text": "x"}) }()
	h.want(0, []keystroke{{"refuses): ", "XXXXX"}}, "approvals", h.waitingFlag()) // it waits for the terminal
	if a := <-got; !a.IsError || untrusted.asked.Load() != nil {
		t.Errorf("without trust: %+v, asked %v", a, untrusted.asked.Load())
	}
}

// waitingFlag waits until a call waits, and is a flag that changes nothing.
func (h *home) waitingFlag() string {
	h.t.Helper()
	h.waiting()
	return "--list=false"
}

// An agent can neither give a client that trust nor borrow its name: not from its
// shell, and not by an MCP server that it starts itself.
func TestAgentCannotTrustItself(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	c := h.dialStdio("drawbridge", "mcp", "--client", "coder") // this test is the client
	for _, args := range [][]string{{"clients", "may-ask", "coder"}, {"clients", "add", "other", "--may-ask"}} {
		seen, code := h.typed(agree(), args...)
		if code != 3 || !strings.Contains(seen, "was started by the connected client") || strings.Contains(seen, "type ") {
			t.Errorf("%q: exit code %d, and the terminal shows:\n%s", args, code, seen)
		}
		if _, msg, code := h.try(args...); code != 3 {
			t.Errorf("%q without a terminal: exit code %d, %s", args, code, msg)
		}
	}
	var got clientsResult
	if err := json.Unmarshal([]byte(h.run("clients", "list", "--json")), &got); err != nil || len(got.Clients) != 1 || got.Clients[0].MayAsk {
		t.Errorf("clients: %+v, %v", got, err)
	}
	c.done.Store(true)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
}

// Trust ends what the name alone had opened, and the name alone opens nothing more.
func TestTrustedNameNeedsItsToken(t *testing.T) {
	h := newHome(t)
	before := h.dialStdio("agent", "--client", "coder")
	before.done.Store(true)
	token := h.trust("may-ask", "coder")
	if err := before.cmd.Wait(); err != nil {
		t.Logf("the client from before ended with %v", err)
	}
	for name, tt := range map[string]struct{ token, client, want string }{
		"no token":      {"", "coder", "has to show its token"},
		"made-up token": {"dbc_" + strings.Repeat("A", 43), "coder", "is not the one of client"},
		"another name":  {token, "other", "is not the one of client"},
	} {
		cmd := h.command(t.Context(), "drawbridge", "mcp", "--client", tt.client)
		cmd.Env = append(cmd.Env, control.TokenVar+"="+tt.token)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	c := h.dialAsking(token, yes, "coder")
	if names := c.tools(); len(names) != 0 {
		t.Errorf("tools of an empty host: %q", names)
	}
	// The new token is another one each time.
	if again := h.trust("may-ask", "coder"); again == token {
		t.Error("the token stayed")
	}
}
