package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

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
			a.show(map[string]string{"registry": id, "dir": dir, "fingerprint": string(fpr)}, func(w io.Writer) {
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
	var k signerFlags
	cmd := &cobra.Command{
		Use:   "add-publisher DIR NAMESPACE CERTIFICATE FINGERPRINT",
		Short: "let the key of an OpenPGP certificate, which has this full fingerprint, publish in a namespace",
		Args:  cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := os.ReadFile(args[2])
			if err != nil {
				return fmt.Errorf("reading certificate: %w", err)
			}
			fpr, err := signing.ParseFingerprint(args[3])
			if err != nil {
				return err
			}
			cert, err := signing.ReadCertificate(file, fpr)
			if err != nil {
				return err
			}
			err = k.change(cmd.Context(), a, args[0], func(m *registry.Maintainer, keys registry.Keys) error {
				return m.AddPublisher(cmd.Context(), keys, args[1], cert)
			})
			if err != nil {
				return err
			}
			a.show(map[string]string{"namespace": args[1], "publisher": string(cert.Fingerprint)}, func(w io.Writer) {
				fmt.Fprintf(w, "%s may publish in %s\n", cert.Fingerprint, args[1])
			})
			return nil
		},
	}
	k.register(a, cmd)
	return cmd
}

func (a *app) registryRefreshCmd() *cobra.Command {
	var k signerFlags
	cmd := &cobra.Command{
		Use: "refresh DIR", Short: "sign a new snapshot, before the last one expires", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := k.change(cmd.Context(), a, args[0], func(m *registry.Maintainer, keys registry.Keys) error {
				return m.Refresh(cmd.Context(), keys)
			})
			if err != nil {
				return err
			}
			a.show(map[string]string{"refreshed": args[0]}, func(w io.Writer) { fmt.Fprintf(w, "%s has a new snapshot\n", args[0]) })
			return nil
		},
	}
	k.register(a, cmd)
	return cmd
}

func (a *app) connectorPublishCmd() *cobra.Command {
	var k signerFlags
	var dir string
	cmd := &cobra.Command{
		Use: "publish OUT", Short: "take a signed build into a registry; needs the registry's key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s registry.Submission
			for name, into := range map[string]*[]byte{releaseFile: &s.Release, signatureFile: &s.Signature, moduleFile: &s.Wasm} {
				data, err := os.ReadFile(filepath.Join(args[0], name))
				if err != nil {
					return fmt.Errorf("reading build (drawbridge connector build and sign make it): %w", err)
				}
				*into = data
			}
			err := k.change(cmd.Context(), a, dir, func(m *registry.Maintainer, keys registry.Keys) error {
				return m.Publish(cmd.Context(), keys, s)
			})
			if err != nil {
				return err
			}
			a.show(map[string]string{"published": args[0], "registry": dir}, func(w io.Writer) { fmt.Fprintf(w, "published %s into %s\n", args[0], dir) })
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "registry", "", "directory of the registry's bare repository")
	_ = cmd.MarkFlagRequired("registry") // the flag exists
	k.register(a, cmd)
	return cmd
}
