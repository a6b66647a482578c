package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// noes are the answers that are no yes.
func noes() []string {
	return []string{
		`{"action":"accept","content":{"approve":false}}`, `{"action":"accept","content":{"approve":"true"}}`,
		`{"action":"accept","content":{"approve":1}}`, `{"action":"accept","content":{"approve":null}}`,
		`{"action":"accept","content":{"approve":[true]}}`, `{"action":"accept","content":{"approve":{}}}`,
		`{"action":"accept","content":null}`, `{"action":"accept","content":[]}`, `{"action":"accept","content":"x"}`,
		`{"action":"accept","content":{}}`, `{"action":"accept","content":true}`, `{"action":"accept"}`,
		`{"action":"accept","content":{"APPROVE":true}}`, `{"action":"accept","approve":true}`,
		`{"action":"decline","content":{"approve":true}}`, `{"action":"cancel","content":{"approve":true}}`,
		`{"action":"Accept","content":{"approve":true}}`, `{"action":true,"content":{"approve":true}}`,
		`{"content":{"approve":true}}`, `{}`, `[]`, `"x"`, `true`, `1`, `null`,
	}
}

func TestOnlyAClearYesApproves(t *testing.T) {
	for _, yes := range []string{
		`{"action":"accept","content":{"approve":true}}`, ` { "content" : { "approve" : true } , "action" : "accept" } `,
		`{"action":"accept","content":{"approve":true,"note":"ok"},"_meta":{}}`,
	} {
		if !approves(json.RawMessage(yes)) {
			t.Errorf("%s is no yes", yes)
		}
	}
	for _, no := range append(noes(), ``, `{`) {
		if approves(json.RawMessage(no)) {
			t.Errorf("%s is a yes", no)
		}
	}
}

const askingInit = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`

// asking begins a session of a raw client that can be asked.
func asking(t *testing.T, b Backend) *lineClient {
	t.Helper()
	c := serveLines(t, New(b, Options{}), alice)
	c.send(askingInit, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.recv()
	return c
}

// question reads the next frame, which is a question, and returns its id.
func (c *lineClient) question() (id string) {
	c.t.Helper()
	var q struct {
		ID, Method string
		Params     struct {
			Mode, Message   string
			RequestedSchema struct {
				Type     string
				Required []string
			}
		}
	}
	line := c.recv()
	if err := json.Unmarshal([]byte(line), &q); err != nil || q.Method != "elicitation/create" || q.ID == "" || q.Params.Mode != "form" ||
		q.Params.Message != "may it? tracker.delete" || q.Params.RequestedSchema.Type != "object" || fmt.Sprint(q.Params.RequestedSchema.Required) != "[approve]" {
		c.t.Fatalf("not a question: %v %s", err, line)
	}
	return q.ID
}

func deleteCall(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tracker_delete","arguments":{"id":%d}}}`, id, id)
}

// Whatever comes back in the old era, only a yes to the open question runs.
func TestRawAnswers(t *testing.T) {
	b := newAskBackend(t, time.Minute, anybody)
	c := asking(t, b)
	for i, no := range noes()[:6] { // the gate lets nobody ask faster; the rest is approves' to refuse
		c.send(deleteCall(i))
		id := c.question()
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, no))
		if got := c.recv(); !strings.Contains(got, "confirmation_denied") {
			t.Errorf("%s: %s", no, got)
		}
	}
	if b.ran.Load() != 0 {
		t.Fatalf("ran %d times", b.ran.Load())
	}
	// Answers to nothing, under other ids, or with an error beside the result: none
	// counts, and the question is still open afterwards.
	c.send(deleteCall(100))
	id := c.question()
	yes := `"result":{"action":"accept","content":{"approve":true}}`
	c.send(
		`{"jsonrpc":"2.0","id":"ask-`+strings.Repeat("A", 26)+`",`+yes+`}`, `{"jsonrpc":"2.0","id":100,`+yes+`}`,
		`{"jsonrpc":"2.0","id":" `+id+`",`+yes+`}`, `{"jsonrpc":"2.0",`+yes+`}`,
		`{"jsonrpc":"2.0","id":"p","method":"ping"}`,
	)
	if got := c.recv(); !strings.Contains(got, `"p"`) || b.ran.Load() != 0 {
		t.Fatalf("%s, ran %d times", got, b.ran.Load())
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, id, yes), fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, id, yes))
	if got := c.recv(); !strings.Contains(got, `"deleted":true`) || b.ran.Load() != 1 {
		t.Errorf("%s, ran %d times", got, b.ran.Load())
	}
	if rest := c.close(); len(rest) > 0 {
		t.Errorf("it also sent %q", rest)
	}
}

