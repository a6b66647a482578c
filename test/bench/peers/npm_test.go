package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// programs makes a PATH of nothing but scripts with these bodies.
func programs(t *testing.T, bodies map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range bodies {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestInstallThatCantBe(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bodies map[string]string
		want   string
	}{
		{"no Node", map[string]string{"npm": "exit 0"}, "there is no node on the PATH"},
		{"no npm", map[string]string{"node": "exit 0"}, "there is no npm on the PATH"},
		{"no registry", map[string]string{"node": "exit 0", "npm": "echo 'npm error code ENOTFOUND' >&2; exit 1"}, "npm error code ENOTFOUND"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			programs(t, tt.bodies)
			source := t.TempDir()
			if _, err := installPeers(t.Context(), source); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("installPeers = %v, want %q", err, tt.want)
			}
			if done, _ := filepath.Glob(filepath.Join(source, ".cache/npm/*/complete")); len(done) > 0 {
				t.Error("the failed install counts as complete")
			}
		})
	}
}

func TestInstallOnce(t *testing.T) {
	programs(t, map[string]string{"node": "exit 0", "npm": `echo "$PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD $PUPPETEER_SKIP_DOWNLOAD $*" >> ran`})
	source := t.TempDir()
	for range 2 {
		if _, err := installPeers(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	ran, _ := filepath.Glob(filepath.Join(source, ".cache/npm/*/ran"))
	if len(ran) != 1 {
		t.Fatalf("npm ran in %q", ran)
	}
	text, err := os.ReadFile(ran[0])
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Count(s, "\n") != 1 || !strings.HasPrefix(s, "1 1 ci --ignore-scripts ") {
		t.Errorf("npm ran as %q", s)
	}
}

// The lock file pins every package by hash, and the versions are exact.
func TestPinned(t *testing.T) {
	if bytes.Contains(packageJSON, []byte("^")) || bytes.Contains(packageJSON, []byte("latest")) {
		t.Error("package.json has a range of versions")
	}
	versions, hashes := bytes.Count(packageLock, []byte(`"node_modules/`)), bytes.Count(packageLock, []byte(`"integrity": "sha512-`))
	if versions == 0 || versions != hashes {
		t.Errorf("package-lock.json has %d packages and %d hashes", versions, hashes)
	}
}

// A terminal of a test: what a program shows, and what was typed.
type terminal struct {
	io.Reader
	typed bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) { return t.typed.Write(p) }

func TestRetype(t *testing.T) {
	tty := &terminal{Reader: strings.NewReader("Trust it?\ntype K7Q2 (anything else refuses): ")}
	if _, err := retype(tty); err != nil || tty.typed.String() != "K7Q2\n" {
		t.Errorf("retype = %v, typed %q", err, tty.typed.String())
	}
	tty = &terminal{Reader: strings.NewReader("already there\n")}
	if seen, err := retype(tty); err == nil || tty.typed.Len() > 0 || !strings.Contains(seen, "already") {
		t.Errorf("retype without a question = %v, typed %q", err, tty.typed.String())
	}
}
