package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// gone takes a registry of the home away, and returns what brings it back.
func (h *home) gone(name string) (back func()) {
	h.t.Helper()
	move := func(from, to string) {
		if err := os.Rename(filepath.Join(h.work, from), filepath.Join(h.work, to)); err != nil { //nolint:forbidigo // nothing is replaced
			h.t.Fatal(err)
		}
	}
	move(name, name+".away")
	return func() { move(name+".away", name) }
}

// Whoever asks what is new is told if nobody could be asked: a script takes no old
// copy for an answer.
func TestRegistryIsSilent(t *testing.T) {
	h := newHome(t)
	h.ready("http://tracker.localhost:1234")
	if _, _, code := h.try("outdated"); code != 0 {
		t.Fatalf("outdated: exit code %d", code)
	}
	back := h.gone("reg.git")
	out, msg, code := h.try("outdated")
	if code != 1 || !strings.Contains(out, "can't be looked up") || strings.Contains(msg, "is the newest") {
		t.Errorf("outdated: exit code %d\n%s%s", code, out, msg)
	}
	out, _, _ = h.try("outdated", "--json")
	var got outdatedResult
	decodeInto(t, out, &got)
	if len(got.Plugins) != 1 || got.Plugins[0].Problem == nil || got.Plugins[0].Outdated {
		t.Errorf("outdated --json:\n%s", out)
	}
	for _, args := range [][]string{{"search", "--refresh"}, {"search", "sample"}, {"info", "sample"}} {
		if out, msg, code := h.try(args...); code != 0 || !strings.Contains(out+msg, `registry "team" was not fetched`) {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out, msg)
		}
	}
	back()
	if out, msg, code := h.try("outdated"); code != 0 {
		t.Errorf("outdated once it answers: exit code %d\n%s%s", code, out, msg)
	}
	if out, msg, _ := h.try("search", "sample"); strings.Contains(out+msg, "not fetched") {
		t.Errorf("search once it answers:\n%s%s", out, msg)
	}
	h.next("version: 1.0.0", "version: 1.1.0")
	h.try("outdated")
	back = h.gone("reg.git")
	if out, _, code := h.try("outdated"); code != 1 || !strings.Contains(out, "drawbridge update acme/sample") {
		t.Errorf("what is known already is told no longer: exit code %d\n%s", code, out)
	}
	back()
}

// A fetch that brings nothing that is still good is no success.
func TestFetchOfAnExpiredRegistry(t *testing.T) {
	good := host.FetchedRegistry{RegistryInfo: host.RegistryInfo{ID: "good"}}
	expired := host.FetchedRegistry{RegistryInfo: host.RegistryInfo{ID: "team", Expired: true}}
	silent := host.FetchedRegistry{RegistryInfo: host.RegistryInfo{ID: "silent"}, Error: &host.Refusal{Code: abi.ErrTimeout, Why: "it is silent"}}
	if err := fetchProblem([]host.FetchedRegistry{good}); err != nil {
		t.Errorf("all is well: %v", err)
	}
	e, ok := errors.AsType[*abi.Error](fetchProblem([]host.FetchedRegistry{good, expired}))
	if !ok || exitCode(e) != exitUntrusted || e.Reason != abi.ReasonSnapshotExpired || !strings.HasPrefix(e.Hint, "ask the owner of registry team ") {
		t.Errorf("expired: %+v", e)
	}
	if err := fetchProblem([]host.FetchedRegistry{expired, silent}); !errors.Is(err, abi.ErrTimeout) {
		t.Errorf("one isn't fetched: %v", err)
	}
}

// A timer that syncs fails of a registry that is silent only if something is needed of
// it, by a dry run and by a run.
func TestSyncWhileTheRegistryIsSilent(t *testing.T) {
	h := newHome(t)
	h.ready("http://tracker.localhost:1234")
	secret := []string{"--key", "key", "--passphrase-fd", "0"}
	h.run(append([]string{"lock", "export", "team.lock", "--name", "support"}, secret...)...)
	h.want(0, agree(), "sync", "trust", "support", "key.asc", h.fingerprint("key"))
	h.next("version: 1.0.0", "version: 1.1.0")
	back := h.gone("reg.git")
	for _, args := range [][]string{{"--dry-run"}, {}} {
		r, _ := h.syncs(0, append([]string{"team.lock"}, args...)...)
		if steps(r) != "keep acme/sample" || r.Steps[0].Problem != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `registry "team" was not fetched`) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if out, msg, code := h.try("sync", "team.lock"); code != 0 || !strings.Contains(msg, "warning: registry") || !strings.Contains(out, "is followed") {
		t.Errorf("as text: exit code %d\n%s%s", code, out, msg)
	}
	h.run("remove", "acme/sample", "--keep-data")
	for _, args := range [][]string{{"--dry-run"}, {}} {
		if r, _ := h.syncs(exitError, append([]string{"team.lock"}, args...)...); r.Steps[0].Problem == nil {
			t.Errorf("%q: what is missing can't be fetched: %+v", args, r)
		}
	}
	back()
	if r, _ := h.syncs(0, "team.lock"); steps(r) != "install acme/sample" || len(r.Warnings) != 0 {
		t.Errorf("once it answers: %+v", r)
	}
}
