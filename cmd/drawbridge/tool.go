package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// findTool picks a tool by its name, as listed or with a dot.
func findTool(list []control.Tool, name string) (control.Tool, error) {
	want := strings.ReplaceAll(name, ".", "_")
	for _, t := range list {
		if t.Name == want {
			return t, nil
		}
	}
	return control.Tool{}, abi.Errorf(abi.ErrNotFound, "tools", "no tool %q is installed", name).WithHint("drawbridge tools")
}

func kindOf(t control.Tool) string {
	if t.Destructive {
		return "writes, asks first"
	}
	return "reads"
}

// printTool says what a tool does and what can be given to it.
func printTool(w io.Writer, t control.Tool) {
	fmt.Fprintf(w, "%s: %s (%s)\n%s\n", redact.Visible(t.Name), redact.Visible(t.Title), kindOf(t), redact.Visible(t.Description))
	var input struct {
		Properties map[string]argument `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(t.Input, &input); err != nil || len(input.Properties) == 0 {
		fmt.Fprintln(w, "It takes no arguments.")
		return
	}
	fmt.Fprintln(w)
	row(w, "ARGUMENT", "NEEDED", "VALUE", "ABOUT")
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		arg := input.Properties[name]
		row(w, name, yesNo(slices.Contains(input.Required, name)), arg.value(), arg.Description)
	}
}

// An argument is what a schema says of one property, as far as it is shown.
type argument struct {
	Type        any    `json:"type"` // a name, or several
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
}

func (a argument) value() string {
	if len(a.Enum) > 0 {
		return "one of " + listed(a.Enum)
	}
	if many, ok := a.Type.([]any); ok {
		return listed(many)
	}
	if one, ok := a.Type.(string); ok {
		return one
	}
	return "any"
}

func listed(values []any) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = fmt.Sprint(v)
	}
	return strings.Join(names, ", ")
}
