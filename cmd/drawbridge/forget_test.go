package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wantSaid checks that a text has all parts.
func wantSaid(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

// A registry that is removed is remembered: whoever adds it again is told, and only a
// person forgets.
func TestRemovedIsRemembered(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.run("registry", "init", "other.git", "--id", "team", "--key", "key", "--passphrase-fd", "0")
	fpr := h.fingerprint("key")
	h.want(0, agree(), "registry", "add", "reg.git", fpr)
	h.run("registry", "mirror", "team", "old.git")
	h.run("registry", "refresh", "reg.git", "--key", "key", "--passphrase-fd", "0")
	h.run("registry", "fetch")
	today := time.Now().UTC().Format(time.DateOnly)
	wantSaid(t, h.run("registry", "remove", "team"), "registry team removed; what was seen of it is remembered")
	wantSaid(t, h.run("registry", "list", "--removed"), "REVOKED", "team", fpr)
	wantSaid(t, h.run("registry", "list", "--removed", "--json"), `"registry": "team"`, `"snapshot": 4`)
	h.wantWell("removed registries", "1 remembered")
	wantSaid(t, h.run("__complete", "registry", "remove", "--forget", ""), "team\n")
	if out := h.run("__complete", "registry", "remove", ""); strings.Contains(out, "team\n") {
		t.Errorf("what is not there is completed:\n%s", out)
	}
	_, msg, code := h.try("registry", "add", "old.git", fpr)
	if code != exitUntrusted {
		t.Errorf("exit code %d", code)
	}
	wantSaid(t, msg, "snapshot version 3 of registry", "version 4 was seen", "was removed at "+today, "drawbridge: hint: ", "drawbridge registry remove team --forget")
	wantSaid(t, h.want(0, agree(), "registry", "add", "reg.git", fpr), "trusted until "+today+"; snapshot 4 was seen of it")
	h.run("registry", "remove", "team", "--json")

	// Nobody forgets without a person, at a terminal that no client started.
	forget := []string{"registry", "remove", "team", "--forget"}
	if _, msg, code := h.try(forget...); code != exitDenied || !strings.Contains(msg, "needs a person at a terminal") {
		t.Errorf("without a terminal: exit code %d\n%s", code, msg)
	}
	wantSaid(t, h.run("registry", "list", "--removed", "--json"), `"registry": "team"`)
	h.want(exitDenied, []keystroke{{"refuses): ", "XXXXX"}}, forget...)
	wantSaid(t, h.want(0, agree(), forget...), "Forget what was seen of this registry?", "snapshot 4, 0 revoked", "is not revoked", "removed and forgotten")
	if out := h.run("registry", "list", "--removed", "--json"); !strings.Contains(out, `"registries": []`) {
		t.Errorf("remembered: %s", out)
	}
	if _, msg, code := h.try(forget...); code != exitError || !strings.Contains(msg, "nothing is remembered of a registry") {
		t.Errorf("twice: exit code %d, %s", code, msg)
	}
	// A registry of the same owner and name that was begun anew is no older one then.
	if seen := h.want(0, agree(), "registry", "add", "other.git", fpr); strings.Contains(seen, "before") {
		t.Errorf("the terminal shows:\n%s", seen)
	}
	wantSaid(t, h.run("audit"), "registry forgotten", "registry removed")
	c := h.dialStdio("drawbridge", "mcp", "--client", "coder") // this test is the client
	seen, code := h.typed(agree(), forget...)
	if code != exitDenied || !strings.Contains(seen, "was started by the connected client") {
		t.Errorf("exit code %d, and the terminal shows:\n%s", code, seen)
	}
	c.done.Store(true)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
}

// The same for a team's lock files; and whoever trusts is told of another key.
func TestDistrustedIsRemembered(t *testing.T) {
	h := newHome(t)
	for _, name := range []string{"one", "two"} {
		h.run("key", "new", name, "--user-id", "Lead <lead@example.org>", "--passphrase-fd", "0")
	}
	one, two := h.fingerprint("one"), h.fingerprint("two")
	lock := filepath.Join(h.work, "team.lock")
	h.run("lock", "export", lock, "--empty", "--name", "support", "--version", "7", "--key", "one", "--passphrase-fd", "0")
	h.want(0, agree(), "sync", "trust", "support", "one.asc", one)
	h.syncs(0, lock)
	// A yes to one signer is none in place of another.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	q := h.ask(ctx, "sync", "trust", "support", "one.asc", one)
	h.want(0, agree(), "sync", "trust", "support", "two.asc", two)
	if seen, code := q.agree(); code != exitDenied || !strings.Contains(seen, "changed while the question was open") {
		t.Errorf("exit code %d: %s", code, seen)
	}
	h.want(0, agree(), "sync", "trust", "support", "one.asc", one)
	wantSaid(t, h.run("sync", "distrust", "support"), "the newest version seen is remembered")
	wantSaid(t, h.run("sync", "list", "--removed"), "support", one)
	wantSaid(t, h.run("sync", "list", "--removed", "--json"), `"lock_version": 7`)
	wantSaid(t, h.want(0, agree(), "sync", "trust", "support", "two.asc", two), "version 7 was seen", "ANOTHER KEY")
	old := filepath.Join(h.work, "old.lock")
	h.run("lock", "export", old, "--empty", "--name", "support", "--version", "3", "--key", "two", "--passphrase-fd", "0")
	if _, out := h.syncs(exitUntrusted, old); !strings.Contains(out, "snapshot_older") {
		t.Errorf("an older one:\n%s", out)
	}
	forget := []string{"sync", "distrust", "support", "--forget"}
	if _, msg, code := h.try(forget...); code != exitDenied || !strings.Contains(msg, "needs a person at a terminal") {
		t.Errorf("without a terminal: exit code %d\n%s", code, msg)
	}
	wantSaid(t, h.want(0, agree(), forget...), "version 7", "are not followed, and forgotten")
	if _, msg, code := h.try(forget...); code != exitError || !strings.Contains(msg, "nothing is remembered") {
		t.Errorf("twice: exit code %d, %s", code, msg)
	}
	h.want(0, agree(), "sync", "trust", "support", "two.asc", two)
	h.syncs(0, old)
}

// A yes to another address counts for the address that it was to take the place of.
func TestMovesAtOnce(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.want(0, agree(), "registry", "add", "reg.git", h.fingerprint("key"))
	h.run("registry", "mirror", "team", "one.git")
	h.run("registry", "mirror", "team", "two.git")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, second := h.ask(ctx, "registry", "set-url", "team", "one.git"), h.ask(ctx, "registry", "set-url", "team", "two.git")
	if seen, code := second.agree(); code != 0 {
		t.Errorf("exit code %d: %s", code, seen)
	}
	seen, code := first.agree()
	if code != exitDenied || !strings.Contains(seen, "changed while the question was open") {
		t.Errorf("exit code %d: %s", code, seen)
	}
	third := h.ask(ctx, "registry", "set-url", "team", "one.git")
	h.run("registry", "remove", "team")
	if seen, code := third.agree(); code != exitError || !strings.Contains(seen, "no registry") {
		t.Errorf("exit code %d: %s", code, seen)
	}
	if out := h.run("registry", "list", "--json"); !strings.Contains(out, `"registries": []`) {
		t.Errorf("registries: %s", out)
	}
}
