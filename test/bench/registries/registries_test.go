package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary play the programs that this one starts.
func TestMain(m *testing.M) {
	play()
	os.Exit(m.Run())
}

// Installing one connector moves little more than its own module, from any Git
// server, however many others the registry has.
func TestInstallMovesItsOwnModule(t *testing.T) {
	o := options{size: size{Connectors: 12, Versions: 3, Module: 100_000}, rounds: 1}
	r, err := measure(t.Context(), o, t.TempDir(), func(string) {})
	if errors.Is(err, errNoBackend) {
		t.Skip("not run: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	install, whole := r.Results[drawbridgeInstall], r.Results[cloneMirror]
	if beside := install.Bytes - float64(o.size.Module); beside <= 0 || beside > 20_000 {
		t.Errorf("an install moves %.0f bytes, its module has %d", install.Bytes, o.size.Module)
	}
	if add := r.Results[drawbridgeAdd]; add.Bytes > float64(o.size.Module) {
		t.Errorf("adding the registry moves %.0f bytes: modules come along", add.Bytes)
	}
	if all := float64(o.size.Connectors * o.size.Versions * o.size.Module); whole.Bytes < all {
		t.Errorf("the mirror moves %.0f bytes, the modules have %.0f", whole.Bytes, all)
	}
	for name, res := range r.Results {
		switch {
		case strings.HasPrefix(name, "krew"), strings.HasPrefix(name, "helm"):
			if res.Error != errNotInstalled.Error() {
				t.Errorf("%s: %+v", name, res)
			}
		case res.Error != "" || res.Seconds <= 0:
			t.Errorf("%s: %+v", name, res)
		}
	}
	if table := r.table(); !strings.Contains(table, "not installed") || strings.Contains(table, "NaN") {
		t.Errorf("the table:\n%s", table)
	}
}

// The files of the README's markers are there.
func TestReadmeHasTheTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil || !strings.Contains(string(text), "<!-- registries: begin -->") {
		t.Errorf("README.md has no markers: %v", err)
	}
}

func TestModule(t *testing.T) {
	a, b := module(1, 2, 1000), module(1, 3, 1000)
	if string(a) == string(b) || string(a) != string(module(1, 2, 1000)) || !strings.HasPrefix(string(a), "\x00asm\x01\x00\x00\x00\x00") {
		t.Errorf("%x, %x", a[:20], b[:20])
	}
}
