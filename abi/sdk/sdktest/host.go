//go:build !wasip1

// Package sdktest plays the host for a connector's own tests. It answers host
// calls from functions that the test gives, through the same JSON as the real
// host, with unknown fields mixed in as the real host may. It judges nothing:
// grants, lists and schemas are the real host's.
package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// A Host answers a connector's host calls. A nil function means that the
// connector is not expected to use that capability, and fails the test.
type Host struct {
	OnRead       func(abi.Program) abi.Answer
	OnAct        func(abi.Program) abi.Answer
	OnScreenshot func(abi.Program) abi.Answer // a screenshot step's value is an abi.ImageHandle
	OnFetch      func(abi.FetchRequest) abi.FetchAnswer

	// Manifest, where it is given, is what arguments, result and the use of
	// capabilities are held against.
	Manifest *abi.Manifest

	Settings map[string]string
	Locale   string    // default en
	Now      time.Time // default 2026-01-02 03:04:05 UTC
	Seed     uint32

	// What the connector did, in order.
	Programs []abi.Program // of read, act and screenshot
	Fetches  []abi.FetchRequest
	Reports  []abi.ProgressReport
	Logs     []string
}

// Call runs one tool and decodes its result into Out, which refuses fields that
// it does not have. A tool's failure is returned as an *abi.Error.
func Call[Out any](t *testing.T, p sdk.Plugin, h *Host, tool string, args any) (Out, error) {
	t.Helper()
	var out Out
	if h.Now.IsZero() {
		h.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	if h.Locale == "" {
		h.Locale = "en"
	}
	var declaration *abi.Tool
	if h.Manifest != nil {
		declaration = declared(t, h.Manifest, tool)
		checkSchema(t, "arguments", declaration.Input, encode(t, args))
	}
	input := grease(t, abi.CallInput{
		V: abi.Version, Tool: tool, Args: encode(t, args), Now: h.Now.UnixMilli(), Seed: h.Seed,
		Settings: h.Settings, Locale: h.Locale,
	})
	var result abi.CallOutput
	decode(t, p.ServeWith(&link{t: t, host: h, tool: declaration}, input), &result)
	switch {
	case result.OK && result.Error != nil, !result.OK && result.Error == nil, !result.OK && result.Result != nil:
		t.Fatalf("the module's output is neither result nor error: %+v", result)
	case !result.OK:
		return out, result.Error.AsError("")
	}
	if declaration != nil {
		checkSchema(t, "result", declaration.Output, result.Result)
	}
	decode(t, result.Result, &out)
	return out, nil
}

// Data is an Answer that succeeded, with pairs of a step's name and its value.
func Data(pairs ...any) abi.Answer {
	ans := abi.Answer{OK: true, Page: &abi.PageInfo{URL: "https://sample.test/"}, Data: map[string]json.RawMessage{}}
	for pair := range slices.Chunk(pairs, 2) {
		b, err := json.Marshal(pair[1])
		if err != nil {
			panic("BUG: " + err.Error())
		}
		ans.Data[fmt.Sprint(pair[0])] = b
	}
	return ans
}

// Failed is an Answer in which a step failed, counted from zero.
func Failed(step int, code abi.Code, message string) abi.Answer {
	return abi.Answer{Step: step, Error: &abi.ErrorData{Code: code, Message: message}}
}

// A link is one call's way to its host.
type link struct {
	t    *testing.T
	host *Host
	tool *abi.Tool // nil without a manifest
}

// Uses fails the test if the tool has not declared a capability.
func (l *link) uses(c abi.Capability) {
	l.t.Helper()
	if l.tool != nil && !slices.Contains(l.tool.Capabilities, c) {
		l.t.Errorf("the tool %q used %s and has not declared it", l.tool.Name, c)
	}
}

func (l *link) Read(program []byte) []byte { return l.run("read", program, l.host.OnRead) }
func (l *link) Act(program []byte) []byte  { return l.run("act", program, l.host.OnAct) }
func (l *link) Screenshot(program []byte) []byte {
	return l.run("screenshot", program, l.host.OnScreenshot)
}

func (l *link) run(name string, program []byte, answer func(abi.Program) abi.Answer) []byte {
	l.t.Helper()
	l.uses(abi.Capability(name))
	var p abi.Program
	decode(l.t, program, &p)
	if answer == nil {
		l.t.Fatalf("the connector used %s: %s", name, program)
	}
	if len(program) > abi.MaxProgram || len(p.Steps) > abi.MaxSteps || len(p.Steps) == 0 {
		l.t.Fatalf("a program of %d bytes and %d steps is outside the limits", len(program), len(p.Steps))
	}
	for _, s := range p.Steps {
		if name != "act" && s.Op.IsAct() || name != "screenshot" && s.Op == abi.OpScreenshot {
			l.t.Fatalf("step %q does not belong in %s", s.Op, name)
		}
	}
	l.host.Programs = append(l.host.Programs, p)
	return grease(l.t, answer(p))
}

func (l *link) Fetch(request []byte) []byte {
	l.t.Helper()
	l.uses(abi.CapFetch)
	var r abi.FetchRequest
	decode(l.t, request, &r)
	if l.host.OnFetch == nil {
		l.t.Fatalf("the connector used fetch: %s", request)
	}
	l.host.Fetches = append(l.host.Fetches, r)
	return grease(l.t, l.host.OnFetch(r))
}

func (l *link) Progress(report []byte) []byte {
	l.t.Helper()
	l.uses(abi.CapProgress)
	var r abi.ProgressReport
	decode(l.t, report, &r)
	l.host.Reports = append(l.host.Reports, r)
	return grease(l.t, abi.Answer{OK: true})
}

func (l *link) Log(message string) { l.host.Logs = append(l.host.Logs, message) }

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	return b
}

// Grease adds a member that no version defines: guests have to ignore it.
func grease(t *testing.T, v any) []byte {
	t.Helper()
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(encode(t, v), &members); err != nil {
		t.Fatalf("adding an unknown member: %v", err)
	}
	members["grease_7f3a"] = json.RawMessage(`{"a":[1,null,"x"]}`)
	return encode(t, members)
}

// Decode refuses unknown fields: what a guest sends has to be what the host knows.
func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("decoding %.200s: %v", raw, err)
	}
}
