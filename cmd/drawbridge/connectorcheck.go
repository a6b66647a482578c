package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// The verdicts of connector check.
const (
	moduleAccepted = "accept"
	moduleRejected = "reject"
)

// A moduleResult is what connector check found of one module.
type moduleResult struct {
	File         string      `json:"file"`
	Verdict      string      `json:"verdict"`          // accept or reject
	Code         abi.Code    `json:"code,omitempty"`   // why it is rejected
	Reason       abi.Reason  `json:"reason,omitempty"` // with the code untrusted
	Message      string      `json:"message,omitempty"`
	Step         string      `json:"step"` // the last one that was begun: prescan, compile, describe or call
	SHA256       string      `json:"sha256"`
	Bytes        int         `json:"bytes"`
	Capabilities []string    `json:"capabilities"`
	Tools        []string    `json:"tools"`          // that describe lists
	Millis       int64       `json:"ms"`             // clock time of all steps
	CPU          int64       `json:"cpu_ms"`         // of the worker processes
	Peak         int64       `json:"peak_bytes"`     // resident memory of the largest of them
	Call         *moduleCall `json:"call,omitempty"` // what --call came to
}

// A moduleCall is one call of a tool without a page: every host call is refused.
type moduleCall struct {
	Tool      string          `json:"tool"`
	Micros    int64           `json:"us"` // of the module itself, in microseconds
	HostCalls []string        `json:"host_calls"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *abi.ErrorData  `json:"error,omitempty"` // that the tool returned
}

func (a *app) connectorCheckCmd() *cobra.Command {
	var tool, args string
	cmd := &cobra.Command{
		Use: "check FILE.wasm", Short: "take a module through all that an install does with it, and run one tool if you like", Args: cobra.ExactArgs(1),
		Long: `Reads the module's headers, compiles it in a worker process of its own under the limits of
an install, and asks it to describe itself: what an install does, with anybody's module,
which needs no manifest and no signature here. With --call it then runs one tool, in a
fresh instance in a worker of its own, as a call does; there is no page, so every host
call is refused with capability_denied, and is listed.

Nothing of it is kept. It ends with 0 if the module is taken, and with 5 if it is not or
the call breaks a limit or the ABI; an error that the tool returns as data is no fault.`,
		RunE: func(cmd *cobra.Command, file []string) error {
			if tool == "" && args != "" {
				return usage(errors.New("--args is for --call"))
			}
			if err := strictjson.Check([]byte(cmp.Or(args, "{}")), strictjson.MaxBytes(abi.MaxMetadata)); err != nil {
				return usage(fmt.Errorf("--args: %w", err))
			}
			return a.checkModuleFile(cmd.Context(), file[0], tool, cmp.Or(args, "{}"))
		},
	}
	cmd.Flags().StringVar(&tool, "call", "", "run this tool, named as CONNECTOR.TOOL")
	cmd.Flags().StringVar(&args, "args", "", "its arguments, a JSON object")
	return cmd
}

func (a *app) checkModuleFile(ctx context.Context, file, tool, args string) error {
	wasm, err := readRegular("module", file, maxModuleFile)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "drawbridge-check-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // nothing of it is kept
	t := &moduleTrial{res: moduleResult{File: file, Verdict: moduleAccepted, Bytes: len(wasm), Capabilities: []string{}, Tools: []string{}}}
	start := time.Now()
	err = t.run(ctx, sandbox.Config{Dir: filepath.Join(tmp, "compiled"), Command: a.worker, Ended: t.ended}, wasm, tool, args)
	t.res.Millis = time.Since(start).Milliseconds()
	if fault, ok := errors.AsType[*abi.Error](err); ok && ctx.Err() == nil {
		t.res.Verdict, t.res.Code, t.res.Reason, t.res.Message = moduleRejected, fault.Code, fault.Reason, fault.Msg
	} else if err != nil {
		return err
	}
	a.show(t.res, func(w io.Writer) { printModule(w, t.res) })
	if t.res.Verdict == moduleRejected {
		return errSaidUntrusted
	}
	return nil
}

// A moduleTrial takes a module through the steps of an install.
type moduleTrial struct {
	mu  sync.Mutex // workers end when they like
	res moduleResult
}

func (t *moduleTrial) ended(c sandbox.Cost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.res.Peak = max(t.res.Peak, c.Peak)
	t.res.CPU += c.CPU.Milliseconds()
}

func (t *moduleTrial) run(ctx context.Context, cfg sandbox.Config, wasm []byte, tool, args string) (err error) {
	sum := sha256.Sum256(wasm)
	t.res.Step, t.res.SHA256 = "prescan", hex.EncodeToString(sum[:])
	info, err := sandbox.Prescan(wasm, sandbox.DefaultLimits())
	if err != nil {
		return err
	}
	for _, c := range info.Capabilities {
		t.res.Capabilities = append(t.res.Capabilities, string(c))
	}
	box, err := sandbox.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	t.res.Step = "compile"
	compiled, err := box.Compile(ctx, wasm)
	if err != nil {
		return err
	}
	t.res.Step = "describe"
	var says abi.Description
	if err := strictjson.Decode(compiled.Describe, &says, strictjson.MaxBytes(abi.MaxMetadata)); err != nil {
		return abi.Errorf(abi.ErrInvalidResult, "describe", "describe returned no list of tools: %w", err)
	}
	if says.V != abi.Version {
		return abi.Errorf(abi.ErrInvalidResult, "describe", "describe speaks version %d of the ABI, want %d", says.V, abi.Version)
	}
	t.res.Tools = append(t.res.Tools, says.Tools...)
	if tool == "" {
		return nil
	}
	t.res.Step = "call"
	return t.call(ctx, box, wasm, tool, args)
}

func (t *moduleTrial) call(ctx context.Context, box *sandbox.Sandbox, wasm []byte, tool, args string) error {
	if !slices.Contains(t.res.Tools, tool) {
		return usage(fmt.Errorf("the module has no tool %q: it has %s", tool, strings.Join(t.res.Tools, ", ")))
	}
	ctx, cancel := context.WithTimeout(ctx, abi.DefaultCallTimeout)
	defer cancel()
	in, err := json.Marshal(abi.CallInput{
		V: abi.Version, Tool: tool, Args: json.RawMessage(args), Now: time.Now().UnixMilli(), Settings: map[string]string{}, Locale: "en",
	})
	if err != nil {
		return err
	}
	m, err := box.Module(wasm, abi.Capabilities())
	if err != nil {
		return err
	}
	asked := &noPage{names: []string{}}
	var out abi.CallOutput
	var own time.Duration
	_, err = m.Run(ctx, sandbox.Call{Export: sandbox.ExportCall, Input: in, Calls: asked, OwnWorker: true, Output: &out, GuestTime: &own})
	t.res.Call = &moduleCall{Tool: tool, Micros: own.Microseconds(), HostCalls: asked.names, Result: out.Result, Error: out.Error}
	return err
}

// noPage answers host calls where there is no page.
type noPage struct{ names []string }

func (n *noPage) refuse(name string) ([]byte, error) {
	n.names = append(n.names, name)
	return nil, abi.Errorf(abi.ErrCapabilityDenied, name, "connector check has no page")
}

func (n *noPage) Read(context.Context, []byte) ([]byte, error)       { return n.refuse("read") }
func (n *noPage) Act(context.Context, []byte) ([]byte, error)        { return n.refuse("act") }
func (n *noPage) Screenshot(context.Context, []byte) ([]byte, error) { return n.refuse("screenshot") }
func (n *noPage) Fetch(context.Context, []byte) ([]byte, error)      { return n.refuse("fetch") }
func (n *noPage) Progress(context.Context, []byte) ([]byte, error)   { return n.refuse("progress") }

func printModule(w io.Writer, r moduleResult) {
	if r.Verdict == moduleAccepted {
		row(w, "accepted: "+r.File)
	} else {
		row(w, fmt.Sprintf("REJECTED at %s: %s: %s", r.Step, cmp.Or(string(r.Reason), string(r.Code)), r.Message))
	}
	row(w, fmt.Sprintf("  %d bytes, sha256 %s", r.Bytes, r.SHA256))
	row(w, fmt.Sprintf("  %d ms, %d ms of CPU, %.1f MiB at most", r.Millis, r.CPU, float64(r.Peak)/(1<<20)))
	if len(r.Capabilities) > 0 {
		row(w, "  it asks for "+strings.Join(r.Capabilities, ", "))
	}
	for _, t := range r.Tools {
		row(w, "  tool "+t)
	}
	if r.Call == nil {
		return
	}
	row(w, fmt.Sprintf("  %s took %.1f ms, and asked for: %s", r.Call.Tool, float64(r.Call.Micros)/1000, cmp.Or(strings.Join(r.Call.HostCalls, ", "), "nothing")))
	if r.Call.Error != nil {
		row(w, fmt.Sprintf("  it returned the error %s: %s", r.Call.Error.Code, r.Call.Error.Message))
	} else if r.Call.Result != nil {
		row(w, "  it returned "+redact.Visible(string(r.Call.Result)))
	}
}
