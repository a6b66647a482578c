package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// A helm plugin that runs a program of its own folder.
const helmManifest = `apiVersion: v1
type: cli/v1
name: %s
version: %s
runtime: subprocess
config:
  usage: tool
  shortHelp: Lists tickets
  longHelp: Lists tickets
runtimeConfig:
  platformCommand:
    - command: ${HELM_PLUGIN_DIR}/tool
`

// helmKeys are the files of helm's public and secret keyring.
func (b *bench) helmKeys() (public, secret string) {
	return filepath.Join(b.dir, "helm.pub"), filepath.Join(b.dir, "helm.sec")
}

// helmArchive is the plugin's file, beside which helm looks for its signature.
func (b *bench) helmArchive() string {
	return fmt.Sprintf("%s-%s.tgz", pluginName(b.target()), versionName(b.size.Versions-1))
}

// makeHelmPlugin packs and signs the same bytes as helm's own author would.
func (b *bench) makeHelmPlugin(ctx context.Context) error {
	if b.helm == "" {
		return nil
	}
	if err := b.makeHelmKeys(); err != nil {
		return err
	}
	work := filepath.Join(b.dir, "helm-work", pluginName(b.target()))
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	version := b.size.Versions - 1
	manifest := fmt.Appendf(nil, helmManifest, pluginName(b.target()), versionName(version))
	if err := os.WriteFile(filepath.Join(work, "plugin.yaml"), manifest, 0o600); err != nil {
		return err
	}
	//nolint:gosec // it is a program
	if err := os.WriteFile(filepath.Join(work, "tool"), module(b.target(), version, b.size.Module), 0o700); err != nil {
		return err
	}
	_, secret := b.helmKeys()
	cmd := exec.CommandContext(ctx, b.helm, "plugin", "package", work, "--key", "bench", "--keyring", secret, "--destination", b.dir)
	cmd.Env = b.server.env(filepath.Join(b.dir, "helm-author"))
	_, err := outputOf(cmd)
	return err
}

func (b *bench) makeHelmKeys() error {
	e, err := openpgp.NewEntity("bench", "", "bench@example.org", &packet.Config{RSABits: 3072})
	if err != nil {
		return err
	}
	public, secret := b.helmKeys()
	pub, err := os.Create(public)
	if err != nil {
		return err
	}
	sec, err := os.Create(secret)
	if err != nil {
		return errors.Join(err, pub.Close())
	}
	return errors.Join(e.Serialize(pub), e.SerializePrivate(sec, nil), pub.Close(), sec.Close())
}

// helmOnce installs the plugin by its address, verified, as a user would.
func (b *bench) helmOnce(ctx context.Context, home string) error {
	if b.helm == "" {
		b.errs[helmInstall] = errNotInstalled
		return nil
	}
	public, _ := b.helmKeys()
	r, err := b.count(func() (runOnce, error) {
		cmd := exec.CommandContext(ctx, b.helm, "plugin", "install", b.server.URL+"/files/"+b.helmArchive(), "--keyring", public)
		cmd.Env = b.server.env(home + "-helm")
		began := time.Now()
		_, err := outputOf(cmd)
		return runOnce{command: true, took: time.Since(began), rss: peak(cmd)}, err
	})
	b.note(helmInstall, r, err)
	return nil
}
