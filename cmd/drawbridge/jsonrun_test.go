package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	_ "time/tzdata" // a zone that isn't UTC, wherever this runs

	"github.com/creack/pty"
)

// notRun are the commands whose result TestJSONOfEveryCommand doesn't see, and why.
// Whatever other tests print with --json is held against the same rules.
func notRun() map[string]string {
	return map[string]string{
		"login":  "a browser; TestShapesOfJSON knows its result",
		"logout": "a browser; likewise",
	}
}

// A jsonRun is a home in which commands are run with --json.
type jsonRun struct {
	*home
	seen map[string]bool // the results that were printed
}

// prints runs a command that has to print its result, and returns that.
func (r *jsonRun) prints(line string) string {
	r.t.Helper()
	args := append(strings.Fields(line), "--json")
	out, msg, code := r.try(args...)
	r.took(args, out, msg, code)
	return out
}

// agreed is prints for a command that asks: somebody types the code.
func (r *jsonRun) agreed(line string) string {
	r.t.Helper()
	args := append(strings.Fields(line), "--json")
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	mine, theirs, err := pty.Open()
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = mine.Close() }()
	var out bytes.Buffer
	cmd := r.command(ctx, "drawbridge", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, &out, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		r.t.Fatal(err)
	}
	seen, err := play(ctx, mine, agree())
	if err != nil {
		r.t.Errorf("drawbridge %q: %v", args, err)
	}
	_ = cmd.Wait() // the exit code says it
	r.took(args, out.String(), seen, cmd.ProcessState.ExitCode())
	return out.String()
}

// took notes what a command printed. The command itself ends with notJSON if that
// is against the rules.
func (r *jsonRun) took(args []string, out, msg string, code int) {
	r.t.Helper()
	if code == notJSON || strings.HasPrefix(out, "{\n  \"error\"") {
		r.t.Errorf("drawbridge %q ends with %d\n%s%s", args, code, out, msg)
	}
	r.seen[resultOf(args)] = true
}

// With --json every command prints one object by the rules of RATIONALE.md, and of
// the shape that results says.
func TestJSONOfEveryCommand(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("TZ", "Asia/Kolkata") // what isn't made UTC shows
	r := &jsonRun{newHome(t), map[string]bool{}}
	t.Setenv("HOME", r.work) // what isn't below DRAWBRIDGE_HOME: a service's file
	t.Setenv("XDG_CONFIG_HOME", "")
	if err := writeSample(r.work); err != nil {
		t.Fatal(err)
	}
	r.keys()
	r.maintainer()
	r.user()
	r.team()
	r.end()
	for path := range results() {
		if why, no := notRun()[path]; r.seen[path] == no {
			t.Errorf("%s: run is %v, and not to be run: %q", path, r.seen[path], why)
		}
	}
	if unknown := slices.DeleteFunc(slices.Collect(maps.Keys(r.seen)), func(p string) bool { _, ok := results()[p]; return ok }); len(unknown) > 0 {
		t.Errorf("there is no result %q", unknown)
	}
}

const asKey = " --key key --passphrase-fd 0"

// keys is what authors do with keys, and what needs nothing at all.
func (r *jsonRun) keys() {
	r.t.Helper()
	r.prints("key list")
	r.prints("key new key --user-id Ada --passphrase-fd 0")
	r.prints("key new second --user-id Bob --passphrase-fd 0")
	r.prints("key import key --passphrase-fd 0")
	r.prints("key list")
	r.prints("key show key")
	r.prints("key renew key --expires 2y --passphrase-fd 0")
	fpr := r.fingerprint("key")
	r.prints("key export " + fpr)
	r.prints("key export --secret " + fpr)
	r.prints("key remove --yes " + fpr)
	r.prints("version")
	r.prints("completion bash")
	r.prints("man pages")
	r.prints("mcp --print-config gemini")
	r.prints("service install")
	r.prints("service status")
	r.prints("service remove")
	r.prints("service remove")
	r.prints("stop")
}

