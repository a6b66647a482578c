package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) checkCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "check [CONNECTOR]",
		Short: "look at a connector's page now, or at every connector's, and say whether it works",
		Long: `Visits the page that each connector names for it, in a tab that can do nothing
else, and says whether somebody is signed in there. A connector that was paused
goes on if its check passes.`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.named("plugins.list", "connectors"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var p control.HealthParams
			if len(args) == 1 {
				p.Connector = args[0]
			}
			var list []host.ConnectorHealth
			if err := a.call(cmd.Context(), "health.check", p, &list); err != nil {
				return err
			}
			for _, c := range list {
				if c.Error != nil && c.Error.Hint == "drawbridge check "+c.Connector {
					c.Error.Hint = "" // it was just done
				}
			}
			a.show(connectorsResult{list}, func(w io.Writer) { printHealth(w, list) })
			a.ifNone(len(list), noneInstalled)
			return a.told(healthError(list))
		},
	}
}

func printHealth(w io.Writer, list []host.ConnectorHealth) {
	t := table{head: []any{"CONNECTOR", "STATE"}}
	for _, c := range list {
		t.row(c.Connector, healthDetail(c))
		if c.Error != nil && c.Error.Hint != "" {
			t.row("", "hint: "+c.Error.Hint)
		}
	}
	t.write(w)
}

// healthDetail says in a line how a connector is.
func healthDetail(c host.ConnectorHealth) string {
	detail := string(c.State)
	if !c.Since.IsZero() {
		detail += " since " + c.Since.Local().Format(time.DateTime)
	}
	if c.Error != nil {
		detail += ": " + c.Error.Message
	}
	return detail
}

// healthError is the error of the first connector that can't be used, so that the
// exit code says which kind it is.
func healthError(list []host.ConnectorHealth) error {
	bad := 0
	var first *abi.ErrorData
	for _, c := range list {
		if c.Error != nil {
			if bad++; first == nil {
				first = c.Error
			}
		}
	}
	if first == nil {
		return nil
	}
	return abi.Errorf(first.Code, "check", "%d of %d connectors can't be used", bad, len(list)).WithHint("%s", first.Hint)
}
