package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func (a *app) registryInitCmd() *cobra.Command {
	var k signerFlags
	var id string
	cmd := &cobra.Command{
		Use: "init DIR", Short: "make a registry: a bare Git repository owned by a key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, fpr, err := k.keys(cmd.Context(), a)
			if err != nil {
				return err
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if _, err := registry.Init(cmd.Context(), dir, id, keys, nil); err != nil {
				return err
			}
			a.show(registryMadeResult{id, dir, string(fpr)}, func(w io.Writer) {
				fmt.Fprintf(w, "registry %s made in %s\nusers pin it with\n  drawbridge registry add %s %s\n", id, dir, dir, fpr)
			})
			return nil
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the registry's id: lower-case letters, digits and dashes")
	_ = cmd.MarkFlagRequired("id") // the flag exists
	k.register(a, cmd)
	return cmd
}

func (a *app) registryPublisherCmd() *cobra.Command {
	var c changeFlags
	cmd := &cobra.Command{
		Use:   "add-publisher DIR NAMESPACE CERTIFICATE FINGERPRINT",
		Short: "let the key of an OpenPGP certificate, which has this full fingerprint, publish in a namespace",
		Args:  cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			cert, err := readCertificate(args[2], args[3])
			if err != nil {
				return err
			}
			done := fmt.Sprintf("%s may publish in %s", cert.Fingerprint, args[1])
			return c.do(cmd.Context(), a, args[0], done, func(m *registry.Maintainer, keys registry.Keys) error {
				return m.AddPublisher(cmd.Context(), keys, args[1], cert)
			})
		},
	}
	c.register(a, cmd)
	return cmd
}

func (a *app) registryEndPublisherCmd() *cobra.Command {
	var c changeFlags
	cmd := &cobra.Command{
		Use:   "remove-publisher DIR NAMESPACE FINGERPRINT",
		Short: "end a key's right to publish; what it published stays, see revoke for a stolen key",
		Args:  cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			fpr, err := signing.ParseFingerprint(args[2])
			if err != nil {
				return usage(err)
			}
			done := fmt.Sprintf("%s publishes nothing more in %s", fpr, args[1])
			return c.do(cmd.Context(), a, args[0], done, func(m *registry.Maintainer, keys registry.Keys) error {
				return m.RemovePublisher(cmd.Context(), keys, args[1], fpr)
			})
		},
	}
	c.register(a, cmd)
	return cmd
}

func (a *app) registryRefreshCmd() *cobra.Command {
	var s signerFlags
	var age time.Duration
	cmd := &cobra.Command{
		Use: "refresh DIR", Short: "sign a new snapshot, before the last one expires", Args: cobra.ExactArgs(1),
		Long: `A snapshot is good for 14 days. For a timer: --if-older-than 72h signs only what is older
than that, and asks for no passphrase otherwise; the exit code is 0 in both cases.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := maintainer(args[0])
			if err != nil {
				return err
			}
			last, _, err := m.Latest(cmd.Context())
			if err != nil {
				return err
			}
			due := time.Since(last.Issued.Time) >= age
			if due {
				keys, _, err := s.keys(cmd.Context(), a)
				if err != nil {
					return err
				}
				if err := m.Refresh(cmd.Context(), keys); err != nil {
					return err
				}
			}
			return a.showRefreshed(cmd.Context(), m, args[0], due)
		},
	}
	cmd.Flags().DurationVar(&age, "if-older-than", 0, "do nothing if the snapshot is younger than this, such as 72h")
	s.register(a, cmd)
	return cmd
}

// rootNotice is how long before a root's end a refresh says so.
const rootNotice = 60 * 24 * time.Hour

func (a *app) showRefreshed(ctx context.Context, m *registry.Maintainer, dir string, done bool) error {
	now, root, err := m.Latest(ctx)
	if err != nil {
		return err
	}
	a.show(refreshed{dir, done, now.Version, now.Expires.Time, root.Expires.Time}, func(w io.Writer) {
		state := "has a new snapshot"
		if !done {
			state = "needs no new snapshot yet"
		}
		row(w, fmt.Sprintf("%s %s: version %d, good until %s", dir, state, now.Version, moment(now.Expires.Time)))
	})
	if done {
		a.nextPush(dir)
	}
	if time.Until(root.Expires.Time) < rootNotice {
		a.note("the root expires at %s, and then nothing is installed any more: drawbridge registry rotate %s", root.Expires.Local().Format("2006-01-02"), dir)
	}
	return nil
}

func (a *app) connectorPublishCmd() *cobra.Command {
	var c changeFlags
	var dir, channel string
	cmd := &cobra.Command{
		Use: "publish OUT", Short: "take a signed build into a registry; needs the registry's key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readBuild(args[0])
			if err != nil {
				return err
			}
			if s.Channel, err = parseChannel(channel); err != nil {
				return err
			}
			rel, err := release.ParseRelease(s.Release)
			if err != nil {
				return err
			}
			done := fmt.Sprintf("published %s/%s@%s (%s) into %s", rel.Namespace, rel.Name, rel.Version, s.Channel, dir)
			return c.do(cmd.Context(), a, dir, done, func(m *registry.Maintainer, keys registry.Keys) error {
				return m.Publish(cmd.Context(), keys, s)
			})
		},
	}
	cmd.Flags().StringVar(&dir, "registry", "", "directory of the registry's bare repository")
	cmd.Flags().StringVar(&channel, "channel", string(registry.Stable), "who it is for: stable or beta")
	_ = cmd.RegisterFlagCompletionFunc("channel", cobra.FixedCompletions([]string{string(registry.Stable), string(registry.Beta)}, noFiles))
	_ = cmd.MarkFlagRequired("registry") // the flag exists
	c.register(a, cmd)
	return cmd
}