// A client that answers with an error was not able to ask: the request stays open
// for the terminal.
func TestRawErrorIsNoAnswer(t *testing.T) {
	b := newAskBackend(t, 300*time.Millisecond, anybody)
	c := asking(t, b)
	for i, answer := range []string{
		`"error":{"code":-32601,"message":"method not found"}`,
		`"error":{"code":1,"message":"x"},"result":{"action":"accept","content":{"approve":true}}`,
	} {
		c.send(deleteCall(i))
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, c.question(), answer))
		if got := c.recv(); !strings.Contains(got, "confirmation_required") || b.ran.Load() != 0 {
			t.Errorf("%s, ran %d times", got, b.ran.Load())
		}
	}
}

// A cancelled call takes its question back; a yes that comes later does nothing,
// and nor does one after the wait.
func TestRawYesAfterTheEnd(t *testing.T) {
	for _, wait := range []time.Duration{time.Minute, 50 * time.Millisecond} {
		b := newAskBackend(t, wait, anybody)
		c := asking(t, b)
		c.send(deleteCall(1))
		id := c.question()
		if wait == time.Minute {
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		}
		if got := c.recv(); !strings.Contains(got, "notifications/cancelled") || !strings.Contains(got, id) {
			t.Fatalf("the question was not taken back: %s", got)
		}
		if wait != time.Minute {
			if got := c.recv(); !strings.Contains(got, "confirmation_required") {
				t.Fatal(got)
			}
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"approve":true}}}`, id))
		if rest := c.close(); len(rest) > 0 || b.ran.Load() != 0 {
			t.Errorf("it also sent %q, ran %d times", rest, b.ran.Load())
		}
		for _, p := range b.gate.Pending() {
			if p.State != gate.StateOpen {
				t.Errorf("late yes: %+v", p)
			}
		}
	}
}

// A revision that knew one mode gets no name for it.
func TestRawQuestionOfAnOlderRevision(t *testing.T) {
	c := serveLines(t, New(newAskBackend(t, time.Minute, anybody), Options{}), alice)
	c.send(strings.Replace(askingInit, "2025-11-25", "2025-06-18", 1), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.recv()
	c.send(deleteCall(1))
	if got := c.recv(); !strings.Contains(got, "elicitation/create") || strings.Contains(got, `"mode"`) {
		t.Errorf("the question: %s", got)
	}
}

// Over HTTP the question goes out on the call's own stream, and only its own
// session can answer it. A client that takes no stream is not asked.
func TestHTTPQuestionIsTheSessions(t *testing.T) {
	b := newAskBackend(t, time.Minute, anybody)
	addr := serveHTTP(t, New(b, Options{}))
	begin := func(change ...func(*http.Request)) func(*http.Request) {
		r := post(t, addr, askingInit, change...)
		id := r.Header.Get("Mcp-Session-Id")
		return func(r *http.Request) {
			r.Header.Set("Mcp-Session-Id", id)
			r.Header.Set("MCP-Protocol-Version", "2025-11-25")
			for _, c := range change {
				c(r)
			}
		}
	}
	mine, second, others := begin(), begin(), begin(header("Authorization", "Bearer client-b"))
	resp := post(t, addr, deleteCall(1), mine)
	next := sseFrames(t, resp)
	var q struct{ ID, Method string }
	if err := json.Unmarshal([]byte(receive(t, next)), &q); err != nil || q.Method != "elicitation/create" {
		t.Fatalf("%v %+v", err, q)
	}
	yes := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"approve":true}}}`, q.ID)
	for _, session := range []func(*http.Request){second, others} {
		if r := post(t, addr, yes, session); r.StatusCode != http.StatusAccepted || b.ran.Load() != 0 {
			t.Fatalf("status %d, ran %d times", r.StatusCode, b.ran.Load())
		}
	}
	if r := post(t, addr, yes, mine); r.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d", r.StatusCode)
	}
	if got := receive(t, next); !strings.Contains(got, `"deleted":true`) || b.ran.Load() != 1 {
		t.Errorf("%s, ran %d times", got, b.ran.Load())
	}

	quick := newAskBackend(t, 50*time.Millisecond, anybody)
	addr = serveHTTP(t, New(quick, Options{}))
	mine = begin()
	r := post(t, addr, deleteCall(1), mine, header("Accept", "application/json"))
	if got := bodyOf(t, r); !strings.Contains(got, "confirmation_required") || quick.ran.Load() != 0 {
		t.Errorf("without a stream: %s", got)
	}
}

const askingMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

