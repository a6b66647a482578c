package mcpfixture

import (
	"context"
	"encoding/json"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
)

// The suite's tools. What a connector can do comes from the backend, as any call:
// text, errors, progress, schemas, headers and changing lists. The rest is in
// content.go, asks.go and inputs.go, by the extension.

const (
	promptArgs     = "test_prompt_with_arguments"
	promptSimple   = "test_simple_prompt"
	promptImage    = "test_prompt_with_image"
	promptResource = "test_prompt_with_embedded_resource"
	promptInput    = "test_input_required_result_prompt"

	schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
			"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`
)

func suiteTools() []host.ToolDef {
	defs := []host.ToolDef{
		tool("json_schema_2020_12_tool", schema2020, ""),
		tool("test_x_mcp_header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`, ""),
		tool("test_sampling", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, ""),
		tool("test_elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`, ""),
	}
	for _, name := range []string{
		"simple_text", "error_handling", "tool_with_progress", "reconnection", "streaming_elicitation", "trigger_tool_change",
		"trigger_prompt_change", "image_content", "audio_content", "embedded_resource", "multiple_content_types", "tool_with_logging",
		"logging_tool", "missing_capability", "elicitation_sep1034_defaults", "elicitation_sep1330_enums",
		"input_required_result_elicitation", "input_required_result_sampling", "input_required_result_list_roots",
		"input_required_result_request_state", "input_required_result_tampered_state", "input_required_result_multiple_inputs",
		"input_required_result_multi_round", "input_required_result_capabilities",
	} {
		defs = append(defs, tool("test_"+name, noArgs, ""))
	}
	return defs
}

func suitePrompts() []host.PromptDef {
	prompt := func(name string, args ...string) host.PromptDef {
		d := host.PromptDef{Name: name, Dotted: "suite." + name, Title: "Suite", Description: "What " + name + " says."}
		for _, a := range args {
			d.Arguments = append(d.Arguments, abi.PromptArgument{Name: a, Description: "Anything.", Required: true})
		}
		return d
	}
	return []host.PromptDef{
		prompt(promptSimple), prompt(promptArgs, "arg1", "arg2"), prompt(promptResource, "resourceUri"),
		prompt(promptImage), prompt(promptInput),
	}
}

// step is the time between two reports: the suite wants to see them apart.
const step = 50 * time.Millisecond

// suiteCall is what a connector could do too.
func (b *Backend) suiteCall(ctx context.Context, name string, r host.CallRequest) host.CallResult {
	switch name {
	case "test_error_handling":
		return host.CallResult{Err: abi.Errorf(abi.ErrNotFound, "", "this tool intentionally returns an error for testing")}
	case "test_tool_with_progress":
		for i := range 3 {
			if i > 0 {
				pause(ctx, step)
			}
			r.Progress(float64(50*i), 100, "")
		}
	case "test_trigger_tool_change", "test_trigger_prompt_change":
		b.addTool(r.Principal, "suite_transient", true)
	case "test_reconnection":
		pause(ctx, 2*step)
	case "test_x_mcp_header":
		return structured(map[string]any{"arguments": r.Args})
	}
	return structured(map[string]any{"text": "This is a simple text response for testing."})
}

// extend answers what connectors can't, for the suite and the clients' image.
func (b *Backend) extend(ctx context.Context, x *mcpserver.Exchange) (map[string]any, error) {
	switch x.Method() {
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return map[string]any{}, nil
	case "resources/read":
		return readSuite(param(x, "uri")), nil
	case "prompts/get":
		return promptSuite(x)
	}
	name := param(x, "name")
	if r := content(name); r != nil {
		return r, nil
	}
	if r, err := b.inputs(x, name); r != nil || err != nil {
		return r, err
	}
	return asks(ctx, x, name)
}

// param is a parameter that is text.
func param(x *mcpserver.Exchange, name string) string {
	var s string
	_ = json.Unmarshal(x.Param(name), &s) // anything else is no name of ours
	return s
}

// argument is one of a call's arguments, as text.
func argument(x *mcpserver.Exchange, name string) string {
	var args map[string]string
	_ = json.Unmarshal(x.Param("arguments"), &args)
	return args[name]
}
