package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/signing"
	"github.com/drawbridge-mcp/drawbridge/signing/keyring"
)

func (a *app) keyRenewCmd() *cobra.Command {
	var expires string
	fd := -1
	cmd := &cobra.Command{
		Use: "renew FINGERPRINT|FILE", Short: "give a secret key another expiry, even after it has expired",
		Long: `The key is one of the keyring, or a secret key FILE that drawbridge key new wrote. The
new certificate of a FILE is written beside it, as FILE's name with .asc.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.keyNamesOrFiles,
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
	if !keyring.IsName(name) {
		return a.renewFile(name, now, life, fd)
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

// renewFile renews a secret key that stands in a file, and then the certificate
// beside it. Each is replaced whole: interrupted between them, the same command
// brings both to the same state.
func (a *app) renewFile(path string, now time.Time, life time.Duration, fd int) error {
	file, err := readRegular("key file", path, signing.MaxSecretKey)
	if err != nil {
		return err
	}
	old, err := signing.InspectKey(file, now)
	switch {
	case err != nil:
		return inFile("key file", path, err)
	case !old.Secret:
		return abi.Errorf(abi.ErrInvalidArgs, "key renew", "%q is a certificate; only the secret key can renew it", path)
	}
	cert := certificateBeside(path)
	if err := mayReplace(cert, old.Certificate); err != nil {
		return err
	}
	if file, err = signing.RenewKey(file, now, life, a.passphrase(fd)); err != nil {
		return err
	}
	info, err := signing.InspectKey(file, now)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // the key stays where it is kept
		return err
	}
	if err := atomicfile.Write(path, file, 0o600); err != nil {
		return err
	}
	if err := atomicfile.Write(cert, append(info.Certificate.Armored(), '\n'), 0o644); err != nil {
		return err
	}
	r := describeKey(info, path)
	a.show(r, func(w io.Writer) { fmt.Fprintf(w, "renewed %s, %s\n", r.Fingerprint, r.state()) })
	a.note("others have to get its new certificate: %s", cert)
	return nil
}

// certificateBeside is where the certificate of a secret key file stands.
func certificateBeside(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".asc"
}

// mayReplace refuses to write the renewed certificate of own over what is none of
// its older ones, or carries a revocation that it lacks.
func mayReplace(path string, own signing.Certificate) error {
	text, err := readRegular("certificate", path, signing.MaxKeyringFile)
	if errors.Is(err, abi.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := signing.InspectKey(text, time.Now())
	if err != nil || info.Secret || info.Certificate.Fingerprint != own.Fingerprint {
		return abi.Errorf(abi.ErrInvalidArgs, "key renew", "%q isn't the certificate of %s, and would be overwritten", path, own.Fingerprint).
			WithHint("move it away, and then the same command")
	}
	if !own.KeepsRevocationsOf(info.Certificate) {
		return abi.Errorf(abi.ErrUntrusted, "key renew", "%q carries a revocation that the secret key file lacks", path).
			WithHint("drawbridge key show %s", path)
	}
	return nil
}
