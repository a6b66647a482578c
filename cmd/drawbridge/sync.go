package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func (a *app) syncCmd() *cobra.Command {
	var signature, from string
	var p control.SyncParams
	cmd := &cobra.Command{
		Use:   "sync FILE",
		Short: "install exactly what a team's signed lock file says, without a question",
		Long: `FILE is a lock file that drawbridge lock export wrote, with its signature beside it
as FILE.asc. It counts if the key that was pinned for its name has signed it
(drawbridge sync trust), and if it isn't older than the newest one that was
followed here. Registries that it names are added, versions go up or down to what
it says, and settings become exactly what it says: what was set here beside it goes.
All is fetched and checked first and then changes at once. A plugin that can't be
brought to what the file says stays as it was. Where all is so already, a registry that
doesn't answer is a warning, until its last snapshot expires. What the file does not name stays
too, unless --prune is given.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if signature == "" {
				signature = args[0] + ".asc"
			}
			lock, sig, err := readTeamLock(args[0], signature)
			if err != nil {
				return err
			}
			p.Lock, p.Signature = string(lock), string(sig)
			if from != "" {
				if p.From, err = filepath.Abs(from); err != nil {
					return err
				}
			}
			var report host.SyncReport
			if err := a.call(cmd.Context(), "teams.sync", p, &report); err != nil {
				return err
			}
			a.show(report, func(w io.Writer) { printSync(w, report) })
			return a.syncProblems(report)
		},
	}
	cmd.Flags().StringVar(&signature, "signature", "", "the detached signature (default FILE.asc)")
	cmd.Flags().StringVar(&from, "from", "", "fetch from this mirror, or folder of mirrors named ID.git, in place of the network")
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "verify the file and say what would be done")
	cmd.Flags().BoolVar(&p.Prune, "prune", false, "remove plugins that the file does not name, with their settings")
	cmd.AddCommand(a.syncTrustCmd(), a.syncListCmd(), a.syncDistrustCmd())
	return cmd
}

// readTeamLock reads a lock file and its signature. A signature that is missing is
// none, which the daemon refuses.
func readTeamLock(path, signature string) (lock, sig []byte, err error) {
	if lock, err = readRegular("lock file", path, abi.MaxMetadata); err != nil {
		return nil, nil, err
	}
	if sig, err = readRegular("signature", signature, abi.MaxMetadata); err != nil && !errors.Is(err, abi.ErrNotFound) {
		return nil, nil, err
	}
	return lock, sig, nil
}

func printSync(w io.Writer, r host.SyncReport) {
	whole := !slices.ContainsFunc(r.Steps, func(s host.SyncStep) bool { return s.Problem != nil })
	done := "is followed"
	switch {
	case r.DryRun && whole:
		done = "would be followed"
	case r.DryRun:
		done = "would not be fully followed"
	case !whole:
		done = "is not fully followed"
	}
	fmt.Fprintf(w, "lock file %s version %d, signed by %s, %s\n", r.Name, r.Version, r.Signer, done)
	row(w, "SUBJECT", "ACTION", "VERSION", "BEFORE", "PROBLEM")
	for _, s := range r.Steps {
		action, problem := s.Action, ""
		if s.Problem != nil {
			action = "failed"
			problem = string(s.Problem.Code) + ": " + s.Problem.Why
		}
		row(w, s.Subject, action, s.Version, s.From, problem)
	}
	for _, s := range r.Steps {
		for _, c := range s.Settings {
			fmt.Fprintf(w, "%s: setting %s\n", visible(s.Subject), visible(wordSetting(c)))
		}
	}
}

// wordSetting says how a setting changes.
func wordSetting(c host.SettingChange) string {
	switch {
	case c.Action == host.SettingRemoved && c.Hidden:
		return c.Name + " is set no longer"
	case c.Action == host.SettingRemoved:
		return fmt.Sprintf("%s is set no longer, and was %q", c.Name, c.Before)
	case c.Hidden:
		return c.Name + " is another"
	case c.Action == host.SettingSet:
		return fmt.Sprintf("%s is %q", c.Name, c.After)
	}
	return fmt.Sprintf("%s is %q, and was %q", c.Name, c.After, c.Before)
}

// syncProblems ends the command by the first step that failed, which the report has
// told already.
func (a *app) syncProblems(r host.SyncReport) error {
	for _, w := range r.Warnings {
		a.note("warning: %s", visible(w))
	}
	extra := 0
	var first *host.Refusal
	for _, s := range r.Steps {
		if s.Action == host.SyncExtra {
			extra++
		}
		if s.Problem == nil {
			continue
		}
		if first == nil {
			first = s.Problem
		}
		if s.Problem.Hint != "" {
			a.note("%s: %s", s.Subject, s.Problem.Hint)
		}
	}
	if extra > 0 {
		a.note("%d installed that the lock file does not name: drawbridge sync FILE --prune removes what it does not name", extra)
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errSaid, &abi.Error{Code: first.Code, Reason: first.Reason, Msg: first.Why})
}

func (a *app) syncTrustCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "trust NAME CERTIFICATE FINGERPRINT",
		Short: "follow the lock files named NAME that the key of this certificate signs",
		Long: `CERTIFICATE is the signer's file (drawbridge key new writes one), FINGERPRINT is all
40 or 64 hex digits of its key, told to you by somebody you trust. From then on
drawbridge sync installs what such a file says without asking, so this needs a
person at a terminal that no MCP client started.`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !registry.ValidTeamName(args[0]) {
				return usage(fmt.Errorf("name %q: want lower-case letters, digits, dots and dashes", args[0]))
			}
			if _, err := signing.ParseFingerprint(args[2]); err != nil {
				return usage(err)
			}
			cert, err := readRegular("certificate", args[1], abi.MaxMetadata)
			if err != nil {
				return err
			}
			var res host.TeamInfo
			err = a.call(cmd.Context(), "teams.trust", control.TeamParams{Name: args[0], Certificate: string(cert), Fingerprint: args[2]}, &res)
			if err != nil {
				return err
			}
			a.show(res, func(w io.Writer) {
				fmt.Fprintf(w, "lock files named %s are followed if %s signed them\n", res.Name, res.Signer)
			})
			return nil
		},
	}
}

func (a *app) syncListCmd() *cobra.Command {
	var removed bool
	cmd := &cobra.Command{
		Use: "list", Short: "list whose lock files are followed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if removed {
				return a.listFormerTeams(cmd.Context())
			}
			var list []host.TeamInfo
			if err := a.call(cmd.Context(), "teams.list", struct{}{}, &list); err != nil {
				return err
			}
			a.show(teamsResult{list}, func(w io.Writer) {
				teams := table{head: []any{"NAME", "VERSION", "SIGNER", "TRUSTED"}}
				for _, t := range list {
					teams.row(t.Name, t.Version, t.Signer, t.Trusted)
				}
				teams.write(w)
			})
			if len(list) == 0 {
				a.note("no lock file is followed yet: drawbridge sync trust NAME CERTIFICATE FINGERPRINT")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&removed, "removed", false, "list those that were distrusted, and what is remembered of them")
	return cmd
}
