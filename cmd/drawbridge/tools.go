package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) toolsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "tools [TOOL]", Short: "list the installed connectors' tools, or say what one takes", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: a.named("tools.list", "tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var list []control.Tool
			if err := a.call(cmd.Context(), "tools.list", struct{}{}, &list); err != nil {
				return err
			}
			if len(args) == 1 {
				t, err := findTool(list, args[0])
				if err != nil {
					return err
				}
				a.show(t, func(w io.Writer) { printTool(w, t) })
				return nil
			}
			a.show(toolsResult{list}, func(w io.Writer) {
				tools := table{head: []any{"TOOL", "KIND", "TITLE"}}
				for _, t := range list {
					tools.row(t.Name, kindOf(t), t.Title)
				}
				tools.write(w)
			})
			if len(list) == 0 {
				return a.noteNoTools(cmd)
			}
			return nil
		},
	}
}

// noteNoTools says why there is no tool: nothing is installed, or it can't run.
func (a *app) noteNoTools(cmd *cobra.Command) error {
	var installed []host.PluginInfo
	if err := a.call(cmd.Context(), "plugins.list", struct{}{}, &installed); err != nil {
		return err
	}
	installed = slices.DeleteFunc(installed, func(p host.PluginInfo) bool { return !isConnector(p) })
	if n := len(installed); n > 0 {
		a.note("%s installed, and none can run: drawbridge list", plural(n, "connector"))
		return nil
	}
	a.note("no connector is installed: drawbridge search, then drawbridge install NAMESPACE/NAME")
	return nil
}

// toolName matches what a tool can be called: as listed, or with a dot.
var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,45}(\.[a-z][a-z0-9_]{0,45})?$`)

func (a *app) callCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "call TOOL [ARGUMENTS]",
		Short: "call a tool with a JSON object of arguments; - reads it from standard input",
		Args:  cobra.RangeArgs(1, 2), ValidArgsFunction: a.named("tools.list", "tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !toolName.MatchString(args[0]) {
				return usage(fmt.Errorf("%q is no tool's name, such as tracker_list", args[0]))
			}
			params := control.CallParams{Tool: args[0], Args: json.RawMessage("{}")}
			if len(args) == 2 {
				text, err := a.arguments(args[1])
				if err != nil {
					return err
				}
				params.Args = text
			}
			var result json.RawMessage
			if err := a.call(cmd.Context(), "tools.call", params, &result); err != nil {
				return err
			}
			a.show(result, func(w io.Writer) { printResult(w, result) })
			return nil
		},
	}
}

// arguments returns a JSON object from the command line or standard input.
func (a *app) arguments(text string) (json.RawMessage, error) {
	data := []byte(text)
	if text == "-" {
		var err error
		if data, err = io.ReadAll(io.LimitReader(a.stdin, abi.MaxArgs+1)); err != nil {
			return nil, err
		}
	}
	switch {
	case json.Valid(data):
	case text == "-":
		return nil, usage(errors.New("what stands on standard input is not JSON"))
	default:
		return nil, usage(fmt.Errorf("%q is not JSON", text))
	}
	return data, nil
}

// printResult prints rows as a table and anything else as indented JSON.
func printResult(w io.Writer, result json.RawMessage) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(result, &members); err == nil {
		for _, raw := range members {
			if printRows(w, raw) {
				return
			}
		}
	}
	writeJSON(w, result)
}

// printRows prints raw if it is an abi.Table.
func printRows(w io.Writer, raw json.RawMessage) bool {
	var t abi.Table
	if err := json.Unmarshal(raw, &t); err != nil || len(t.Cols) == 0 || t.Rows == nil {
		return false
	}
	cells := make([]any, len(t.Cols))
	for i, c := range t.Cols {
		cells[i] = c
	}
	row(w, cells...)
	for _, r := range t.Rows {
		for i, v := range r {
			if v == nil {
				r[i] = ""
			}
		}
		row(w, r...)
	}
	return true
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.show(versionResult{version, abi.Version}, func(w io.Writer) {
				fmt.Fprintf(w, "drawbridge %s, ABI %d\n", version, abi.Version)
			})
			return nil
		},
	}
}
