package mcpfixture

import (
	"crypto/rand"
	"encoding/json"
	"maps"

	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
)

// The tools that end with what they need from their client, and are called again
// with it.

// required is a result that asks; without a state if that is empty.
func required(state string, requests object) object {
	r := object{"resultType": "input_required", "inputRequests": requests}
	if state != "" {
		r["requestState"] = state
	}
	return r
}

// form asks for one text.
func form(message, field string) object { return formOf(message, field, "string") }

func formOf(message, field, kind string) object {
	return object{"method": "elicitation/create", "params": object{
		"mode": "form", "message": message,
		"requestedSchema": object{"type": "object", "properties": object{field: object{"type": kind}}, "required": []string{field}},
	}}
}

func sampling(prompt string) object {
	return object{"method": "sampling/createMessage", "params": object{"messages": []any{inMessage(text(prompt))}, "maxTokens": 100}}
}

func roots() object { return object{"method": "roots/list", "params": object{}} }

// A response is what a client answered to one of the requests.
type response struct {
	Action  string
	Content map[string]any
	Model   string // of a sampling
	Roots   []any
}

func responses(x *mcpserver.Exchange) map[string]response {
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(x.Param("inputResponses"), &raw)
	out := map[string]response{}
	for key, v := range raw {
		var r response
		if json.Unmarshal(v, &r) == nil {
			out[key] = r
		}
	}
	return out
}

// answer is a field of an accepted form.
func answer(x *mcpserver.Exchange, key, field string) string {
	r := responses(x)[key]
	if s, ok := r.Content[field].(string); ok && r.Action == "accept" {
		return s
	}
	return ""
}

// keep makes a state that stands for what is to be known of it.
func (b *Backend) keep(about map[string]string) (state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	state = rand.Text()
	b.states[state] = about
	return state
}

// spend returns what a call's state stands for, once; -32602 if it is none of ours.
func (b *Backend) spend(x *mcpserver.Exchange, tool string) (map[string]string, error) {
	if x.Param("requestState") == nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	state := param(x, "requestState")
	about, ok := b.states[state]
	if !ok || about["tool"] != tool {
		return nil, &mcpserver.ExtensionError{Code: -32602, Message: "requestState is none of this tool's"}
	}
	delete(b.states, state)
	return about, nil
}

// inputs answers those tools; nil for the others.
func (b *Backend) inputs(x *mcpserver.Exchange, name string) (object, error) {
	switch name {
	case "test_input_required_result_elicitation":
		if n := answer(x, "user_name", "name"); n != "" {
			return said("Hello, " + n + "!"), nil
		}
		return required("", object{"user_name": form("What is your name?", "name")}), nil
	case "test_input_required_result_sampling":
		if responses(x)["capital_question"].Model != "" {
			return said("Sampled."), nil
		}
		return required("", object{"capital_question": sampling("What is the capital of France?")}), nil
	case "test_input_required_result_list_roots":
		if responses(x)["client_roots"].Roots != nil {
			return said("Roots listed."), nil
		}
		return required("", object{"client_roots": roots()}), nil
	case "test_input_required_result_request_state", "test_input_required_result_tampered_state":
		return b.withState(x, name)
	case "test_input_required_result_multiple_inputs":
		return b.several(x, name)
	case "test_input_required_result_multi_round":
		return b.rounds(x, name)
	case "test_input_required_result_capabilities":
		return declared(x), nil
	}
	return nil, nil
}

func (b *Backend) withState(x *mcpserver.Exchange, name string) (object, error) {
	about, err := b.spend(x, name)
	if err != nil {
		return nil, err
	}
	if r := responses(x)["confirm"]; about != nil && r.Action == "accept" {
		return said("state-ok: the state came back, and the confirmation with it"), nil
	}
	return required(b.keep(map[string]string{"tool": name}), object{"confirm": formOf("Please confirm", "ok", "boolean")}), nil
}

func threeRequests() object {
	return object{"user_name": form("What is your name?", "name"), "greeting": sampling("Generate a greeting"), "client_roots": roots()}
}

func (b *Backend) several(x *mcpserver.Exchange, name string) (object, error) {
	if _, err := b.spend(x, name); err != nil {
		return nil, err
	}
	got := responses(x)
	if n := answer(x, "user_name", "name"); n != "" && got["greeting"].Model != "" && got["client_roots"].Roots != nil {
		return said("All three, " + n + "."), nil
	}
	return required(b.keep(map[string]string{"tool": name}), threeRequests()), nil
}

func (b *Backend) rounds(x *mcpserver.Exchange, name string) (object, error) {
	about, err := b.spend(x, name)
	if err != nil {
		return nil, err
	}
	next := map[string]string{"tool": name}
	maps.Copy(next, about)
	switch {
	case about == nil:
		return required(b.keep(next), object{"step1": form("Step 1: What is your name?", "name")}), nil
	case about["name"] == "":
		next["name"] = answer(x, "step1", "name")
		return required(b.keep(next), object{"step2": form("Step 2: What is your favorite color?", "color")}), nil
	}
	return said(about["name"] + " likes " + answer(x, "step2", "color")), nil
}

// declared asks only for what the client said it can do.
func declared(x *mcpserver.Exchange) object {
	if len(responses(x)) > 0 {
		return said("Asked for no more than was declared.")
	}
	requests := object{}
	if x.Declares("elicitation") {
		requests["user_name"] = form("What is your name?", "name")
	}
	if x.Declares("sampling") {
		requests["greeting"] = sampling("Generate a greeting")
	}
	if x.Declares("roots") {
		requests["client_roots"] = roots()
	}
	if len(requests) == 0 {
		return said("Nothing was declared.")
	}
	return required("", requests)
}
