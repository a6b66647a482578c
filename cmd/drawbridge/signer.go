package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
	"github.com/drawbridge-mcp/drawbridge/signing/gpg"
	"github.com/drawbridge-mcp/drawbridge/signing/keyring"
)

// signerFlags are the flags that say which key signs, and where its passphrase
// comes from: a prompt, or an inherited file descriptor. It never comes from an
// argument, the environment or a file. Every command that signs has them.
type signerFlags struct {
	key, gpg string
	fd       int
}

// register adds the flags to a command that signs.
func (s *signerFlags) register(a *app, cmd *cobra.Command) {
	s.registerOptional(a, cmd)
	cmd.MarkFlagsOneRequired("key", "gpg")
}

// given reports whether a key was named.
func (s *signerFlags) given() bool { return s.key != "" || s.gpg != "" }

// registerOptional adds the flags to a command that signs only if they are given.
func (s *signerFlags) registerOptional(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.key, "key", "", "sign with this key: a fingerprint of your keyring, or its last 16 digits, or a secret key file")
	cmd.Flags().StringVar(&s.gpg, "gpg", "", "sign through gpg, its agent or your smart card, with the key that has this fingerprint")
	passphraseFlag(cmd, &s.fd)
	cmd.MarkFlagsMutuallyExclusive("key", "gpg")
	cmd.MarkFlagsMutuallyExclusive("passphrase-fd", "gpg") // gpg's agent asks for itself
	_ = cmd.RegisterFlagCompletionFunc("key", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return a.keysWhere(func(e keyring.Entry) bool { return e.Secret }), cobra.ShellCompDirectiveDefault
	})
}

func passphraseFlag(cmd *cobra.Command, fd *int) {
	cmd.Flags().IntVar(fd, "passphrase-fd", -1, "read the passphrase from this file descriptor instead of asking")
}

// open opens the key. ctx bounds what is signed with it, too.
func (s *signerFlags) open(ctx context.Context, a *app) (registry.Signer, error) {
	if s.gpg != "" {
		return s.openGPG(ctx, a)
	}
	file, err := s.secretKey(a)
	if err != nil {
		return nil, err
	}
	return signing.OpenSecretKey(file, a.passphrase(s.fd))
}

// secretKey reads the file that --key names.
func (s *signerFlags) secretKey(a *app) ([]byte, error) {
	if !keyring.IsName(s.key) {
		file, err := readRegular("secret key", s.key, signing.MaxSecretKey)
		if e, ok := errors.AsType[*abi.Error](err); ok && errors.Is(err, abi.ErrNotFound) {
			return nil, e.WithHint("drawbridge key list, for the fingerprints that --key takes")
		}
		return file, err
	}
	ring, err := a.keyring()
	if err != nil {
		return nil, err
	}
	e, err := ring.Find(s.key)
	if err != nil {
		return nil, err
	}
	if !e.Secret {
		return nil, abi.Errorf(abi.ErrNotFound, "", "the keyring holds only the certificate of %s", e.Fingerprint).
			WithHint("drawbridge key import FILE, with its secret key; or --gpg %s", e.Fingerprint)
	}
	file, _, err := ring.Read(e, time.Now())
	return file, err
}

func (s *signerFlags) openGPG(ctx context.Context, a *app) (registry.Signer, error) {
	fpr, err := signing.ParseFingerprint(s.gpg)
	if err != nil {
		return nil, usage(err)
	}
	program, err := gpg.Find(a.getenv, a.terminalName())
	if err != nil {
		return nil, err
	}
	return program.Key(ctx, fpr)
}

// terminalName is the device of the terminal that a person sits at, or "" where
// the system doesn't say.
func (a *app) terminalName() string {
	t := a.terminal()
	if t == nil {
		return ""
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", t.Fd()))
	if err != nil {
		return ""
	}
	return name
}

// keys opens the maintainer's key, which holds all roles. A registry that keeps
// them apart is made with package registry.
func (s *signerFlags) keys(ctx context.Context, a *app) (registry.Keys, signing.Fingerprint, error) {
	key, err := s.open(ctx, a)
	if err != nil {
		return registry.Keys{}, "", err
	}
	all := []registry.Signer{key}
	return registry.Keys{Owners: all, Snapshot: all, Revocation: all}, key.Certificate().Fingerprint, nil
}
