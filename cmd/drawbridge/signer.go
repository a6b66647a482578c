package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// signerFlags are the flags that say which key signs, and where its passphrase
// comes from: a prompt, or an inherited file descriptor. It never comes from an
// argument, the environment or a file. Every command that signs has them.
type signerFlags struct {
	key string
	fd  int
}

// register adds the flags to a command.
func (s *signerFlags) register(_ *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.key, "key", "", "armored OpenPGP secret key to sign with")
	passphraseFlag(cmd, &s.fd)
	_ = cmd.MarkFlagRequired("key") // the flag exists
}

func passphraseFlag(cmd *cobra.Command, fd *int) {
	cmd.Flags().IntVar(fd, "passphrase-fd", -1, "read the passphrase from this file descriptor instead of asking")
}

// open opens the key. ctx bounds what is signed with it, too.
func (s *signerFlags) open(_ context.Context, a *app) (registry.Signer, error) {
	armored, err := os.ReadFile(s.key)
	if err != nil {
		return nil, fmt.Errorf("reading secret key: %w", err)
	}
	return signing.OpenSecretKey(armored, a.passphrase(s.fd))
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

// change opens the registry in dir and makes one change to it, signed with the
// maintainer's key.
func (s *signerFlags) change(ctx context.Context, a *app, dir string, do func(*registry.Maintainer, registry.Keys) error) error {
	keys, _, err := s.keys(ctx, a)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return do(registry.OpenMaintainer(abs, nil), keys)
}