// The new era: the answer comes with a second call, is good for that call alone,
// and once.
func TestModernAnswers(t *testing.T) {
	b := newAskBackend(t, 50*time.Millisecond, anybody)
	addr := serveHTTP(t, New(b, Options{}))
	call := func(args, more string, change ...func(*http.Request)) string {
		t.Helper()
		return bodyOf(t, post(t, addr, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_delete","arguments":`+args+more+`,`+askingMeta+`}}`,
			append([]func(*http.Request){modernHeaders("tools/call", "tracker_delete")}, change...)...))
	}
	question := func(args string) (state string) {
		t.Helper()
		var m struct {
			Result struct {
				ResultType, RequestState string
				InputRequests            map[string]struct {
					Method string
					Params struct{ Message string }
				}
			}
		}
		got := call(args, "")
		if err := json.Unmarshal([]byte(got), &m); err != nil || m.Result.ResultType != "input_required" || m.Result.RequestState == "" ||
			len(m.Result.InputRequests) != 1 || m.Result.InputRequests["confirm"].Method != "elicitation/create" || m.Result.InputRequests["confirm"].Params.Message == "" {
			t.Fatalf("no question: %v %s", err, got)
		}
		return m.Result.RequestState
	}
	with := func(state, answer string) string {
		return `,"requestState":"` + state + `","inputResponses":{"confirm":` + answer + `}`
	}
	yes := `{"action":"accept","content":{"approve":true}}`

	state := question(`{"id":1}`)
	for name, got := range map[string]string{
		"other arguments": call(`{"id":2}`, with(state, yes)),
		"another client":  call(`{"id":1}`, with(state, yes), header("Authorization", "Bearer client-b")),
		"cut":             call(`{"id":1}`, with(state[:len(state)-1], yes)),
		"no state":        call(`{"id":1}`, `,"inputResponses":{"confirm":`+yes+`}`),
	} {
		if !strings.Contains(got, "confirmation_denied") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if b.ran.Load() != 0 {
		t.Fatalf("ran %d times", b.ran.Load())
	}
	if got := call(`{"id":1}`, with(state, yes)); !strings.Contains(got, `"deleted":true`) || b.ran.Load() != 1 {
		t.Fatalf("ran %d times: %s", b.ran.Load(), got)
	}
	if got := call(`{"id":1}`, with(state, yes)); !strings.Contains(got, "confirmation_denied") {
		t.Errorf("replayed: %s", got)
	}
	for i, no := range noes()[1:5] {
		args := fmt.Sprintf(`{"id":%d}`, 10+i)
		if got := call(args, with(question(args), no)); !strings.Contains(got, "confirmation_denied") {
			t.Errorf("%s: %s", no, got)
		}
	}
	// Without an answer it is asked again.
	state = question(`{"id":20}`)
	if got := call(`{"id":20}`, `,"requestState":"`+state+`"`); !strings.Contains(got, "input_required") {
		t.Errorf("without an answer: %s", got)
	}
	for name, more := range map[string]string{
		"a number":    `,"requestState":1`,
		"too long":    `,"requestState":"` + strings.Repeat("A", maxRequestState+1) + `"`,
		"no object":   `,"requestState":"x","inputResponses":[]`,
		"folded name": `,"RequestState":"x"`,
	} {
		if got := call(`{"id":21}`, more); !strings.Contains(got, `"error"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if b.ran.Load() != 1 {
		t.Errorf("ran %d times", b.ran.Load())
	}
}

// A result may say what is required to nobody who did not say that it understands.
func TestModernWithoutFormsIsNotAsked(t *testing.T) {
	b := newAskBackend(t, 50*time.Millisecond, anybody)
	addr := serveHTTP(t, New(b, Options{}))
	for _, caps := range []string{`{}`, `{"elicitation":{"url":{}}}`, `{"elicitation":null}`} {
		meta := strings.Replace(askingMeta, `{"elicitation":{"form":{}}}`, caps, 1)
		got := bodyOf(t, post(t, addr, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tracker_delete",`+meta+`}}`, modernHeaders("tools/call", "tracker_delete")))
		if strings.Contains(got, "input_required") || !strings.Contains(got, "confirmation_required") {
			t.Errorf("%s: %s", caps, got)
		}
	}
}

// Many calls that wait for a person keep nobody else from being served.
func TestWaitingQuestionsDoNotBlock(t *testing.T) {
	b := newAskBackend(t, time.Minute, anybody)
	c := asking(t, b)
	for i := range gate.MaxOpen {
		c.send(deleteCall(i))
		c.question()
	}
	c.send(deleteCall(99))
	if got := c.recv(); !strings.Contains(got, "limit_exceeded") {
		t.Errorf("the ninth: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
	if got := c.recv(); !strings.Contains(got, "tracker_delete") {
		t.Errorf("meanwhile: %s", got)
	}
}

// sseFrames yields a stream's frames as they come.
func sseFrames(t *testing.T, r *http.Response) <-chan string {
	t.Helper()
	out := make(chan string, 64)
	go func() {
		defer close(out)
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				out <- data
			}
		}
	}()
	return out
}

func FuzzApproves(f *testing.F) {
	for _, no := range noes() {
		f.Add([]byte(no))
	}
	f.Add([]byte(`{"action":"accept","content":{"approve":true}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !approves(data) {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%q is a yes and not JSON", data)
		}
		content, _ := v["content"].(map[string]any)
		if v["action"] != "accept" || content["approve"] != true {
			t.Errorf("%q is a yes", data)
		}
	})
}
