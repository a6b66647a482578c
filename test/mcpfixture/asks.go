package mcpfixture

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
)

// asks are the tools that send something to their client while they run.
func asks(ctx context.Context, x *mcpserver.Exchange, name string) (object, error) {
	switch name {
	case "test_tool_with_logging", "test_logging_tool":
		return logs(ctx, x), nil
	case "test_missing_capability":
		if x.Declares("sampling") {
			return said("executed"), nil
		}
		return nil, &mcpserver.ExtensionError{
			Code: -32021, Message: "missing required client capability: sampling",
			Data: object{"requiredCapabilities": object{"sampling": object{}}},
		}
	case "test_sampling":
		return ask(ctx, x, "sampling/createMessage", sampling(argument(x, "prompt"))["params"], "LLM response: ")
	case "test_elicitation":
		return elicit(ctx, x, argument(x, "message"), object{"username": object{"type": "string"}, "email": object{"type": "string"}}, "username", "email")
	case "test_elicitation_sep1034_defaults":
		return elicit(ctx, x, "Defaults", object{
			"name":     object{"type": "string", "default": "John Doe"},
			"age":      object{"type": "integer", "default": 30},
			"score":    object{"type": "number", "default": 95.5},
			"status":   object{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
			"verified": object{"type": "boolean", "default": true},
		})
	case "test_elicitation_sep1330_enums":
		titled := []any{object{"const": "value1", "title": "Value One"}, object{"const": "value2", "title": "Value Two"}}
		plain := []string{"option1", "option2"}
		return elicit(ctx, x, "Choices", object{
			"untitledSingle": object{"type": "string", "enum": plain},
			"titledSingle":   object{"type": "string", "oneOf": titled},
			"legacyEnum":     object{"type": "string", "enum": []string{"opt1", "opt2"}, "enumNames": []string{"Option One", "Option Two"}},
			"untitledMulti":  object{"type": "array", "items": object{"type": "string", "enum": plain}},
			"titledMulti":    object{"type": "array", "items": object{"anyOf": titled}},
		})
	}
	return nil, nil
}

// logs sends three log messages: in the new era only to a client that asked.
func logs(ctx context.Context, x *mcpserver.Exchange) object {
	var meta map[string]any
	_ = json.Unmarshal(x.Param("_meta"), &meta)
	if _, wanted := meta["io.modelcontextprotocol/logLevel"]; !x.Modern() || wanted {
		for i, words := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if i > 0 {
				pause(ctx, step)
			}
			x.Notify("notifications/message", object{"level": "info", "logger": "fixture", "data": words})
		}
	}
	return said("Tool with logging executed successfully")
}

func elicit(ctx context.Context, x *mcpserver.Exchange, message string, properties object, required ...string) (object, error) {
	if !x.Declares("elicitation") {
		return object{"isError": true, "content": []any{text("the client has no elicitation")}}, nil
	}
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return ask(ctx, x, "elicitation/create", object{"mode": "form", "message": message, "requestedSchema": schema}, "User response: ")
}

// ask shows what the client answered.
func ask(ctx context.Context, x *mcpserver.Exchange, method string, params any, label string) (object, error) {
	answer, err := x.Ask(ctx, method, params)
	if err != nil {
		return object{"isError": true, "content": []any{text(fmt.Sprint(err))}}, nil
	}
	return said(label + string(answer)), nil
}
