package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
	"github.com/drawbridge-mcp/drawbridge/signing/keyring"
)

func (a *app) keyImportCmd() *cobra.Command {
	fd := -1
	cmd := &cobra.Command{
		Use: "import FILE", Short: "take a secret key, or certificates, into the keyring",
		Long: `FILE is what drawbridge key export, drawbridge key new, gpg --export or gpg
--export-secret-keys wrote. A secret key stays encrypted with the passphrase that it
has; one that has none is given one, which is asked for.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.importKeys(args[0], fd) },
	}
	passphraseFlag(cmd, &fd)
	return cmd
}

func (a *app) importKeys(path string, fd int) error {
	text, err := readRegular("key file", path, signing.MaxKeyringFile)
	if err != nil {
		return err
	}
	ring, err := a.keyring()
	if err != nil {
		return err
	}
	var entries []keyring.Entry
	if signing.IsSecretKey(text) {
		e, err := a.importSecret(ring, text, fd)
		if err != nil {
			return err
		}
		entries = []keyring.Entry{e}
	} else if entries, err = importCertificates(ring, text); err != nil {
		return err
	}
	list := make([]keyResult, len(entries))
	for i, e := range entries {
		_, info, err := ring.Read(e, time.Now())
		if err != nil {
			return err
		}
		list[i] = describeKey(info, e.Path)
	}
	a.show(keysResult{list}, func(w io.Writer) {
		for _, k := range list {
			fmt.Fprintf(w, "imported %s %s\n", k.kind(), k.Fingerprint)
			if k.Reason != "" {
				fmt.Fprintf(w, "  no signature of it counts now: %s\n", k.Reason)
			}
		}
	})
	return nil
}

// importSecret takes one secret key in, and gives it a passphrase if it has none.
func (a *app) importSecret(ring *keyring.Ring, text []byte, fd int) (keyring.Entry, error) {
	now := time.Now()
	info, err := signing.InspectKey(text, now)
	if err != nil {
		return keyring.Entry{}, err
	}
	if !info.Encrypted {
		a.note("secret key %s has no passphrase; it is kept with a new one", info.Certificate.Fingerprint)
		if text, err = signing.EncryptSecretKey(text, now, a.newPassphrase(fd)); err != nil {
			return keyring.Entry{}, err
		}
		return ring.AddSecret(text, now)
	}
	if text, err = signing.ArmorSecretKey(text); err != nil {
		return keyring.Entry{}, err
	}
	return ring.AddSecret(text, now)
}

func importCertificates(ring *keyring.Ring, text []byte) (list []keyring.Entry, err error) {
	certs, err := signing.ReadRing(text)
	if err != nil {
		return nil, err
	}
	if len(certs.Certificates) == 0 {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "key import", "no certificate in the file that can be read")
	}
	for _, c := range certs.Certificates {
		if len(c.Raw) > signing.MaxCertificate {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "key import", "the certificate of %s has %d bytes, the limit is %d", c.Fingerprint, len(c.Raw), signing.MaxCertificate).
				WithHint("gpg --armor --export-options export-minimal --export %s", c.Fingerprint)
		}
		e, err := ring.AddCertificate(c, time.Now())
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
