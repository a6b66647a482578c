package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// versionRef reads NAMESPACE/NAME@VERSION.
func versionRef(text string) (registry.Ref, error) {
	ref, err := registry.ParseRef(text)
	if err == nil && (ref.Constraint == "" || ref.Registry != "") {
		err = fmt.Errorf("%q isn't NAMESPACE/NAME@VERSION", text)
	}
	return ref, usage(err)
}

func (a *app) registryYankCmd() *cobra.Command {
	var c changeFlags
	var reason string
	var undo bool
	cmd := &cobra.Command{
		Use: "yank DIR NAMESPACE/NAME@VERSION", Short: "keep a version from being chosen; who has it keeps it", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := versionRef(args[1])
			if err != nil {
				return err
			}
			if undo == (reason != "") {
				return usage(errors.New("a yank takes --reason, and --undo takes none"))
			}
			if undo {
				return c.do(cmd.Context(), a, args[0], args[1]+" may be chosen again", func(m *registry.Maintainer, keys registry.Keys) error {
					return m.Unyank(cmd.Context(), keys, ref, ref.Constraint)
				})
			}
			return c.do(cmd.Context(), a, args[0], args[1]+" is yanked", func(m *registry.Maintainer, keys registry.Keys) error {
				return m.Yank(cmd.Context(), keys, ref, ref.Constraint, reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever has it installed")
	cmd.Flags().BoolVar(&undo, "undo", false, "let it be chosen again")
	c.register(a, cmd)
	return cmd
}

// planRevocation says what else stops before it asks for a passphrase.
func (a *app) planRevocation(ctx context.Context, dir string, rev registry.Revocation) (registry.RevocationPlan, error) {
	m, err := maintainer(dir)
	if err != nil {
		return registry.RevocationPlan{}, err
	}
	plan, err := m.PlanRevocation(ctx, rev)
	err = inRegistry(err, dir)
	if len(plan.Stops) > 0 {
		a.note("this stops other versions too: %s", strings.Join(plan.Stops, ", "))
	}
	return plan, err
}

// told is what a revocation did beyond what was named.
func told(p registry.RevocationPlan) string {
	text := ""
	if len(p.Stops) > 0 {
		text += "; stopped with it: " + strings.Join(p.Stops, ", ")
	}
	if len(p.Shared) > 0 {
		text += "; its module is shared with " + strings.Join(p.Shared, ", ") +
			", which still run it: --module revokes it too, and stops them"
	}
	return text
}

func (a *app) registryRevokeCmd() *cobra.Command {
	var c changeFlags
	var keys []string
	var rev registry.Revocation
	cmd := &cobra.Command{
		Use:   "revoke DIR [NAMESPACE/NAME@VERSION...]",
		Short: "stop versions, artifacts or keys for good, wherever they are installed",
		Long: `What is revoked is neither installed nor run any more, on every machine, from its next
look at the registry on. There is no way back. A version is revoked with its release, and
with its module unless other versions use the same one; --module revokes it in any case,
and those versions with it. A key is revoked with everything that it signed or will sign.
A key that the registry itself needs is refused: give its role to another one first, by
drawbridge registry rotate.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := rev
			for _, k := range keys {
				fpr, err := signing.ParseFingerprint(k)
				if err != nil {
					return usage(err)
				}
				r.Keys = append(r.Keys, fpr)
			}
			for _, text := range args[1:] {
				ref, err := versionRef(text)
				if err != nil {
					return err
				}
				r.Versions = append(r.Versions, ref)
			}
			if len(r.Keys)+len(r.Versions)+len(r.Artifacts) == 0 {
				return usage(errors.New("nothing is named to be revoked"))
			}
			plan, err := a.planRevocation(cmd.Context(), args[0], r)
			if err != nil {
				return err
			}
			what := strings.Join(slices.Concat(args[1:], keys, r.Artifacts), ", ")
			return c.do(cmd.Context(), a, args[0], what+": revoked"+told(plan), func(m *registry.Maintainer, signers registry.Keys) error {
				return m.Revoke(cmd.Context(), signers, r)
			})
		},
	}
	cmd.Flags().StringVar(&rev.Reason, "reason", "", "why, for whoever has it installed")
	cmd.Flags().BoolVar(&rev.Modules, "module", false, "revoke the versions' modules even where other versions use them, which stop too")
	cmd.Flags().StringArrayVar(&rev.Artifacts, "artifact", nil, "revoke what has this sha256, a module or a release; may be repeated")
	cmd.Flags().StringArrayVar(&keys, "revoke-key", nil, "revoke the key with this full fingerprint; may be repeated")
	_ = cmd.MarkFlagRequired("reason") // the flag exists
	c.register(a, cmd)
	return cmd
}
