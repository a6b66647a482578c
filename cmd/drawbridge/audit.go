package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

func auditOptions(dirs platform.Dirs) audit.Options {
	return audit.Options{Path: dirs.AuditLog(), KeyPath: dirs.AuditKey()}
}

func (a *app) auditCmd() *cobra.Command {
	f := audit.Filter{Limit: 50}
	var since time.Duration
	cmd := &cobra.Command{
		Use: "audit", Short: "show what was called, by whom, and how it ended, the newest last", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since > 0 {
				f.Since = time.Now().Add(-since)
			}
			log, err := a.openAudit(cmd)
			if err != nil {
				return err
			}
			defer func() { _ = log.Close() }()
			list, err := log.List(cmd.Context(), f)
			if err != nil {
				return err
			}
			a.show(auditResult{list}, func(w io.Writer) {
				t := table{head: []any{"TIME", "ID", "CLIENT", "WHAT", "", "OUTCOME"}}
				for _, r := range list {
					t.row(r.At.Local().Format(time.DateTime), r.ID, r.Client, r.Kind, what(r), outcome(r))
				}
				t.write(w)
			})
			a.ifNone(len(list), "no row of that kind")
			return nil
		},
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "the newest so many rows")
	cmd.Flags().StringVar(&f.Tool, "tool", "", "only calls of this tool, such as tracker_add_comment")
	cmd.Flags().StringVar(&f.Principal, "client", "", "only calls of this client")
	cmd.Flags().DurationVar(&since, "since", 0, "only rows of this long ago and later, such as 24h")
	_ = cmd.RegisterFlagCompletionFunc("tool", a.flagNamed("tools.list", "tool"))       // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("client", a.flagNamed("clients.list", "client")) // the flag exists
	cmd.AddCommand(a.auditVerifyCmd())
	return cmd
}

// what is the tool that was called, or what was done, and to what.
func what(r audit.Record) string {
	if r.Subject != "" {
		return r.Event + ": " + r.Subject
	}
	return r.Tool + r.Event
}

func outcome(r audit.Record) string {
	switch {
	case r.Kind != audit.KindEnd:
		return ""
	case r.Code == "":
		return "done"
	}
	return string(r.Code)
}

func (a *app) openAudit(cmd *cobra.Command) (*audit.Log, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	return audit.OpenReader(cmd.Context(), auditOptions(dirs))
}

func (a *app) auditVerifyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "check the log's hash chain from its first row to its last", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.openAudit(cmd)
			if err != nil {
				return err
			}
			defer func() { _ = log.Close() }()
			rep, err := log.Verify(cmd.Context())
			if err != nil {
				return err
			}
			if len(rep.Problems) > 0 {
				p := rep.Problems[0]
				e := abi.Errorf(abi.ErrUntrusted, "audit", "the log was changed: %d problems, the first at row %d: %s", len(rep.Problems), p.Seq, p.Detail)
				e.Reason = abi.ReasonTampered
				return e
			}
			a.show(rep, func(w io.Writer) { fmt.Fprintf(w, "%d rows, unbroken from the first to the last\n", rep.Rows) })
			return nil
		},
	}
}
