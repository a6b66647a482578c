package mcpfixture

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// clientTools are what the clients' drivers call.
func clientTools() []host.ToolDef {
	number := func(name string) string {
		return `{"type":"object","properties":{"` + name + `":{"type":"integer"}}}`
	}
	remove := tool("fixture_delete", number("id"), `{"type":"object","properties":{"deleted":{"type":"integer"}},"required":["deleted"]}`)
	remove.ReadOnly, remove.Destructive, remove.Idempotent = false, true, false
	big := tool("fixture_big", number("bytes"), `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	big.MaxResult = 8 << 20 // all at once: it is there to be large
	return []host.ToolDef{
		tool("fixture_add", number("n"), anyObject),
		big,
		tool("fixture_counts", noArgs, anyObject),
		remove,
		tool("fixture_echo", number("n"), `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		tool("fixture_fail", noArgs, anyObject),
		tool("fixture_image", noArgs, `{"type":"object","properties":{"image":{"type":"string"}},"required":["image"]}`),
		tool("fixture_list", number("n"), `{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"],"additionalProperties":false}`),
		tool("fixture_progress", `{"type":"object","properties":{"n":{"type":"integer"},"ms":{"type":"integer"}}}`, anyObject),
		tool("fixture_remove", noArgs, anyObject),
		tool("fixture_wait", number("ms"), anyObject),
	}
}

type clientArgs struct {
	ID, N, MS, Bytes int
}

func (b *Backend) clientCall(ctx context.Context, name string, r host.CallRequest) host.CallResult {
	var args clientArgs
	if r.Args != nil && json.Unmarshal(r.Args, &args) != nil {
		return host.CallResult{Err: abi.Errorf(abi.ErrInvalidArgs, "", "arguments do not fit")}
	}
	switch name {
	case "add", "remove":
		b.addTool(r.Principal, "fixture_added", name == "add")
		return structured(map[string]any{"done": true})
	case "added":
		return structured(map[string]any{"added": true})
	case "big":
		return structured(map[string]any{"text": strings.Repeat("x", min(args.Bytes, 8<<20))})
	case "counts":
		return structured(map[string]any{"deleted": b.deleted.Load(), "cancelled": b.cancelled.Load()})
	case "delete":
		return b.remove(ctx, args.ID, r)
	case "echo":
		return structured(map[string]any{"n": args.N})
	case "fail":
		return host.CallResult{Err: abi.Errorf(abi.ErrAuthExpired, "", "nobody is signed in at %q", "fixture.localhost").WithHint("drawbridge login fixture")}
	case "image":
		return picture()
	case "list":
		rows := []any{map[string]any{"id": 7, "title": "ä <b>"}}
		for i := range args.N {
			rows = append(rows, map[string]any{"id": 8 + i, "title": "ä <b>"})
		}
		return structured(map[string]any{"rows": rows})
	case "progress":
		for i := range args.N {
			r.Progress(float64(i+1), float64(args.N), "step")
			pause(ctx, time.Duration(args.MS)*time.Millisecond)
		}
		return structured(map[string]any{"done": true})
	case "wait":
		return b.wait(ctx, args.MS, r)
	}
	return host.CallResult{Err: abi.Errorf(abi.ErrNotFound, "", "no tool %q", r.Tool)}
}

// picture is a result that shows the smallest PNG.
func picture() host.CallResult {
	png, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		return host.CallResult{Err: abi.Errorf(abi.ErrInternal, "", "internal error")}
	}
	res := structured(map[string]any{"image": "image:fixture"})
	res.Images = []host.Image{{Handle: "image:fixture", MIME: "image/png", Data: png}}
	return res
}

// wait says that it began, takes its time, and counts where its caller left before it
// was over.
func (b *Backend) wait(ctx context.Context, ms int, r host.CallRequest) host.CallResult {
	r.Progress(1, 2, "waiting")
	pause(ctx, time.Duration(ms)*time.Millisecond)
	if ctx.Err() != nil {
		b.cancelled.Add(1)
		return host.CallResult{Err: abi.Errorf(abi.ErrTimeout, "", "the caller left")}
	}
	return structured(map[string]any{"waited": ms})
}

// Unanswered is the first id of fixture_delete whose question no driver answers: the
// gate waits for a second there, so that a test sees what comes after it.
const Unanswered = 5

// remove runs what the gate lets through.
func (b *Backend) remove(ctx context.Context, id int, r host.CallRequest) host.CallResult {
	via := gate.Inquiry{ByRetry: r.Ask.ByRetry, Reply: r.Ask.Reply}
	if r.Ask.Ask != nil {
		via.Ask = func(ctx context.Context, p gate.Pending) (bool, error) {
			return r.Ask.Ask(ctx, question(p))
		}
	}
	g := b.gate
	if id >= Unanswered {
		g = b.hasty
	}
	_, err := g.AllowAsking(ctx, gate.Subject{
		Principal: r.Principal, Client: r.Client, Connector: "fixture", Tool: r.Tool, Title: "Delete one", Definition: []byte("{}"),
		ModuleSHA256: "0", Release: "test/fixture@1.0.0", Args: r.Args, Destructive: true, Writes: []string{"POST /delete"},
	}, via)
	if err != nil {
		res := host.CallResult{Err: host.Safe(err)}
		if q, ok := errors.AsType[*gate.QuestionError](err); ok {
			res.Confirm = &host.Confirmation{Message: question(q.Pending), State: q.State}
		}
		return res
	}
	b.deleted.Add(1)
	return structured(map[string]any{"deleted": id})
}

func question(p gate.Pending) string {
	return "May it? " + p.Subject.Tool + " " + string(p.Subject.Args)
}
