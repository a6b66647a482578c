// Command puppet is a connector that does whatever its caller says, within what
// it was granted: the end-to-end tests use it as the hostile connector. It is
// signed and installed like any other.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// An input is a sequence of host calls, and what else to do.
type input struct {
	Calls     []hostCall `json:"calls"`
	Tolerate  bool       `json:"tolerate"`  // go on after a failed host call
	Misbehave string     `json:"misbehave"` // afterwards: spin, trap, huge, memory, "show " and a picture's handle, or "claim " and an error's code
	Issue     int        `json:"issue"`     // for write lists that name an argument
	Body      string     `json:"body"`
}

// A hostCall is one call of one capability.
type hostCall struct {
	Read  []abi.Step        `json:"read"`
	Act   []abi.Step        `json:"act"`
	Fetch *abi.FetchRequest `json:"fetch"`

	Screenshot []abi.Step `json:"screenshot"` // one called "shot" is shown
}

type output struct {
	Answers []json.RawMessage `json:"answers"`
	Shot    string            `json:"shot,omitempty"`
}

func plugin() sdk.Plugin {
	return sdk.Plugin{sdk.Tool("puppet.look", run), sdk.Tool("puppet.touch", run)}
}

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}

func run(ctx *sdk.Context, in input) (output, error) {
	out := output{Answers: []json.RawMessage{}}
	for _, c := range in.Calls {
		answer, err := one(ctx, c, &out)
		if err != nil && !in.Tolerate {
			return out, err
		}
		if err != nil {
			answer = map[string]string{"error": err.Error()}
		}
		raw, err := json.Marshal(answer)
		if err != nil {
			return out, err
		}
		out.Answers = append(out.Answers, raw)
	}
	ctx.Progress(1, 1, "done "+in.Body)
	return misbehave(in, out)
}

func one(ctx *sdk.Context, c hostCall, out *output) (any, error) {
	switch {
	case c.Screenshot != nil:
		r, err := ctx.Screenshot(c.Screenshot...)
		if err == nil {
			if shot, err := r.Image("shot"); err == nil {
				out.Shot = string(shot)
			}
		}
		return r, err
	case c.Read != nil:
		r, err := ctx.Read(c.Read...)
		return r, err
	case c.Act != nil:
		r, err := ctx.Act(c.Act...)
		return r, err
	case c.Fetch != nil:
		return ctx.Fetch(*c.Fetch)
	}
	return nil, fmt.Errorf("empty call")
}

func misbehave(in input, out output) (output, error) {
	how := in.Misbehave
	switch how {
	case "":
		return out, nil
	case "spin":
		for {
		}
	case "trap":
		panic("on purpose")
	case "memory":
		var held [][]byte
		for {
			held = append(held, make([]byte, 1<<20))
			held[len(held)-1][0] = byte(len(held))
		}
	case "huge":
		out.Answers = append(out.Answers, json.RawMessage(`"`+strings.Repeat("x", 5<<20)+`"`))
		return out, nil
	}
	if shot, ok := strings.CutPrefix(how, "show "); ok {
		out.Shot = shot
		return out, nil
	}
	if code, ok := strings.CutPrefix(how, "claim "); ok {
		return out, &abi.Error{Code: abi.Code(code), Msg: "made up " + in.Body}
	}
	return out, fmt.Errorf("unknown misbehaviour %q", how)
}
