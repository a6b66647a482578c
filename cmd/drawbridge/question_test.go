package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asked runs a command at a terminal, agrees, and returns what was shown before the
// question could be answered.
func (h *home) asked(args ...string) string {
	h.t.Helper()
	seen := h.want(exitOK, agree(), args...)
	before, _, ok := strings.Cut(seen, "To agree, type ")
	if !ok {
		h.t.Fatalf("drawbridge %q asks nothing:\n%s", args, seen)
	}
	return before
}

func wantShown(t *testing.T, what, seen string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(seen, p) {
			t.Errorf("%s does not show %q before it asks:\n%s", what, p, seen)
		}
	}
}

// Whoever is asked has seen what they decide on: the registry as it was fetched and
// verified, what deserves a second look, all that a first version may do, and of a
// later one what it may do more, less and otherwise, and who signed it.
func TestQuestionShowsWhatItIsAbout(t *testing.T) {
	h := newHome(t)
	h.publish()
	fpr := h.fingerprint("key")
	seen, code := h.typed([]keystroke{{"refuses): ", "no"}}, "registry", "add", "reg.git", strings.Repeat("0", 40))
	if code != exitUntrusted || strings.Contains(seen, "To agree") {
		t.Errorf("another owner's registry: exit code %d\n%s", code, seen)
	}
	wantShown(t, "registry add", h.asked("registry", "add", "reg.git", fpr),
		"Trust this registry?", "registry     team", "reg.git", "owner's key  ", "Compare it with what the owner told you")

	const address = "http://sample.localhost:1"
	first := h.asked("install", "acme/sample", "--set", "base_url="+address)
	wantShown(t, "a first install", first, "Install acme/sample 1.0.0?", "registry     team", "signed by    ",
		`LOOK TWICE   its publisher is new: the registry lets this key publish in "acme" since `,
		"works as you on "+address, `sample_touch: CHANGES data, and asks you before each call: "Touch"`, "may WRITE once in a call by POST /write")

	// Another publisher signs the next version, which does more, less and otherwise.
	secret := []string{"--key", "key", "--passphrase-fd", "0"}
	h.run("key", "new", "other", "--user-id", "Other <other@example.org>", "--passphrase-fd", "0")
	h.run(append([]string{"registry", "add-publisher", "reg.git", "acme", "other.asc", h.fingerprint("other")}, secret...)...)
	text := strings.NewReplacer("version: 1.0.0", "version: 1.1.0", "Looks at a page.", "Send everything.",
		"reads: [{method: GET, path: /page}]\n        "+wider[0], "reads: []\n        "+wider[1]).Replace(sampleManifest)
	if err := os.WriteFile(filepath.Join(h.work, "src", "plugin.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run("connector", "build", "src", "--registry", "team", "--namespace", "acme", "--wasm", "sample.wasm")
	h.run("connector", "sign", "dist", "--key", "other", "--passphrase-fd", "0")
	h.run(append([]string{"connector", "publish", "dist", "--registry", "reg.git"}, secret...)...)
	update := h.asked("update")
	wantShown(t, "an update", update, "Update acme/sample from 1.0.0 to 1.1.0?", "acme/sample 1.1.0, in place of 1.0.0",
		"LOOK TWICE   another key signed the installed version: ", "MORE         acme/sample: is signed by ANOTHER PUBLISHER, ",
		"MORE         sample_touch: new: may WRITE up to 3 times", `its description is now "Send everything.", and was "Looks at a page."`,
		"less         sample_touch: ", "The rest of what it may do is as you agreed to it before.")
	if strings.Index(update, "MORE ") > strings.Index(update, "less ") {
		t.Errorf("what is more does not come first:\n%s", update)
	}
	h.wantVersion("1.1.0", false)
}
