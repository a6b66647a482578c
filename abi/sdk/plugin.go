package sdk

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Plugin is the list of tools that a module serves. It must equal what
// plugin.yaml declares.
type Plugin []Handler

// A Handler is one tool, made by [Tool].
type Handler struct {
	name     string
	run      func(*Context, json.RawMessage) (any, error)
	rehearse func()
}

// Tool makes a handler of a typed function. Name is "connector.tool". The host
// has already checked the arguments against the tool's input schema; the result
// is checked against its output schema when it arrives there.
func Tool[In, Out any](name string, f func(*Context, In) (Out, error)) Handler {
	return Handler{name: name, run: func(ctx *Context, args json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, abi.Errorf(abi.ErrInvalidArgs, name, "decoding arguments: %w", err)
		}
		return f(ctx, in)
	}, rehearse: rehearseTypes[In, Out]}
}

// Names lists the tools' names in sorted order.
func (p Plugin) Names() []string {
	names := make([]string, 0, len(p))
	for _, h := range p {
		names = append(names, h.name)
	}
	slices.Sort(names)
	return names
}

// Serve answers one call: input is an abi.CallInput, the result an
// abi.CallOutput, both in JSON. The export call is this with the host's memory
// around it.
func (p Plugin) serve(host hostLink, input []byte) []byte {
	var in abi.CallInput
	if err := json.Unmarshal(input, &in); err != nil {
		return failure(abi.Errorf(abi.ErrInternal, "call", "decoding input: %w", err))
	}
	if in.V != abi.Version {
		return failure(abi.Errorf(abi.ErrInternal, "call", "this module speaks version %d of the ABI, not %d", abi.Version, in.V))
	}
	for _, h := range p {
		if h.name == in.Tool {
			return answer(h.run(newContext(host, in), in.Args))
		}
	}
	return failure(abi.Errorf(abi.ErrInvalidArgs, "call", "no tool %q in this module", in.Tool))
}

func answer(result any, err error) []byte {
	if err != nil {
		return failure(err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return failure(abi.Errorf(abi.ErrInvalidResult, "call", "encoding the result: %w", err))
	}
	// An abi.CallOutput, joined by hand: encoding one would read all of raw once
	// more, which in WASM takes a millisecond for each 20 kB.
	return slices.Concat([]byte(`{"ok":true,"result":`), raw, []byte("}"))
}

// Failure turns any error into a CallOutput. What is not an *abi.Error has no
// code of its own: it is the connector's fault.
func failure(err error) []byte {
	data := &abi.ErrorData{Code: abi.ErrInvalidResult, Message: err.Error()}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		data.Code, data.Hint = e.Code, e.Hint
	}
	return encode(abi.CallOutput{Error: data})
}

// Encode is for values of our own, which always encode.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: encoding " + err.Error())
	}
	return b
}
