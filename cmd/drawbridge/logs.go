package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/logfile"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// A logLevel is a flag.
type logLevel struct{ slog.Level }

func (l *logLevel) String() string { return strings.ToLower(l.Level.String()) }

// Set reads one of the four names.
func (l *logLevel) Set(text string) error {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(text, level.String()) {
			l.Level = level
			return nil
		}
	}
	return fmt.Errorf("%q is none of debug, info, warn and error", text)
}

func (l *logLevel) Type() string { return "level" }

func (a *app) logsCmd() *cobra.Command {
	level := logLevel{slog.LevelInfo}
	var follow bool
	var since time.Duration
	limit := 200
	cmd := &cobra.Command{
		Use: "logs", Short: "show what the daemon logged, the newest last: one line a call, with tool, client, outcome and milliseconds",
		Long: `Shows the daemon's log, which is kept in files of a limited size and holds no
arguments, results or secrets. What was called and how it ended is in the audit
log too, which can't be changed unnoticed: drawbridge audit.

With --json it is one object with the list of records, or with --follow one record a
line.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := a.dirs()
			if err != nil {
				return err
			}
			f := logfile.Filter{Level: level.Level, Limit: limit}
			if since > 0 {
				f.Since = time.Now().Add(-since)
				if !cmd.Flags().Changed("limit") {
					f.Limit = 0
				}
			}
			return a.logs(cmd.Context(), logfile.Options{Path: dirs.Journal()}, f, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is logged from now on")
	cmd.Flags().Var(&level, "level", "from this level on: debug, info, warn or error")
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, noFiles)) // the flag exists
	cmd.Flags().DurationVar(&since, "since", 0, "only what was logged so long ago and later, such as 1h")
	cmd.Flags().IntVar(&limit, "limit", limit, "the newest so many; 0 is all")
	return cmd
}

func (a *app) logs(ctx context.Context, o logfile.Options, f logfile.Filter, follow bool) error {
	if follow {
		return logfile.Follow(ctx, o, f, func(r logfile.Record) error {
			if a.json {
				_, err := fmt.Fprintf(a.stdout, "%s\n", redact.VisibleJSON(rawRecord(r)))
				return err
			}
			_, err := fmt.Fprintln(a.stdout, logLine(r))
			return err
		})
	}
	list, err := logfile.Read(o, f)
	if err != nil {
		return err
	}
	raw := make([]json.RawMessage, len(list))
	for i, r := range list {
		raw[i] = rawRecord(r)
	}
	a.show(logsResult{raw}, func(w io.Writer) {
		for _, r := range list {
			fmt.Fprintln(w, logLine(r))
		}
	})
	return nil
}

// rawRecord is a record as it was logged. A line that is none of ours, such as a
// dying program's, becomes a message.
func rawRecord(r logfile.Record) json.RawMessage {
	if r.Raw != nil {
		return r.Raw
	}
	data, _ := json.Marshal(map[string]string{"level": r.Level.String(), "msg": r.Msg}) // strings can't fail
	return data
}

// logLine is a record for a person: when, how grave, what, and its attributes.
func logLine(r logfile.Record) string {
	var b strings.Builder
	when := strings.Repeat(" ", len(time.DateTime))
	if !r.Time.IsZero() {
		when = r.Time.Local().Format(time.DateTime)
	}
	fmt.Fprintf(&b, "%s %-5s %s", when, r.Level, redact.Visible(r.Msg))
	for _, at := range r.Attrs {
		value := redact.Visible(at.Value)
		if value == "" || strings.ContainsAny(value, " \"=") {
			value = fmt.Sprintf("%q", value)
		}
		fmt.Fprintf(&b, " %s=%s", redact.Visible(at.Key), value)
	}
	return b.String()
}
