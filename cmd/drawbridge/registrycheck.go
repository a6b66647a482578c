package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func (a *app) registryCheckCmd() *cobra.Command {
	var opts registry.CheckOptions
	var pin, channel string
	cmd := &cobra.Command{
		Use:   "check [DIR or URL]",
		Short: "check a proposed state of a registry, as a forge does before it lets a change in",
		Long: `Exit code 0 means accepted, 5 refused, with every reason; --json prints them as one
document. DIR is a Git repository, bare or with a work tree; its HEAD is compared with
its branch main (or origin/main). Checked are everything that clients check, and: Git
objects and names that are hostile, versions that only grow, nothing published that is
changed or gone, names that look like others, what a new version may do more, and that
modules are there, are what was signed and would be admitted. One that was made on an
older state is checked as what a merge makes of it. Where both are one, every signature
and module is verified again.

Without --pin, the base's first root is taken at its word.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o := opts
			if o.Channel, err = parseChannel(channel); err != nil {
				return err
			}
			o.Source = "."
			if len(args) > 0 {
				o.Source = args[0]
			}
			if err := a.prepareCheck(&o, pin); err != nil {
				return err
			}
			return a.check(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&opts.Ref, "ref", "", "the proposed branch, tag or commit (default HEAD)")
	cmd.Flags().StringVar(&opts.Base, "base", "", "what is in force: a branch there, or another repository's URL or path (default main)")
	cmd.Flags().StringVar(&channel, "channel", string(registry.Stable), "who proposed versions are for: stable or beta; says with which version they are compared")
	_ = cmd.RegisterFlagCompletionFunc("channel", cobra.FixedCompletions([]string{string(registry.Stable), string(registry.Beta)}, noFiles))
	cmd.Flags().StringVar(&pin, "pin", "", "full fingerprint of an owner of the registry")
	cmd.Flags().StringArrayVar(&opts.Modules, "modules", nil, "another repository that may hold proposed modules, such as the fork; may be repeated")
	cmd.Flags().StringArrayVar(&opts.Allow, "allow", nil, "a name that looks like another's and that somebody found to be honest; may be repeated")
	return cmd
}

// prepareCheck reads what names repositories and keys.
func (a *app) prepareCheck(o *registry.CheckOptions, pin string) (err error) {
	if pin != "" {
		if o.Pinned, err = signing.ParseFingerprint(pin); err != nil {
			return usage(err)
		}
	}
	if o.Source, err = registryURL(o.Source); err != nil {
		return err
	}
	if filepath.IsAbs(o.Base) {
		o.Base = filepath.Clean(o.Base)
	}
	modules := make([]string, len(o.Modules))
	for i, m := range o.Modules {
		if modules[i], err = registryURL(m); err != nil {
			return err
		}
	}
	o.Modules = modules
	o.Progress = func(text string) { a.note("%s", text) }
	return nil
}

// check runs a check, with modules looked at as an install does.
func (a *app) check(ctx context.Context, o registry.CheckOptions) error {
	r, err := a.checkReport(ctx, o)
	if err != nil {
		return err
	}
	a.show(r, func(w io.Writer) { printVerdict(w, r) })
	if r.Verdict != registry.VerdictAccepted {
		return errors.Join(errSaid, abi.ErrUntrusted)
	}
	return nil
}

func (a *app) checkReport(ctx context.Context, o registry.CheckOptions) (r *registry.CheckReport, err error) {
	tmp, err := os.MkdirTemp("", "drawbridge-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	var box *sandbox.Sandbox
	o.Admit = func(ctx context.Context, rel abi.Release, wasm []byte) error {
		if rel.Category != abi.CategoryConnector {
			return nil // none is ever run
		}
		if box == nil {
			if box, err = sandbox.Open(ctx, sandbox.Config{Dir: filepath.Join(tmp, "compiled"), Command: a.worker}); err != nil {
				return err
			}
		}
		compiled, err := box.Compile(ctx, wasm)
		if err != nil {
			return err
		}
		return host.CheckModule(rel, compiled)
	}
	r, err = registry.Check(ctx, o)
	err = inRegistry(err, o.Source)
	if box != nil {
		err = errors.Join(err, box.Close())
	}
	return r, err
}

func printVerdict(w io.Writer, r *registry.CheckReport) { printCheck(w, r, r.Verdict+"ed") }

// printCheck prints a report under a heading that says what it is for.
func printCheck(w io.Writer, r *registry.CheckReport, heading string) {
	row(w, fmt.Sprintf("%s: commit %s of registry %s, against %s", heading, short(r.Commit), r.Registry, short(r.Base)))
	for _, p := range r.Problems {
		row(w, fmt.Sprintf("  REFUSED %s: %s: %s", p.Path, p.Code, p.Message))
	}
	for _, p := range r.Notices {
		row(w, fmt.Sprintf("  notice %s: %s", p.Path, p.Message))
	}
	printChanges(w, "  ", r.Changes)
	for _, p := range r.Proposed {
		row(w, fmt.Sprintf("  proposed: %s@%s, signed by %s", p.Plugin, p.Version, p.Signer))
	}
	for _, g := range r.Growth {
		from := "the first version of its channel"
		if g.From != "" {
			from = "from " + g.From
		}
		row(w, fmt.Sprintf("  %s@%s, %s:", g.Plugin, g.To, from))
		for _, l := range g.Added {
			row(w, "    + "+l)
		}
		for _, l := range g.Removed {
			row(w, "    - "+l)
		}
		for _, l := range g.Told {
			row(w, "    ~ "+l)
		}
	}
}

func short(commit string) string { return commit[:min(12, len(commit))] }

func (a *app) registryLogCmd() *cobra.Command {
	var opts registry.LogOptions
	var pin string
	cmd := &cobra.Command{
		Use: "log DIR or URL", Short: "show what each snapshot of a registry changed, and whether they follow each other", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o := opts
			if pin != "" {
				if o.Pinned, err = signing.ParseFingerprint(pin); err != nil {
					return usage(err)
				}
			}
			if o.Source, err = registryURL(args[0]); err != nil {
				return err
			}
			a.note("fetching the history")
			h, err := registry.Log(cmd.Context(), o)
			if err != nil {
				return err
			}
			a.show(h, func(w io.Writer) { printHistory(w, h) })
			if h.Broken() {
				return errors.Join(errSaid, abi.ErrUntrusted)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&opts.Ref, "ref", "", "another branch, tag or commit than main")
	cmd.Flags().StringVar(&pin, "pin", "", "full fingerprint of an owner of the registry")
	cmd.Flags().IntVar(&opts.Limit, "limit", 20, "how many snapshots, from the newest on; 0 shows all")
	return cmd
}

func printHistory(w io.Writer, h *registry.History) {
	for _, e := range h.Entries {
		signers := make([]any, 0, len(e.Signers)+3)
		signers = append(signers, e.Version, moment(e.Issued), short(e.Commit))
		for _, s := range e.Signers {
			signers = append(signers, s)
		}
		row(w, signers...)
		if e.Problem != "" {
			row(w, "  BROKEN "+e.Problem)
		}
		if len(e.Changes) == 0 && e.Problem == "" {
			row(w, "  refreshed")
		}
		printChanges(w, "  ", e.Changes)
	}
	if h.Whole {
		fmt.Fprintln(w, "that is the whole history")
	}
}
