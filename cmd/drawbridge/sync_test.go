package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// syncs runs drawbridge sync without a terminal and returns its report.
func (h *home) syncs(code int, args ...string) (host.SyncReport, string) {
	h.t.Helper()
	out, msg, got := h.try(append([]string{"sync", "--json"}, args...)...)
	if got != code {
		h.t.Fatalf("sync %q: exit code %d, want %d\n%s%s", args, got, code, out, msg)
	}
	var report host.SyncReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		h.t.Fatalf("sync %q: %v\n%s", args, err, out)
	}
	return report, out
}

func steps(r host.SyncReport) string {
	var list []string
	for _, s := range r.Steps {
		list = append(list, s.Action+" "+s.Subject)
	}
	return strings.Join(list, ", ")
}

// A team's lock file makes one machine like another: after one yes, without a
// question, without the network, and only what the pinned key signed.
func TestSync(t *testing.T) {
	first := newHome(t)
	site := newSite(t, 1)
	first.ready(site)
	secret := []string{"--key", "key", "--passphrase-fd", "0"}
	lock := filepath.Join(first.work, "team.lock")
	first.alsoSet("acme/sample", "old", "x") // as an older version had it
	_, msg, code := first.try(append([]string{"lock", "export", lock, "--name", "support"}, secret...)...)
	if code != 0 || !strings.Contains(msg, "acme/sample 1.0.0: setting old is left out: this version has no such setting") {
		t.Fatalf("lock export: exit code %d\n%s", code, msg)
	}
	first.run("registry", "mirror", "team", "mirrors/team.git", "--lock", lock)
	mirrors := filepath.Join(first.work, "mirrors")
	fpr := first.fingerprint("key")
	cert := filepath.Join(first.work, "key.asc")

	h := newHome(t)
	_, out := h.syncs(5, lock, "--from", mirrors)
	if !strings.Contains(out, `"unknown_key"`) {
		t.Errorf("nobody was trusted:\n%s", out)
	}
	if _, msg, code := h.try("sync", "trust", "support", cert, fpr); code != 3 || !strings.Contains(msg, "needs a person at a terminal") {
		t.Errorf("without a terminal: exit code %d\n%s", code, msg)
	}
	seen := h.want(0, agree(), "sync", "trust", "support", cert, fpr)
	for _, part := range []string{"Follow this team's lock files?", "support", "without asking you"} {
		if !strings.Contains(seen, part) {
			t.Errorf("the terminal does not show %q:\n%s", part, seen)
		}
	}
	for _, args := range [][]string{{"--dry-run"}, {}} { // a path of another machine is nobody's here
		r, _ := h.syncs(exitDenied, append([]string{lock}, args...)...)
		if steps(r) != "install acme/sample" || r.Steps[0].Problem == nil || !strings.Contains(r.Steps[0].Problem.Hint, "drawbridge registry add") {
			t.Errorf("%q without a mirror: %+v", args, r)
		}
		out, _, _ := h.try(append([]string{"sync", lock}, args...)...)
		if !strings.Contains(out, "fully followed") || !strings.Contains(out, "failed") {
			t.Errorf("%q without a mirror:\n%s", args, out)
		}
	}
	if r, _ := h.syncs(0, lock, "--from", mirrors, "--dry-run"); !r.DryRun || steps(r) != "add registry team, install acme/sample" {
		t.Errorf("a dry run: %+v", r)
	}
	if list := h.run("list", "--json"); strings.Contains(list, "acme/sample") {
		t.Errorf("a dry run installed\n%s", list)
	}
	if r, _ := h.syncs(0, lock, "--from", mirrors); steps(r) != "add registry team, install acme/sample" || r.Version != 1 {
		t.Errorf("the report: %+v", r)
	}
	if list := h.run("list", "--json"); !strings.Contains(list, `"state": "ready"`) {
		t.Errorf("installed:\n%s", list)
	}
	h.run("lock", "export", "again.lock", "--name", "support", "--version", "9")
	again, err := os.ReadFile(filepath.Join(h.work, "again.lock"))
	if err != nil || !strings.Contains(string(again), `"base_url":"`+site+`"`) {
		t.Errorf("the settings of the lock file are not there: %v\n%s", err, again)
	}
	if r, _ := h.syncs(0, lock, "--from", mirrors); steps(r) != "keep acme/sample" {
		t.Errorf("again: %+v", r)
	}
	h.alsoSet("acme/sample", "old", "x")
	for _, args := range [][]string{{"--dry-run"}, {}} {
		out := h.run(append([]string{"sync", lock, "--from", mirrors}, args...)...)
		if !strings.Contains(out, `acme/sample: setting old is set no longer, and was "x"`) {
			t.Errorf("%q does not say which setting goes:\n%s", args, out)
		}
	}
	if log := h.run("audit", "--json"); !strings.Contains(log, "by lock file support") || !strings.Contains(log, "team trusted") {
		t.Errorf("the audit log:\n%s", log)
	}

	// Changed by anybody, signed by somebody else, or not at all: nothing is done.
	data, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(h.work, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	changed := write("changed.lock", []byte(strings.Replace(string(data), site, "http://other.localhost:1", 1)))
	for file, want := range map[string]string{changed: "bad_signature", write("bare.lock", data): "unsigned"} {
		args := []string{file, "--from", mirrors}
		if want == "bad_signature" {
			args = append(args, "--signature", lock+".asc")
		}
		if _, out := h.syncs(5, args...); !strings.Contains(out, want) {
			t.Errorf("want %s:\n%s", want, out)
		}
	}
	// The next version no longer has the plugin: it stays until somebody says so.
	first.run("remove", "acme/sample")
	first.run(append([]string{"lock", "export", lock, "--name", "support", "--empty"}, secret...)...)
	if r, _ := h.syncs(0, lock); r.Version != 2 || steps(r) != host.SyncExtra+" acme/sample" {
		t.Errorf("the report: %+v", r)
	}
	if r, _ := h.syncs(0, lock, "--prune"); steps(r) != "remove acme/sample" {
		t.Errorf("the report: %+v", r)
	}
	if list := h.run("list", "--json"); !isEmpty(list) {
		t.Errorf("installed:\n%s", list)
	}
	// And there is no way back.
	first.run(append([]string{"lock", "export", filepath.Join(h.work, "one.lock"), "--name", "support", "--empty"}, secret...)...)
	if _, out := h.syncs(5, filepath.Join(h.work, "one.lock")); !strings.Contains(out, "snapshot_older") {
		t.Errorf("an older one:\n%s", out)
	}
}

// alsoSet puts one more setting of a plugin into the file that keeps them.
func (h *home) alsoSet(plugin, name, value string) {
	h.t.Helper()
	data, err := os.ReadFile(h.dirs().SettingsFile())
	if err != nil {
		h.t.Fatal(err)
	}
	var doc struct {
		Format  int                          `json:"format"`
		Plugins map[string]map[string]string `json:"plugins"`
	}
	decodeInto(h.t, string(data), &doc)
	doc.Plugins[plugin][name] = value
	if data, err = json.Marshal(doc); err == nil {
		err = os.WriteFile(h.dirs().SettingsFile(), data, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// A shell that an agent drives can neither pin a team's key nor move a registry.
func TestAgentCannotTrustATeam(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.want(0, agree(), "registry", "add", "reg.git", h.fingerprint("key"))
	h.run("registry", "mirror", "team", "mirror.git")
	c := h.dialStdio("drawbridge", "mcp", "--client", "coder") // this test is the client
	for _, args := range [][]string{
		{"sync", "trust", "support", "key.asc", h.fingerprint("key")},
		{"registry", "set-url", "team", "mirror.git"},
	} {
		seen, code := h.typed(agree(), args...)
		if code != 3 || !strings.Contains(seen, "was started by the connected client") {
			t.Errorf("%q: exit code %d, and the terminal shows:\n%s", args, code, seen)
		}
		if _, msg, code := h.try(args...); code != 3 {
			t.Errorf("%q without a terminal: exit code %d, %s", args, code, msg)
		}
	}
	if list := h.run("sync", "list", "--json"); !isEmpty(list) {
		t.Errorf("teams: %s", list)
	}
	if list := h.run("registry", "list"); strings.Contains(list, filepath.Join(h.work, "mirror.git")) {
		t.Errorf("registries: %s", list)
	}
	c.done.Store(true)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
}

// A registry is fetched from a mirror once a person said so.
func TestRegistryFromMirror(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.want(0, agree(), "registry", "add", "reg.git", h.fingerprint("key"))
	out := h.run("registry", "mirror", "reg.git", "mirror.git", "--fingerprint", h.fingerprint("key"), "--json")
	if !strings.Contains(out, `"modules": 1`) {
		t.Errorf("the report:\n%s", out)
	}
	h.gitInit("empty.git")
	if seen, code := h.typed(agree(), "registry", "set-url", "team", "empty.git"); code == 0 || strings.Contains(seen, "another address?") {
		t.Errorf("an address without a registry: exit code %d, and the terminal shows:\n%s", code, seen)
	}
	seen := h.want(0, agree(), "registry", "set-url", "team", "mirror.git")
	if !strings.Contains(seen, "as before") || !strings.Contains(seen, "mirror.git") {
		t.Errorf("the terminal shows:\n%s", seen)
	}
	if err := os.RemoveAll(filepath.Join(h.work, "reg.git")); err != nil {
		t.Fatal(err)
	}
	h.want(0, agree(), "install", "acme/sample", "--set", "base_url=http://sample.localhost:1")
}

// gitInit makes an empty repository.
func (h *home) gitInit(name string) {
	h.t.Helper()
	if out, err := h.command(h.t.Context(), "git", "init", "--quiet", "--bare", name).CombinedOutput(); err != nil {
		h.t.Fatalf("git init: %v: %s", err, out)
	}
}
