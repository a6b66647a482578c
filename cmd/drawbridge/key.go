package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// minPassphrase is how many characters a new passphrase has at least. It guards a
// file that can be copied, so that somebody may try as many as they like.
const minPassphrase = 12

// passphrase asks for a passphrase once.
func (a *app) passphrase(fd int) signing.Passphrase {
	return func(f signing.Fingerprint) ([]byte, error) {
		if fd >= 0 {
			return fdSecret(fd)
		}
		p, err := a.secret(fmt.Sprintf("passphrase of key %s", f.Grouped()))
		if e, ok := errors.AsType[*abi.Error](err); ok && a.terminal() == nil {
			return nil, e.WithHint("the same command with --passphrase-fd N, the file descriptor to read it from, such as 0")
		}
		return p, err
	}
}

// newPassphrase asks for one that is new, twice on a terminal, and refuses one
// that is short.
func (a *app) newPassphrase(fd int) signing.Passphrase {
	return func(f signing.Fingerprint) ([]byte, error) {
		p, err := a.passphrase(fd)(f)
		if err != nil {
			return nil, err
		}
		if n := utf8.RuneCount(p); n < minPassphrase {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "key", "the passphrase has %d characters, and %d are the least", n, minPassphrase).
				WithHint("take four words that have nothing to do with each other")
		}
		if fd >= 0 {
			return p, nil
		}
		again, err := a.secret("the same again")
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(p, again) {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "key", "the two passphrases differ")
		}
		return p, nil
	}
}

func (a *app) keyCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "OpenPGP keys for authors and maintainers"}
	cmd.AddCommand(a.keyNewCmd(), a.keyImportCmd(), a.keyExportCmd(), a.keyListCmd(), a.keyShowCmd(), a.keyRenewCmd(), a.keyRemoveCmd(), a.keyVerifyCmd())
	return cmd
}

func (a *app) keyNewCmd() *cobra.Command {
	var userID, expires string
	fd := -1
	cmd := &cobra.Command{
		Use: "new [FILE]", Short: "make an Ed25519 signing key, encrypted with a passphrase, in the keyring or in FILE",
		Long: `Without FILE the key goes into your keyring, and commands that sign find it there by
its fingerprint. With FILE it is written there, and its certificate beside it.

A key whose registry users pin should not expire: they would install nothing until
it is renewed (drawbridge key renew).`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			now := time.Now()
			life, err := parseLife(expires, now)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
					return abi.Errorf(abi.ErrInvalidArgs, "key new", "%q is already there", args[0])
				}
			}
			armored, err := signing.GenerateKeyFor(userID, now, life, a.newPassphrase(fd))
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.keepKey(armored, now)
			}
			if err := atomicfile.Write(args[0], armored, 0o600); err != nil {
				return err
			}
			return a.newKey(args[0], armored)
		},
	}
	cmd.Flags().StringVar(&userID, "user-id", "", `whose key it is, such as "Ada <ada@example.org>"`)
	cmd.Flags().StringVar(&expires, "expires", "never", "never, a time from now such as 90d, 18m or 2y, or a day such as 2028-01-31")
	passphraseFlag(cmd, &fd)
	_ = cmd.MarkFlagRequired("user-id") // the flag exists
	return cmd
}

// parseLife reads when a key expires and returns how long that is from now; 0 is
// never.
func parseLife(text string, now time.Time) (time.Duration, error) {
	end := time.Time{}
	n, unit := 0, ""
	if text == "never" {
		return 0, nil
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		end = t
	} else if _, err := fmt.Sscanf(text, "%d%s", &n, &unit); err == nil && n > 0 && n < 1e5 {
		switch unit {
		case "d":
			end = now.AddDate(0, 0, n)
		case "m":
			end = now.AddDate(0, n, 0)
		case "y":
			end = now.AddDate(n, 0, 0)
		}
	}
	if !end.After(now) {
		return 0, usage(fmt.Errorf("--expires %q, want never, a time from now such as 90d, 18m or 2y, or a day to come such as %d-01-31", text, now.Year()+2))
	}
	return end.Sub(now).Truncate(time.Second), nil
}

// newKey writes the certificate of a new key beside it, for others to have.
func (a *app) newKey(path string, armored []byte) error {
	public, fpr, err := signing.PublicKey(armored)
	if err != nil {
		return err
	}
	cert := certificateBeside(path)
	if err := atomicfile.Write(cert, append(public, '\n'), 0o644); err != nil {
		return err
	}
	a.backUp(path)
	a.show(newKeyResult{string(fpr), path, cert, string(public)}, func(w io.Writer) {
		fmt.Fprintf(w, "fingerprint %s\nsecret key   %s\ncertificate  %s\n", fpr, path, cert)
	})
	return nil
}

// keepKey puts a new key into the keyring.
func (a *app) keepKey(armored []byte, now time.Time) error {
	ring, err := a.keyring()
	if err != nil {
		return err
	}
	e, err := ring.AddSecret(armored, now)
	if err != nil {
		return err
	}
	public, _, err := signing.PublicKey(armored)
	if err != nil {
		return err
	}
	a.backUp(e.Path)
	a.show(newKeyResult{Fingerprint: string(e.Fingerprint), File: e.Path, PublicKey: string(public)}, func(w io.Writer) {
		fmt.Fprintf(w, "fingerprint %s\nsecret key   %s\n", e.Fingerprint, e.Path)
	})
	a.note("sign with it by --key %s; others get its certificate from drawbridge key export %s", e.Fingerprint, e.Fingerprint)
	return nil
}

// backUp says what a new key's owner has to do.
func (a *app) backUp(path string) {
	a.note("keep a copy of %s and its passphrase where neither gets lost: nothing else signs as this key", path)
}
