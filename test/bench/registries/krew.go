package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A krew plugin as its index has it: the newest version alone.
const krewManifest = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: %[1]s
spec:
  version: v%[2]s
  homepage: https://%[1]s.example
  shortDescription: Lists the tickets of a system that many people use
  description: |
    Lists tickets with their state and whom they are assigned to.
  platforms:
    - selector:
        matchLabels: {os: linux}
      uri: %[3]s
      sha256: %[4]x
      bin: tool
`

// makeKrewIndex makes an index with as many plugins and versions, one commit a
// version, and the archive of the plugin that is installed.
func (b *bench) makeKrewIndex(ctx context.Context) error {
	work := filepath.Join(b.dir, "krew-work")
	b.krewDir = filepath.Join(b.dir, "krew-index.git")
	if err := os.MkdirAll(filepath.Join(work, "plugins"), 0o700); err != nil {
		return err
	}
	if err := git(ctx, work, "init", "--quiet", "--initial-branch=master"); err != nil {
		return err
	}
	for v := range b.size.Versions {
		for c := range b.size.Connectors {
			if err := b.writeKrewPlugin(work, c, v); err != nil {
				return err
			}
		}
		if err := git(ctx, work, "add", "--all"); err != nil {
			return err
		}
		if err := git(ctx, work, "commit", "--quiet", "--message=versions "+versionName(v)); err != nil {
			return err
		}
	}
	return errors.Join(git(ctx, work, "clone", "--quiet", "--bare", work, b.krewDir), os.RemoveAll(work))
}

func (b *bench) writeKrewPlugin(work string, plugin, version int) error {
	name := fmt.Sprintf("%s-%s.tar.gz", pluginName(plugin), versionName(version))
	sum := sha256.Sum256([]byte(name)) // of an archive that nobody asks for
	if plugin == b.target() && version == b.size.Versions-1 {
		archive, err := archiveOf(module(plugin, version, b.size.Module))
		if err != nil {
			return err
		}
		sum = sha256.Sum256(archive)
		if err := os.WriteFile(filepath.Join(b.dir, name), archive, 0o600); err != nil {
			return err
		}
	}
	text := fmt.Appendf(nil, krewManifest, pluginName(plugin), versionName(version), b.server.URL+"/files/"+name, sum)
	return os.WriteFile(filepath.Join(work, "plugins", pluginName(plugin)+".yaml"), text, 0o600)
}

func archiveOf(tool []byte) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	err := files.WriteHeader(&tar.Header{Name: "tool", Mode: 0o755, Size: int64(len(tool)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = files.Write(tool)
	}
	err = errors.Join(err, files.Close(), zip.Close())
	return out.Bytes(), err
}

// git runs git with no configuration but an author.
func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	_, err := outputOf(cmd)
	return err
}

// krewOnce adds the index and installs the plugin, as a user would.
func (b *bench) krewOnce(ctx context.Context, home string) error {
	if b.krew == "" {
		b.errs[krewAdd], b.errs[krewInstall] = errNotInstalled, errNotInstalled
		return nil
	}
	home += "-krew"
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o700); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		args []string
	}{
		{krewAdd, []string{"index", "add", "bench", b.server.URL + "/krew-index.git"}},
		{krewInstall, []string{"install", "bench/" + pluginName(b.target())}},
	} {
		r, err := b.count(func() (runOnce, error) {
			cmd := exec.CommandContext(ctx, b.krew, step.args...)
			cmd.Env = append(b.server.env(home), "KREW_ROOT="+home, "KREW_NO_UPGRADE_CHECK=1", "KREW_OS=linux")
			cmd.Env[0] = "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH")
			began := time.Now()
			_, err := outputOf(cmd)
			return runOnce{command: true, took: time.Since(began), rss: peak(cmd)}, err
		})
		b.note(step.name, r, err)
	}
	return nil
}

// errNotInstalled is in the place of a program's results.
var errNotInstalled = errors.New("not installed")
