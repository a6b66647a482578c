package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// HostCalls serves the host calls of one call. Requests and answers are JSON;
// the sandbox has limited their size and looked no further, so a request is
// hostile. An *[abi.Error] becomes an answer {"ok":false,"error":…}, any other
// error the answer "internal error". A method runs in the goroutine of
// [Module.Run], which returns only after it: it must heed ctx, which ends with
// the call. Methods are never called at the same time.
type HostCalls interface {
	Read(ctx context.Context, program []byte) ([]byte, error)
	Act(ctx context.Context, program []byte) ([]byte, error)
	Screenshot(ctx context.Context, program []byte) ([]byte, error)
	Fetch(ctx context.Context, request []byte) ([]byte, error)
	Progress(ctx context.Context, report []byte) ([]byte, error)
}

// A hostCall is one row of the table of host calls.
type hostCall struct {
	name       string         // the import in abi.Namespace
	capability abi.Capability // what must be granted
	serve      func(HostCalls, context.Context, []byte) ([]byte, error)
	progress   bool // counts against ProgressSent, not HostCalls
}

// hostCalls is every host call: name, capability, handler.
func hostCalls() []hostCall {
	return []hostCall{
		{name: "read", capability: abi.CapRead, serve: HostCalls.Read},
		{name: "act", capability: abi.CapAct, serve: HostCalls.Act},
		{name: "screenshot", capability: abi.CapScreenshot, serve: HostCalls.Screenshot},
		{name: "fetch", capability: abi.CapFetch, serve: HostCalls.Fetch},
		{name: "progress", capability: abi.CapProgress, serve: HostCalls.Progress, progress: true},
	}
}

// A desk answers the host calls of one call and keeps its budgets.
type desk struct {
	lim     Limits
	granted []abi.Capability
	calls   HostCalls
	log     *slog.Logger
	made    int
	sent    int // progress reports
}

// answer serves the host call name. The answer is always data; the error is a
// spent budget, and ends the call.
func (d *desk) answer(ctx context.Context, name string, request []byte) ([]byte, error) {
	table := hostCalls()
	i := slices.IndexFunc(table, func(c hostCall) bool { return c.name == name })
	if i < 0 {
		return nil, fmt.Errorf("serving host call: no call %q", name) // a worker links no other
	}
	call := table[i]
	if err := d.count(call); err != nil {
		return nil, err
	}
	if !slices.Contains(d.granted, call.capability) || d.calls == nil {
		return refusal(abi.Errorf(abi.ErrCapabilityDenied, name, "capability %q is not granted", call.capability)), nil
	}
	out, err := call.serve(d.calls, ctx, request)
	switch {
	case err != nil:
		if !errors.As(err, new(*abi.Error)) {
			d.log.ErrorContext(ctx, "serving host call", slog.String("call", name), slog.Any("error", err))
		}
		return refusal(err), nil
	case len(out) > d.lim.AnswerBytes:
		return refusal(abi.Errorf(abi.ErrLimitExceeded, name,
			"an answer of %d bytes; at most %d are allowed", len(out), d.lim.AnswerBytes)), nil
	}
	return out, nil
}

func (d *desk) count(call hostCall) error {
	n, limit := &d.made, d.lim.HostCalls
	if call.progress {
		n, limit = &d.sent, d.lim.ProgressSent
	}
	if *n++; *n > limit {
		return abi.Errorf(abi.ErrLimitExceeded, call.name, "more than %d host calls in one call", limit)
	}
	return nil
}

// refusal is the answer that tells a guest of err: the code and message of an
// *[abi.Error], and of no other.
func refusal(err error) []byte {
	var e *abi.Error
	if !errors.As(err, &e) {
		e = abi.Errorf(abi.ErrInternal, "", "internal error")
	}
	data := e.Data()
	data.Message, data.Hint = clip(data.Message, maxFailBytes), clip(data.Hint, maxFailBytes)
	b, merr := json.Marshal(struct {
		OK    bool           `json:"ok"`
		Error *abi.ErrorData `json:"error"`
	}{Error: data})
	if merr != nil {
		panic("BUG: an abi.Error is not JSON: " + merr.Error())
	}
	return b
}
