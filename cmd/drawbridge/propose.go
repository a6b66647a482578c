package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// maxModuleFile is the largest module that a host can be configured to take.
const maxModuleFile = 32 << 20

// readBuild reads what connector build and sign made.
func readBuild(dir string) (s registry.Submission, err error) {
	for _, f := range []struct {
		name string
		into *[]byte
		max  int64
	}{{releaseFile, &s.Release, abi.MaxMetadata}, {moduleFile, &s.Wasm, maxModuleFile}} {
		if *f.into, err = readRegular("build (drawbridge connector build makes it)", filepath.Join(dir, f.name), f.max); err != nil {
			return s, err
		}
	}
	s.Signature, err = readRegular("signature", filepath.Join(dir, signatureFile), signing.MaxSignatureFile)
	if errors.Is(err, abi.ErrNotFound) {
		return s, abi.Errorf(abi.ErrUntrusted, "", "the build in %q is not signed yet: it has no %s", dir, signatureFile).
			WithHint("drawbridge connector sign %s --key KEY", dir)
	}
	return s, err
}

func (a *app) connectorProposeCmd() *cobra.Command {
	var dir, base string
	cmd := &cobra.Command{
		Use:   "propose OUT",
		Short: "put a signed build onto a branch of your clone of a registry, for a merge request; needs no key",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readBuild(args[0])
			if err != nil {
				return err
			}
			p, err := registry.Propose(cmd.Context(), dir, base, s, nil)
			if err != nil {
				return err
			}
			a.show(p, func(w io.Writer) {
				row(w, fmt.Sprintf("%s@%s is proposed on the branch %s; push it to your fork and open a merge request:", p.Plugin, p.Version, p.Branch))
				row(w, fmt.Sprintf("  git -C %s push FORK %s", dir, strings.Join(p.Refs, " ")))
			})
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "registry", "", "directory of your clone of the registry's repository")
	cmd.Flags().StringVar(&base, "base", "main", "the registry's branch in that clone, such as origin/main")
	_ = cmd.MarkFlagRequired("registry") // the flag exists
	return cmd
}

// An acceptance is the flags of registry accept.
type acceptance struct {
	changeFlags
	from, pin string
	channel   string
	allow     []string
}

func (a *app) registryAcceptCmd() *cobra.Command {
	var f acceptance
	cmd := &cobra.Command{
		Use:   "accept DIR [REF]",
		Short: "check proposed releases, take them in and sign a new snapshot",
		Long: `REF is a proposal's branch, here or in the fork that --from names. Without it, what
stands on main and isn't listed yet is taken in: what a forge's merge button put there.
Only the releases are taken, nothing else of the branch; first all of it is checked, as
drawbridge registry check does.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.accept(cmd.Context(), &f, args) },
	}
	cmd.Flags().StringVar(&f.from, "from", "", "the fork that has the proposal: a URL or a path")
	cmd.Flags().StringVar(&f.channel, "channel", string(registry.Stable), "who the new versions are for: stable or beta")
	_ = cmd.RegisterFlagCompletionFunc("channel", cobra.FixedCompletions([]string{string(registry.Stable), string(registry.Beta)}, noFiles))
	cmd.Flags().StringVar(&f.pin, "pin", "", "full fingerprint of an owner of the registry")
	cmd.Flags().StringArrayVar(&f.allow, "allow", nil, "a name that looks like another's and that you found to be honest; may be repeated")
	f.register(a, cmd)
	return cmd
}

func (a *app) accept(ctx context.Context, f *acceptance, args []string) error {
	channel, err := parseChannel(f.channel)
	if err != nil {
		return err
	}
	ref := "main"
	if len(args) > 1 {
		ref = args[1]
	}
	check := registry.CheckOptions{Source: args[0], Ref: ref, Allow: f.allow, Channel: channel}
	accepted := registry.AcceptOptions{Channel: channel}
	if f.from != "" {
		if accepted.From, err = registryURL(f.from); err != nil {
			return err
		}
		if check.Base, err = filepath.Abs(args[0]); err != nil {
			return err
		}
		check.Source = accepted.From
	}
	if err := a.prepareCheck(&check, f.pin); err != nil {
		return err
	}
	report, err := a.checkReport(ctx, check)
	if err != nil {
		return err
	}
	if report.Verdict != registry.VerdictAccepted {
		a.show(report, func(w io.Writer) { printVerdict(w, report) })
		return fmt.Errorf("%w: %w", errSaid, abi.ErrUntrusted)
	}
	if report.Snapshot != 0 && len(report.Changes) > 0 {
		return abi.Errorf(abi.ErrInvalidArgs, "", "the proposal was made on snapshot version %d, which %q doesn't have yet", report.Snapshot, args[0]).
			WithHint("git -C %s fetch URL main:main, from where the registry is", platform.ShellQuote(args[0]))
	}
	if len(report.Proposed) == 0 {
		return abi.Errorf(abi.ErrNotFound, "", "nothing to accept: %q has no release that isn't listed already", ref).
			WithHint("drawbridge registry accept %s propose/NAMESPACE/NAME/VERSION, or with --from FORK", args[0])
	}
	if !a.json {
		printCheck(a.stderr, report, "checked, to be taken in") // what is about to be signed, before the passphrase
	}
	accepted.Ref, accepted.On = report.Commit, report.Base // and nothing that came since
	names := make([]string, len(report.Proposed))
	for i, p := range report.Proposed {
		names[i] = p.Plugin + "@" + p.Version
		accepted.Only = append(accepted.Only, p.Path)
	}
	return f.do(ctx, a, args[0], "accepted "+strings.Join(names, ", "), func(m *registry.Maintainer, keys registry.Keys) error {
		_, err := m.Accept(ctx, keys, accepted)
		return err
	})
}

func parseChannel(text string) (registry.Channel, error) {
	if c := registry.Channel(text); c == registry.Stable || c == registry.Beta {
		return c, nil
	}
	return "", usage(fmt.Errorf("channel %q, want stable or beta", text))
}

func (a *app) registryPushCmd() *cobra.Command {
	return &cobra.Command{
		Use: "push DIR URL", Short: "send a registry to where users fetch it: modules first, then the branch that names them", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := registryURL(args[1])
			if err != nil {
				return err
			}
			m, err := maintainer(args[0])
			if err != nil {
				return err
			}
			a.note("pushing to %s", args[1])
			if err := m.Push(cmd.Context(), to); err != nil {
				return err
			}
			a.show(pushedResult{args[0], args[1]}, func(w io.Writer) { row(w, args[0]+" is pushed to "+args[1]) })
			return nil
		},
	}
}
