package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// carry makes what the command carries out of a registry.
func (h *home) carry(registry, fingerprint string) {
	h.t.Helper()
	dir := filepath.Join(h.work, "carried", "builtin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	git := func(args ...string) []byte {
		out, err := exec.CommandContext(h.t.Context(), "git", append([]string{"-C", filepath.Join(h.work, registry)}, args...)...).Output()
		if err != nil {
			h.t.Fatal(err)
		}
		return out
	}
	git("bundle", "create", "--quiet", filepath.Join(dir, "registry.bundle"), "--all")
	note := fmt.Sprintf(`{"registry":"team","fingerprint":%q,"snapshot_sha256":"%x"}`, fingerprint, sha256.Sum256(git("cat-file", "blob", "main:snapshot.json")))
	if err := os.WriteFile(filepath.Join(dir, "registry.json"), []byte(note), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// On a new home there is something to install without any registry, and installing
// it asks like any other.
func TestCarriedConnectors(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.carry("reg.git", h.fingerprint("key"))
	if out := h.run("search"); !strings.Contains(out, "acme/sample") {
		t.Errorf("search:\n%s", out)
	}
	if out := h.run("registry", "list"); !strings.Contains(out, "carried by this program") {
		t.Errorf("registries:\n%s", out)
	}
	if _, msg, code := h.try("install", "acme/sample", "--set", "base_url=http://sample.localhost:1"); code != 3 || !strings.Contains(msg, "needs a person at a terminal") {
		t.Errorf("without a person: exit code %d\n%s", code, msg)
	}
	h.want(0, agree(), "install", "acme/sample", "--set", "base_url=http://sample.localhost:1")
	if out := h.run("list"); !strings.Contains(out, "ready") {
		t.Errorf("installed:\n%s", out)
	}
}

// What the program carries stays away once it was removed, and comes back by the
// command that the removal named.
func TestCarriedIsRemoved(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.carry("reg.git", h.fingerprint("key"))
	_, msg, code := h.try("registry", "remove", "team")
	_, back, found := strings.Cut(strings.TrimSpace(msg), "it comes back with: drawbridge ")
	if code != 0 || !found {
		t.Fatalf("exit code %d\n%s", code, msg)
	}
	h.run("stop")
	if out := h.run("registry", "list", "--json"); !isEmpty(out) {
		t.Errorf("registries after a start:\n%s", out)
	}
	h.want(0, agree(), strings.Fields(back)...)
	if out := h.run("registry", "list"); !strings.Contains(out, "carried by this program") {
		t.Errorf("registries:\n%s", out)
	}
}

// A program that carries what its note doesn't name goes on without.
func TestCarriedByAnotherKey(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.carry("reg.git", strings.Repeat("0", 40))
	if out := h.run("registry", "list", "--json"); !isEmpty(out) {
		t.Errorf("registries:\n%s", out)
	}
	if log := h.run("logs"); !strings.Contains(log, "the connectors that this program carries") || !strings.Contains(log, "signed by the pinned key") {
		t.Errorf("the log:\n%s", log)
	}
}

// A build without a snapshot works and says so.
func TestNothingCarried(t *testing.T) {
	h := newHome(t)
	if _, msg, code := h.try("registry", "list"); code != 0 || !strings.Contains(msg, "carries no connectors") {
		t.Errorf("exit code %d\n%s", code, msg)
	}
}

func TestCarriedNote(t *testing.T) {
	const good = `{"registry":"team","fingerprint":"0123456789012345678901234567890123456789","snapshot_sha256":"00"}`
	bundle := &fstest.MapFile{Data: []byte("x")}
	for name, files := range map[string]fstest.MapFS{
		"no bundle":     {"builtin/registry.json": {Data: []byte(good)}},
		"no JSON":       {"builtin/registry.json": {Data: []byte("x")}, "builtin/registry.bundle": bundle},
		"a member more": {"builtin/registry.json": {Data: []byte(strings.Replace(good, "{", `{"more":1,`, 1))}, "builtin/registry.bundle": bundle},
		"a short key":   {"builtin/registry.json": {Data: []byte(strings.Replace(good, "0123456789", "", 1))}, "builtin/registry.bundle": bundle},
	} {
		if b, err := carried(files); err == nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
	b, err := carried(fstest.MapFS{"builtin/registry.json": {Data: []byte(good)}, "builtin/registry.bundle": bundle})
	if err != nil || b == nil || b.ID != "team" {
		t.Errorf("%+v, %v", b, err)
	}
	if b, err := carried(fstest.MapFS{}); err != nil || b != nil {
		t.Errorf("nothing: %+v, %v", b, err)
	}
}
