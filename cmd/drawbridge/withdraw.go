package main

import (
	"errors"
	"fmt"
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

func (a *app) registryRevokeCmd() *cobra.Command {
	var c changeFlags
	var keys []string
	var rev registry.Revocation
	cmd := &cobra.Command{
		Use:   "revoke DIR [NAMESPACE/NAME@VERSION...]",
		Short: "stop versions, artifacts or keys for good, wherever they are installed",
		Long: `What is revoked is neither installed nor run any more, on every machine, from its next
look at the registry on. There is no way back. A version is revoked with its release and
its module; a key with everything that it signed or will sign. A key that the registry
itself needs is refused: give its role to another one first, by drawbridge registry rotate.`,
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
			what := strings.Join(append(append(args[1:], keys...), r.Artifacts...), ", ")
			return c.do(cmd.Context(), a, args[0], what+": revoked", func(m *registry.Maintainer, signers registry.Keys) error {
				return m.Revoke(cmd.Context(), signers, r)
			})
		},
	}
	cmd.Flags().StringVar(&rev.Reason, "reason", "", "why, for whoever has it installed")
	cmd.Flags().StringArrayVar(&rev.Artifacts, "artifact", nil, "revoke what has this sha256, a module or a release; may be repeated")
	cmd.Flags().StringArrayVar(&keys, "revoke-key", nil, "revoke the key with this full fingerprint; may be repeated")
	_ = cmd.MarkFlagRequired("reason") // the flag exists
	c.register(a, cmd)
	return cmd
}
