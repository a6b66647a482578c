package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// A destructive call's confirmation can be asked for in the client's own dialog,
// by elicitation in form mode: in the old era with a request of ours while the call
// waits, in the new one with a result that says what is required, and a second
// call that brings it. Who may be asked is not decided here; what counts as a yes
// is, and nothing else does.

const (
	inputKey        = "confirm" // of our one input request
	maxRequestState = 4096      // bytes
)

// canAsk reports whether the client said that it shows forms. An empty capability
// means forms; url alone means none.
func (r *request) canAsk() bool {
	e := r.session.GetClientCapabilities().Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// inquiry is how the request's client can be asked, and what it answered.
func (r *request) inquiry() (host.Inquiry, *rpcError) {
	if !r.modern() {
		return host.Inquiry{}, nil // callTool adds what asks
	}
	ask := host.Inquiry{ByRetry: r.canAsk()}
	raw, hasState := r.fields["requestState"]
	responses, hasResponses := r.fields["inputResponses"]
	if !hasState && !hasResponses {
		return ask, nil
	}
	state, ok := text(raw)
	if hasState && (!ok || len(state) > maxRequestState) {
		return ask, rpcErrorf(mcp.INVALID_PARAMS, "requestState must be a string of at most %d bytes", maxRequestState)
	}
	answers, ok := object(responses)
	if hasResponses && !ok {
		return ask, rpcErrorf(mcp.INVALID_PARAMS, "inputResponses must be an object")
	}
	ask.Reply = &host.Reply{State: state}
	if answer, ok := answers[inputKey]; ok {
		ask.Reply.Answer = host.AnswerNo
		if approves(answer) {
			ask.Reply.Answer = host.AnswerYes
		}
	}
	return ask, nil
}

// approves reports whether an elicitation's result is a yes: accepted, and the
// form's one field is true itself, not something like it.
func approves(result json.RawMessage) bool {
	members, _ := object(result)
	action, _ := text(members["action"])
	content, _ := object(members["content"])
	return action == string(mcp.ElicitationResponseActionAccept) && bytes.Equal(content["approve"], []byte("true"))
}

// form is the dialog for a message.
func form(message string) mcp.ElicitationParams {
	return mcp.ElicitationParams{
		Mode:    mcp.ElicitationModeForm,
		Message: message,
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{"approve": map[string]any{
				"type": "boolean", "title": "Approve", "description": "Let this one call run, once. Accepting without it refuses.", "default": false,
			}},
			"required": []string{"approve"},
		},
	}
}

// inputRequired is the result that makes a client of the new era ask.
func inputRequired(c *host.Confirmation) *mcp.CallToolResult {
	return server.NewInputRequestBuilder(c.State).Elicit(inputKey, form(c.Message)).ToolResult()
}

// asker returns what asks r's client while its call waits, or nil where it can't be
// asked so. The question goes out on the request's own stream by out, and so does
// its end, where it is over before it was answered.
func (r *request) asker(out *outbox) func(context.Context, string) (bool, error) {
	if r.modern() || !r.canAsk() || !r.out.carries() {
		return nil
	}
	return func(ctx context.Context, message string) (bool, error) {
		params := form(message)
		if r.session.ProtocolVersion() < mcp.LATEST_LEGACY_PROTOCOL_VERSION {
			params.Mode = "" // there was one mode, without a name
		}
		result, err := r.ask(ctx, out, string(mcp.MethodElicitationCreate), params)
		return err == nil && approves(result), err
	}
}

// ask sends a request of ours to r's client and waits for its result.
func (r *request) ask(ctx context.Context, out *outbox, method string, params any) (json.RawMessage, error) {
	id := "ask-" + rand.Text()
	answer, forget := r.peer.expect(id)
	defer forget()
	if !out.push(requestFrame(id, method, params)) {
		return nil, errors.New("the client can't be asked now")
	}
	select {
	case result := <-answer:
		if result == nil {
			return nil, errors.New("the client answered with an error")
		}
		return result, nil
	case <-ctx.Done():
		out.push(notificationFrame(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id, "reason": "the question is over"}))
		return nil, ctx.Err()
	}
}

// expect makes answered deliver the result of our request with that id, until
// forget is called. nil stands for an error.
func (p *peer) expect(id string) (answer <-chan json.RawMessage, forget func()) {
	c := make(chan json.RawMessage, 1)
	key, _ := idKey(json.RawMessage(marshal(id)))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[key] = c
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asked, key)
	}
}

// answered takes the answer to a request of ours, once. Answers to what was never
// asked, or not of this peer, are ignored.
func (p *peer) answered(m *message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.asked[m.key]; ok {
		delete(p.asked, m.key)
		c <- m.result
	}
}
