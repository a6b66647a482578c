package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// waiting returns the id of the one call that waits for a person.
func (h *home) waiting() string {
	h.t.Helper()
	var got approvalsResult
	eventually(h.t, "a call that waits", func() bool {
		out, _, code := h.try("approvals", "--json")
		got.Approvals = nil
		return code == 0 && json.Unmarshal([]byte(out), &got) == nil && len(got.Approvals) == 1 && got.Approvals[0].Attended
	})
	return got.Approvals[0].ID
}

// touch starts a destructive call; its answer comes on the channel.
func touch(c *mcpClient) <-chan callAnswer {
	got := make(chan callAnswer, 1)
	go func() {
		defer close(got)
		got <- c.call("sample_touch", map[string]any{"text": "hello \x1b[31mworld"})
	}()
	return got
}

// A person at a terminal that no client started approves by retyping the code.
func TestApproverBesideTheClient(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	c := h.dialStdio("agent", "--client", "coder")
	got := touch(c)
	id := h.waiting()
	seen := h.want(0, []keystroke{{"refuses): ", codeShown}}, "approvals")
	for _, part := range []string{"sample.touch", "client coder", "acme/sample@1.0.0", "hello ", "POST", "approved " + id} {
		if !strings.Contains(seen, part) {
			t.Errorf("the terminal does not show %q:\n%s", part, seen)
		}
	}
	if strings.Contains(seen, "\x1b[31m") {
		t.Error("an argument's control characters reached the terminal")
	}
	if a := <-got; a.IsError || !strings.Contains(string(a.StructuredContent), "true") {
		t.Errorf("the approved call: %+v", a)
	}
	if log := h.run("audit"); !strings.Contains(log, "call approved") || !strings.Contains(log, "sample.touch") {
		t.Errorf("the audit log:\n%s", log)
	}
	h.run("audit", "verify")
}

// A wrong code is a no, and so is a terminal that the connected client started;
// that one is not even told the code.
func TestApproverThatTheClientStarted(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	c := h.dialStdio("drawbridge", "mcp", "--client", "coder") // this test is the client
	got := touch(c)
	h.waiting()
	seen, code := h.typed([]keystroke{{"refuses): ", "XXXXX"}}, "approvals") // it never comes to that
	if code != 3 || !strings.Contains(seen, "was started by the connected client") || strings.Contains(seen, "type ") {
		t.Errorf("exit code %d, and the terminal shows:\n%s", code, seen)
	}
	if !strings.Contains(seen, "drawbridge: hint: drawbridge approvals") {
		t.Errorf("no hint:\n%s", seen)
	}
	// What trusts or grants is refused to it as well.
	seen, code = h.typed(agree(), "install", "acme/sample", "--set", "base_url=http://other.localhost:1")
	if code != 3 || !strings.Contains(seen, "was started by the connected client") {
		t.Errorf("install: exit code %d, and the terminal shows:\n%s", code, seen)
	}
	if _, msg, code := h.try("approvals"); code != 3 || !strings.Contains(msg, "at a terminal") {
		t.Errorf("without a terminal: exit code %d, %s", code, msg)
	}
	select {
	case a := <-got:
		t.Errorf("the call ended: %+v", a)
	default:
	}
	// Its end is a call that nobody answered.
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	c.done.Store(true)
	<-got
}

// A program that reads from a terminal which is not its own, as one without a
// person does, is refused by the daemon, whatever the command line believes.
func TestApproverWithoutATerminalOfItsOwn(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	c := h.dialStdio("agent", "--client", "coder")
	got := touch(c)
	h.waiting()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = screen.Close() }()
	defer func() { _ = tty.Close() }()
	cmd := h.command(t.Context(), "drawbridge", "approvals")
	var msg bytes.Buffer
	cmd.Stdin, cmd.Stderr = tty, &msg
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // and no controlling terminal
	if _, err := screen.WriteString("XXXXX\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 3 || !strings.Contains(msg.String(), "has no terminal") {
		t.Errorf("it ended with %v:\n%s", err, msg.String())
	}
	c.done.Store(true)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	<-got
}

func TestWrongCodeIsANo(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	c := h.dialStdio("agent", "--client", "coder")
	got := touch(c)
	h.waiting()
	h.want(0, []keystroke{{"refuses): ", "XXXXX"}}, "approvals")
	if a := <-got; !a.IsError || len(a.Content) == 0 || !strings.Contains(a.Content[0].Text, "confirmation_denied") {
		t.Errorf("the denied call: %+v", a)
	}
	// The same for trust: nothing is added.
	h2 := newHome(t)
	h2.publish()
	h2.want(3, []keystroke{{"refuses): ", "XXXXX"}}, "registry", "add", "reg.git", h2.fingerprint("key"))
	if out := h2.run("registry", "list", "--json"); !isEmpty(out) {
		t.Errorf("registries: %s", out)
	}
}

// Two clients over stdio list and call at the same time, each on its own tab:
// the page comes only when both have asked for it.
func TestTwoClientsAtOnce(t *testing.T) {
	h := newHome(t)
	url, site := newGatedSite(t, 2)
	h.ready(url)
	var both sync.WaitGroup
	for _, name := range []string{"first", "second"} {
		c := h.dialStdio("drawbridge", "mcp", "--client", name)
		both.Go(func() {
			if names := strings.Join(c.tools(), " "); names != "sample_look sample_touch" {
				t.Errorf("%s: tools %s", name, names)
			}
			if a := c.call("sample_look", map[string]any{}); a.IsError {
				t.Errorf("%s: %+v", name, a)
			}
		})
	}
	both.Wait()
	select {
	case <-site.open:
	default:
		t.Error("one client's page was asked for only after the other's")
	}
	log := ""
	eventually(t, "the second client's rows are written", func() bool { // a moment after the answer of a call that only reads
		log = h.run("audit", "--json", "--client", "second")
		return strings.Contains(log, `"sample.look"`)
	})
	if strings.Contains(log, `"first"`) {
		t.Errorf("the second client's rows:\n%s", log)
	}
}

// The stdio server ends with its client's input, and the daemon does not.
func TestStdioServerEndsWithItsClient(t *testing.T) {
	h := newHome(t)
	c := h.dialStdio("drawbridge", "mcp")
	if names := c.tools(); len(names) != 0 {
		t.Errorf("tools of an empty host: %q", names)
	}
	pid := h.lock().PID
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	h.run("tools")
	if h.lock().PID != pid {
		t.Error("the daemon ended with its client")
	}
}
