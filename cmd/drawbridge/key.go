package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
		return a.secret(fmt.Sprintf("passphrase of key %s", f.Grouped()))
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
	cmd.AddCommand(a.keyNewCmd(), a.keyShowCmd(), a.keyVerifyCmd())
	return cmd
}

func (a *app) keyNewCmd() *cobra.Command {
	var userID string
	fd := -1
	cmd := &cobra.Command{
		Use: "new FILE", Short: "make an Ed25519 signing key, encrypted with a passphrase", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
				return abi.Errorf(abi.ErrInvalidArgs, "key new", "%q is already there", args[0])
			}
			armored, err := signing.GenerateKey(userID, time.Now(), a.newPassphrase(fd))
			if err != nil {
				return err
			}
			if err := atomicfile.Write(args[0], armored, 0o600); err != nil {
				return err
			}
			return a.newKey(args[0], armored)
		},
	}
	cmd.Flags().StringVar(&userID, "user-id", "", `whose key it is, such as "Ada <ada@example.org>"`)
	cmd.Flags().IntVar(&fd, "passphrase-fd", -1, "read the passphrase from this file descriptor instead of asking")
	_ = cmd.MarkFlagRequired("user-id") // the flag exists
	return cmd
}

func (a *app) keyShowCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "print a secret key's fingerprint and public part; needs no passphrase", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			armored, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("reading secret key: %w", err)
			}
			return a.showKey(args[0], armored)
		},
	}
}

func (a *app) showKey(path string, armored []byte) error {
	public, fpr, err := signing.PublicKey(armored)
	if err != nil {
		return err
	}
	a.note("fingerprint %s", fpr) // beside the certificate, so that a redirection makes a file of it
	a.show(map[string]string{"file": path, "fingerprint": string(fpr), "public_key": string(public)}, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n", public)
	})
	return nil
}

// newKey writes the certificate of a new key beside it, for others to have.
func (a *app) newKey(path string, armored []byte) error {
	public, fpr, err := signing.PublicKey(armored)
	if err != nil {
		return err
	}
	cert := strings.TrimSuffix(path, filepath.Ext(path)) + ".asc"
	if err := atomicfile.Write(cert, append(public, '\n'), 0o644); err != nil {
		return err
	}
	a.show(map[string]string{"file": path, "certificate": cert, "fingerprint": string(fpr), "public_key": string(public)}, func(w io.Writer) {
		fmt.Fprintf(w, "fingerprint %s\nsecret key   %s\ncertificate  %s\n", fpr, path, cert)
	})
	return nil
}
