package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// roleFlags are the flags that change who has one role.
type roleFlags struct {
	add, remove []string
	threshold   int
}

func (r *roleFlags) register(cmd *cobra.Command, role string) {
	cmd.Flags().StringArrayVar(&r.add, "add-"+role, nil, "give the "+role+" role to a key, as FINGERPRINT=CERTIFICATE; may be repeated")
	cmd.Flags().StringArrayVar(&r.remove, "remove-"+role, nil, "take the "+role+" role from the key with this fingerprint; may be repeated")
	cmd.Flags().IntVar(&r.threshold, role+"-threshold", 0, "how many "+role+" keys have to sign")
}

func (r *roleFlags) edit() (registry.RoleEdit, error) {
	e := registry.RoleEdit{Threshold: r.threshold}
	for _, text := range r.add {
		fpr, file, ok := strings.Cut(text, "=")
		if !ok {
			return e, usage(fmt.Errorf("%q isn't FINGERPRINT=CERTIFICATE", text))
		}
		cert, err := readCertificate(file, fpr)
		if err != nil {
			return e, err
		}
		e.Add = append(e.Add, cert)
	}
	for _, text := range r.remove {
		fpr, err := signing.ParseFingerprint(text)
		if err != nil {
			return e, usage(err)
		}
		e.Remove = append(e.Remove, fpr)
	}
	return e, nil
}

// readCertificate reads the certificate that has a fingerprint.
func readCertificate(path, fingerprint string) (signing.Certificate, error) {
	fpr, err := signing.ParseFingerprint(fingerprint)
	if err != nil {
		return signing.Certificate{}, usage(err)
	}
	file, err := readRegular("certificate", path, signing.MaxCertificate)
	if err != nil {
		return signing.Certificate{}, err
	}
	cert, err := signing.ReadCertificate(file, fpr)
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Hint == "" {
		err = e.WithHint("ask the key's owner which file drawbridge key export wrote, and for its fingerprint: %s is not it", platform.ShellQuote(path))
	}
	return cert, err
}

func (a *app) registryRotateCmd() *cobra.Command {
	var c changeFlags
	var owner, snapshot, revocation roleFlags
	var restart bool
	cmd := &cobra.Command{
		Use: "rotate DIR", Short: "sign a new root: other keys in the roles, or the same for another year", Args: cobra.ExactArgs(1),
		Long: `The owners of the root before and those of the new one have to sign, each by their
threshold; with --partial, one proposes and the others complete it with drawbridge
registry sign. Without a flag the root is renewed for a year.

--restart counts snapshots from 1 again, under other snapshot keys than before. It is the
way back from a thief of the snapshot key who signed a version that can't be topped.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			change := registry.RoleChange{Restart: restart}
			for _, r := range []struct {
				flags *roleFlags
				into  *registry.RoleEdit
			}{{&owner, &change.Owner}, {&snapshot, &change.Snapshot}, {&revocation, &change.Revocation}} {
				edit, err := r.flags.edit()
				if err != nil {
					return err
				}
				*r.into = edit
			}
			return c.do(cmd.Context(), a, args[0], args[0]+" has a new root", func(m *registry.Maintainer, keys registry.Keys) error {
				return m.ChangeRoles(cmd.Context(), keys, change)
			})
		},
	}
	owner.register(cmd, "owner")
	snapshot.register(cmd, "snapshot")
	revocation.register(cmd, "revocation")
	cmd.Flags().BoolVar(&restart, "restart", false, "count snapshots from 1 again")
	c.register(a, cmd)
	return cmd
}

func (a *app) registryPendingCmd() *cobra.Command {
	return &cobra.Command{
		Use: "pending DIR", Short: "show a change that waits for signatures, and whose", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := maintainer(args[0])
			if err != nil {
				return err
			}
			p, err := m.Pending(cmd.Context())
			if errors.Is(err, registry.ErrNothingPending) {
				a.show(pendingResult{Dir: args[0]}, func(w io.Writer) { row(w, "nothing waits for a signature in "+args[0]) })
				return nil
			}
			if err != nil {
				return err
			}
			a.show(pendingResult{args[0], &p}, func(w io.Writer) { printPending(w, args[0], p) })
			return nil
		},
	}
}

func (a *app) registrySignCmd() *cobra.Command {
	var s signerFlags
	cmd := &cobra.Command{
		Use: "sign DIR", Short: "add a signature to the change that waits; the last one puts it into force", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := maintainer(args[0])
			if err != nil {
				return err
			}
			before, err := m.Pending(cmd.Context())
			if err != nil {
				return err
			}
			for _, c := range before.Changes { // what is about to be signed, before the passphrase
				a.note("to be signed: %s: %s %s", c.Kind, c.Subject, c.Detail)
			}
			keys, _, err := s.keys(cmd.Context(), a)
			if err != nil {
				return err
			}
			p, err := m.Sign(cmd.Context(), keys, before.Commit)
			if err != nil {
				return err
			}
			a.show(pendingResult{args[0], &p}, func(w io.Writer) { printPending(w, args[0], p) })
			if p.Complete {
				a.nextPush(args[0])
			}
			return nil
		},
	}
	s.register(a, cmd)
	return cmd
}