// maintainer makes a registry of two versions, by both ways.
func (r *jsonRun) maintainer() {
	r.t.Helper()
	fpr, second := r.fingerprint("key"), r.fingerprint("second")
	r.prints("registry init reg.git --id team" + asKey)
	r.prints("registry add-publisher reg.git acme key.asc " + fpr + asKey)
	r.prints("connector build src --registry team --namespace acme --wasm sample.wasm")
	r.prints("connector check sample.wasm --call sample.look")
	r.prints("connector sign dist" + asKey)
	r.prints("key verify --keyring key.asc --signature dist/release.json.asc dist/release.json")
	r.prints("key verify --keyring second.asc --signature dist/release.json.asc dist/release.json")
	r.prints("connector publish dist --registry reg.git" + asKey)
	r.git("clone", "-q", "reg.git", "fork")
	r.prints("connector build src11 --registry team --namespace acme --wasm sample.wasm --out next")
	r.prints("connector sign next" + asKey)
	r.prints("connector propose next --registry fork")
	r.prints("registry check fork --ref propose/acme/sample/1.1.0 --base " + filepath.Join(r.work, "reg.git"))
	r.prints("registry accept reg.git propose/acme/sample/1.1.0 --from fork" + asKey)
	r.prints("registry refresh reg.git" + asKey)
	r.prints("registry pending reg.git")
	r.prints("registry log reg.git")
	r.git("init", "-q", "--bare", "there.git")
	r.prints("registry push reg.git there.git")
	r.prints("registry init other.git --id other" + asKey)
	r.prints("registry rotate other.git --add-owner " + second + "=second.asc --owner-threshold 2 --partial" + asKey)
	r.prints("registry pending other.git")
	r.prints("registry sign other.git --key second --passphrase-fd 0")
}

// user is what somebody does who installs from it.
func (r *jsonRun) user() {
	r.t.Helper()
	for _, line := range []string{"update", "check", "approvals", "sync list", "registry fetch"} { // empty.txtar has the others
		r.prints(line)
	}
	r.agreed("registry add reg.git " + r.fingerprint("key"))
	r.agreed("install acme/sample@1.0.0 --set base_url=http://site.localhost:1")
	for _, line := range []string{
		"registry list", "registry fetch", "search", "info sample", "list --settings", "tools", "tools sample_look", "outdated", "verify", "doctor",
		"update --dry-run", "pin sample", "update",
	} {
		r.prints(line)
	}
	r.agreed("unpin sample")
	for _, line := range []string{"update", "rollback sample", "clients add x", "clients list", "clients may-ask x --off"} {
		r.prints(line)
	}
	r.agreed("clients may-ask x")
	r.prints("clients revoke x")
	r.prints("audit")
	r.prints("audit verify")
	r.prints("logs")
}

// team is a lock file's and a mirror's way.
func (r *jsonRun) team() {
	r.t.Helper()
	r.prints("lock export team.lock --name support" + asKey)
	r.agreed("sync trust support key.asc " + r.fingerprint("key"))
	r.prints("sync list")
	r.prints("sync list --removed")
	r.prints("registry list --removed")
	r.prints("sync team.lock --dry-run")
	r.prints("sync distrust support")
	r.prints("registry mirror team mirror.git")
	r.agreed("registry set-url team mirror.git")
	r.agreed("registry set-url team reg.git")
}

// end takes things back: what is wrong has shapes of its own.
func (r *jsonRun) end() {
	r.t.Helper()
	r.prints("registry yank reg.git acme/sample@1.1.0 --reason slow" + asKey)
	r.prints("registry revoke reg.git acme/sample@1.0.0 --reason leaks" + asKey)
	r.prints("registry remove-publisher reg.git acme " + r.fingerprint("key") + asKey)
	for _, line := range []string{"outdated", "list", "info sample", "search --all", "verify", "update", "doctor"} {
		r.prints(line)
	}
	if err := os.RemoveAll(filepath.Join(r.work, "reg.git")); err != nil {
		r.t.Fatal(err)
	}
	for _, line := range []string{"registry fetch", "search --refresh", "outdated", "update", "doctor", "remove sample", "registry remove team", "stop"} {
		r.prints(line)
	}
}

func (r *jsonRun) git(args ...string) {
	r.t.Helper()
	cmd := r.command(r.t.Context(), "git", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}
