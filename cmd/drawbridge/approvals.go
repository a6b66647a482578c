package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

func (a *app) approvalsCmd() *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "decide about the destructive calls that wait, one after the other",
		Long: `Shows each destructive call that waits for a person: what it does, where, as
whom, for which client, with which arguments. To approve it, retype the code;
anything else denies it, and an empty line leaves it waiting.

It needs a terminal that no connected MCP client started.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var waiting []control.Approval
			if err := a.call(cmd.Context(), "approvals.list", struct{}{}, &waiting); err != nil {
				return err
			}
			if list || a.json {
				a.show(approvalsResult{waiting}, func(w io.Writer) { listApprovals(w, waiting) })
				a.ifNone(len(waiting), "nothing waits")
				return nil
			}
			return a.decide(cmd.Context(), waiting)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list what waits and decide nothing")
	return cmd
}

func listApprovals(w io.Writer, list []control.Approval) {
	t := table{head: []any{"ID", "STATE", "CLIENT", "TOOL", "ACCOUNT", "ENDS"}}
	for _, p := range list {
		t.row(p.ID, p.State, p.Principal, p.Tool, p.Account, p.Ends.Local().Format(time.TimeOnly))
	}
	t.write(w)
}

// decide goes through what waits.
func (a *app) decide(ctx context.Context, waiting []control.Approval) error {
	asked := false
	for _, p := range waiting {
		if p.State != string(gate.StateOpen) {
			continue
		}
		asked = true
		if a.terminal() == nil {
			return abi.Errorf(abi.ErrConfirmationDenied, "approvals", "a person has to decide, at a terminal; standard input is none")
		}
		if err := a.decideOne(ctx, p); err != nil {
			return err
		}
	}
	if !asked {
		a.note("nothing waits")
	}
	return nil
}

func (a *app) decideOne(ctx context.Context, p control.Approval) error {
	var c control.Challenge
	if err := a.call(ctx, "approvals.challenge", control.DecideParams{ID: p.ID}, &c); err != nil {
		return err
	}
	a.describe(p)
	fmt.Fprint(a.stderr, approvalPrompt(p, c.Code))
	line, err := a.line(ctx)
	if err != nil || line == "" {
		return err
	}
	d := control.DecideParams{ID: p.ID, Code: line, Approve: strings.EqualFold(line, c.Code)}
	if d.Approve {
		d.Code = c.Code
	}
	if err := a.call(ctx, "approvals.decide", d, nil); err != nil {
		return err
	}
	if !d.Approve {
		a.note("denied %s", p.ID)
		return nil
	}
	a.note("approved %s, once", p.ID)
	return nil
}

// approvalPrompt names the call once more: what was shown of it may have left the
// screen, above an argument of many lines.
func approvalPrompt(p control.Approval, code string) string {
	as := ""
	if p.Account != "" {
		as = ` as "` + redact.Visible(abi.Shorten(p.Account, 60)) + `"`
	}
	return fmt.Sprintf("\nTo approve %s at %s%s, type %s (an empty line leaves it waiting, anything else refuses): ",
		redact.Visible(p.Tool), redact.Visible(p.Origin), as, code)
}

// describe shows everything that an approval is bound to, long text in full.
func (a *app) describe(p control.Approval) {
	show := func(label, text string) { fmt.Fprintf(a.stderr, "  %-10s %s\n", label, redact.Visible(text)) }
	fmt.Fprintf(a.stderr, "\n%s: %s\n", redact.Visible(p.Tool), redact.Visible(p.Title))
	show("at", p.Origin)
	show("as", p.Account)
	show("for", fmt.Sprintf("client %s (it calls itself %q)", p.Principal, p.Client))
	show("plugin", p.Release)
	for _, w := range p.Writes {
		show("sends", w)
	}
	if !p.Attended {
		show("note", "its caller has gone; the approval counts if the same call comes back in time")
	}
	a.describeArgs(p.Args)
}

// describeArgs shows the arguments in a section of their own, where neither a
// name nor a value can pass for one of our lines.
func (a *app) describeArgs(raw json.RawMessage) {
	fmt.Fprintln(a.stderr, "  with the arguments")
	var args map[string]json.RawMessage
	if err := json.Unmarshal(raw, &args); err != nil {
		fmt.Fprintf(a.stderr, "    | %s\n", redact.Visible(string(raw)))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		lines := strings.Split(plain(args[name]), "\n")
		fmt.Fprintf(a.stderr, "    %s = %s\n", redact.Visible(name), redact.Visible(lines[0]))
		for _, l := range lines[1:] {
			fmt.Fprintf(a.stderr, "    | %s\n", redact.Visible(l))
		}
	}
}

// plain is a string without its quotes, and anything else as JSON.
func plain(raw json.RawMessage) string {
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		return s
	}
	return string(raw)
}
