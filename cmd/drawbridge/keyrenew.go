package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func (a *app) keyRenewCmd() *cobra.Command {
	var expires string
	fd := -1
	cmd := &cobra.Command{
		Use: "renew FINGERPRINT", Short: "give a secret key of the keyring another expiry, even after it has expired",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.keyNames,
		RunE: func(_ *cobra.Command, args []string) error { return a.renewKey(args[0], expires, fd) },
	}
	cmd.Flags().StringVar(&expires, "expires", "", "never, a time from now such as 90d, 18m or 2y, or a day such as 2028-01-31")
	passphraseFlag(cmd, &fd)
	_ = cmd.MarkFlagRequired("expires") // the flag exists
	return cmd
}

func (a *app) renewKey(name, expires string, fd int) error {
	now := time.Now()
	life, err := parseLife(expires, now)
	if err != nil {
		return err
	}
	ring, err := a.keyring()
	if err != nil {
		return err
	}
	e, err := ring.Find(name)
	if err != nil {
		return err
	}
	if !e.Secret {
		return abi.Errorf(abi.ErrNotFound, "key renew", "the keyring holds only the certificate of %s", e.Fingerprint)
	}
	file, _, err := ring.Read(e, now)
	if err != nil {
		return err
	}
	if file, err = signing.RenewKey(file, now, life, a.passphrase(fd)); err != nil {
		return err
	}
	if e, err = ring.Replace(file, now); err != nil {
		return err
	}
	_, info, err := ring.Read(e, now)
	if err != nil {
		return err
	}
	r := describeKey(info, e.Path)
	a.show(r, func(w io.Writer) { fmt.Fprintf(w, "renewed %s, %s\n", r.Fingerprint, r.state()) })
	a.note("others have to get its new certificate: drawbridge key export %s", r.Fingerprint)
	return nil
}
