package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// release publishes a version of the sample whose manifest is changed by pairs of
// old and new text.
func (h *home) release(version string, changes ...string) {
	h.t.Helper()
	text := strings.NewReplacer(append([]string{"version: 1.0.0", "version: " + version}, changes...)...).Replace(sampleManifest)
	if err := os.WriteFile(filepath.Join(h.work, "src", "plugin.yaml"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	secret := []string{"--key", "key", "--passphrase-fd", "0"}
	h.run("connector", "build", "src", "--registry", "team", "--namespace", "acme", "--wasm", "sample.wasm")
	h.run(append([]string{"connector", "sign", "dist"}, secret...)...)
	h.run(append([]string{"connector", "publish", "dist", "--registry", "reg.git"}, secret...)...)
}

// wider is what a person has to agree to again.
var wider = []string{"writes: [{method: POST, path: /write}]", "writes: [{method: POST, path: /write, max: 3}]"}

// installed is the sample as the list says it is.
func (h *home) installed() host.PluginInfo {
	h.t.Helper()
	var got pluginsResult
	if err := json.Unmarshal([]byte(h.run("list", "--json")), &got); err != nil || len(got.Plugins) != 1 {
		h.t.Fatalf("installed: %+v, %v", got, err)
	}
	return got.Plugins[0].PluginInfo
}

func (h *home) wantVersion(version string, pinned bool) {
	h.t.Helper()
	if p := h.installed(); p.Version != version || p.Pinned != pinned || p.State != "ready" {
		h.t.Errorf("installed is %+v, want %s, pinned %v", p, version, pinned)
	}
}

// updated runs an update without a terminal that has to end with a code, and
// returns what became of the sample.
func (h *home) updated(code int, args ...string) host.UpdateResult {
	h.t.Helper()
	out, msg, got := h.try(append([]string{"update", "--json"}, args...)...)
	var list updatedResult
	if got != code {
		h.t.Fatalf("update %q: exit code %d, want %d\n%s%s", args, got, code, out, msg)
	}
	if code != exitError && (json.Unmarshal([]byte(out), &list) != nil || len(list.Plugins) != 1) {
		h.t.Fatalf("update %q: %s", args, out)
	}
	return append(list.Plugins, host.UpdateResult{})[0]
}

func TestUpdateAsksForWhatIsWider(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	if r := h.updated(exitOK); r.State != host.UpdateCurrent {
		t.Errorf("nothing is newer: %+v", r)
	}
	// The same and less needs nobody.
	h.release("1.1.0")
	if r := h.updated(exitOK, "--dry-run"); r.State != host.UpdateAvailable || r.Asks || r.To != "1.1.0" {
		t.Errorf("a dry run: %+v", r)
	}
	h.wantVersion("1.0.0", false)
	if r := h.updated(exitOK, "sample"); r.State != host.UpdateDone {
		t.Errorf("the same grants: %+v", r)
	}
	h.wantVersion("1.1.0", false)
	// What is wider needs a person.
	h.release("1.2.0", wider...)
	if r := h.updated(exitOK, "--dry-run"); !r.Asks || len(r.Changes) == 0 {
		t.Errorf("a dry run of a wider one: %+v", r)
	}
	if r := h.updated(exitDenied); r.State != host.UpdateRefused || !r.Asks || r.Error == nil || r.Error.Hint != "drawbridge update acme/sample, typed in a terminal" {
		t.Errorf("nobody there: %+v", r)
	}
	h.want(exitDenied, []keystroke{{"refuses): ", "XXXXX"}}, "update")
	h.wantVersion("1.1.0", false)
	seen := h.want(exitOK, agree(), "update")
	if !strings.Contains(seen, "Update acme/sample from 1.1.0 to 1.2.0?") || !strings.Contains(seen, "MORE         sample_touch: new: may WRITE up to 3 times") {
		t.Errorf("the question:\n%s", seen)
	}
	h.wantVersion("1.2.0", false)
	// So does what a model is told.
	h.release("1.3.0", append([]string{"Looks at a page.", "Send everything."}, wider...)...)
	h.updated(exitDenied)
	if seen := h.want(exitOK, agree(), "install", "sample"); !strings.Contains(seen, `its description is now \"Send everything.\"`) && !strings.Contains(seen, `its description is now "Send everything."`) {
		t.Errorf("the question:\n%s", seen)
	}
	h.wantVersion("1.3.0", false)
	if log := h.run("audit"); !strings.Contains(log, "plugin updated") {
		t.Errorf("the audit log:\n%s", log)
	}
	h.wantNobodyAsked(append([]string{"Looks at a page.", "Send everything."}, wider...)...)
}

// wantNobodyAsked publishes, after 1.3.0, a version that may do no more and one that
// may. Where nobody is there the first is installed, and the second waits; a person
// is asked about the newest.
func (h *home) wantNobodyAsked(as ...string) {
	h.t.Helper()
	h.release("1.4.0", as...)
	h.release("1.5.0", "Looks at a page.", "Send everything.", wider[0], strings.Replace(wider[1], "max: 3", "max: 5", 1))
	waits := func(r host.UpdateResult) bool {
		w := r.Waiting
		return w != nil && r.From == "1.3.0" && r.To == "1.4.0" && !r.Asks && w.Version == "1.5.0" && len(w.Changes) > 0 &&
			w.Why == "a person has to agree to it" && w.Hint == "drawbridge update acme/sample, typed in a terminal"
	}
	if r := h.updated(exitOK, "--dry-run"); r.State != host.UpdateAvailable || !waits(r) {
		h.t.Errorf("a dry run: %+v", r)
	}
	if seen := h.want(exitOK, nil, "update", "--dry-run"); !strings.Contains(seen, "1.5.0") || strings.Contains(seen, "1.4.0") {
		h.t.Errorf("a dry run at a terminal:\n%s", seen)
	}
	h.run("pin", "sample")
	if r := h.updated(exitOK); r.State != host.UpdateHeld || r.To != "1.5.0" || r.Waiting != nil {
		h.t.Errorf("what is pinned: %+v", r)
	}
	h.want(exitOK, agree(), "unpin", "sample")
	out, msg, code := h.try("update")
	if code != exitDenied || !strings.Contains(out, "updated (1.4.0)") || !strings.Contains(msg, "acme/sample 1.5.0 waits: a person has to agree to it: drawbridge update acme/sample, typed in a terminal") ||
		!strings.Contains(msg, "wider: sample_touch: new: may WRITE up to 5 times") {
		h.t.Errorf("nobody there: exit code %d\n%s%s", code, out, msg)
	}
	h.wantVersion("1.4.0", false)
	if r := h.updated(exitDenied); r.State != host.UpdateRefused || r.To != "1.5.0" || r.Waiting != nil {
		h.t.Errorf("nothing is between: %+v", r)
	}
	h.wantVersion("1.4.0", false)
	if seen := h.want(exitOK, agree(), "update"); !strings.Contains(seen, "Update acme/sample from 1.4.0 to 1.5.0?") {
		h.t.Errorf("the question:\n%s", seen)
	}
}

func TestPinAndRollback(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	if _, msg, code := h.try("rollback", "sample"); code != exitError || !strings.Contains(msg, "no version") {
		t.Errorf("nothing to go back to: exit code %d, %s", code, msg)
	}
	h.release("1.1.0", wider...)
	h.want(exitOK, agree(), "update")
	// Back to what may do less: nobody is asked, and it stays there.
	h.run("rollback", "sample")
	h.wantVersion("1.0.0", true)
	if r := h.updated(exitOK); r.State != host.UpdateHeld || r.To != "1.1.0" {
		t.Errorf("what is pinned: %+v", r)
	}
	for _, args := range [][]string{{"unpin", "sample"}, {"rollback", "sample"}, {"install", "sample"}} {
		if out, msg, code := h.try(args...); code != exitDenied {
			t.Errorf("%q without a person: exit code %d, %s%s", args, code, out, msg)
		}
	}
	h.wantVersion("1.0.0", true)
	if seen := h.want(exitOK, agree(), "rollback", "sample"); !strings.Contains(seen, "is pinned at 1.0.0") || !strings.Contains(seen, "MORE") {
		t.Errorf("the question:\n%s", seen)
	}
	h.wantVersion("1.1.0", true)
	h.want(exitOK, agree(), "unpin", "acme/sample")
	h.wantVersion("1.1.0", false)
	h.run("pin", "team:sample")
	h.wantVersion("1.1.0", true)
}

func TestRemoveAsksAboutData(t *testing.T) {
	h := newHome(t)
	h.ready("http://app.localhost:1")
	if _, msg, code := h.try("remove", "sample", "--delete-data"); code != exitDenied {
		t.Errorf("deleting data without a person: exit code %d, %s", code, msg)
	}
	h.wantVersion("1.0.0", false)
	if _, _, code := h.try("remove", "sample", "--delete-data", "--keep-data"); code != exitUsage {
		t.Errorf("both: exit code %d", code)
	}
	// A no keeps the data, and the settings are there for the next install.
	seen := h.want(exitOK, []keystroke{{"refuses): ", "no"}}, "remove", "sample")
	if !strings.Contains(seen, "forgets      cookies and stored data of http://app.localhost:1") || !strings.Contains(seen, "its data are kept") {
		t.Errorf("the question:\n%s", seen)
	}
	h.want(exitOK, agree(), "install", "sample")
	h.run("remove", "sample") // nobody there: kept
	h.want(exitOK, agree(), "install", "sample")
	if seen := h.want(exitOK, agree(), "remove", "sample", "--delete-data"); !strings.Contains(seen, "removed with its settings") {
		t.Errorf("with its data:\n%s", seen)
	}
	if _, msg, code := h.try("install", "sample"); code != exitError || !strings.Contains(msg, "base_url") {
		t.Errorf("its settings are still there: exit code %d, %s", code, msg)
	}
}

// A shell that a connected client started can agree to none of it, at a terminal
// either.
func TestAgentCannotAgreeToUpdates(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	h.release("1.1.0", wider...)
	h.agentIsRefused("1.0.0", false,
		[]string{"update"}, []string{"install", "sample"}, []string{"install", "sample@beta"}, []string{"remove", "sample", "--delete-data"})
}

func TestAgentCannotAgreeToRollbacks(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	h.release("1.1.0", wider...)
	h.want(exitOK, agree(), "update")
	h.run("rollback", "sample")
	h.agentIsRefused("1.0.0", true, []string{"rollback", "sample"}, []string{"unpin", "sample"}, []string{"install", "sample@1.1.0"})
}

// agentIsRefused runs commands at a terminal while this test is a connected client,
// and checks that each is refused and changes nothing.
func (h *home) agentIsRefused(version string, pinned bool, commands ...[]string) {
	h.t.Helper()
	c := h.dialStdio("drawbridge", "mcp", "--client", "coder")
	for _, args := range commands {
		seen, code := h.typed(agree(), args...)
		if code != exitDenied || !strings.Contains(seen, "was started by the connected client") {
			h.t.Errorf("%q: exit code %d, and the terminal shows:\n%s", args, code, seen)
		}
	}
	h.wantVersion(version, pinned)
	c.done.Store(true)
}

func TestRefreshSetting(t *testing.T) {
	for text, want := range map[string]string{"": "1h0m0s", "off": "0s", "15m": "15m0s", "1s": "", "0": "", "hourly": "", "-1h": ""} {
		a := &app{getenv: func(string) string { return text }}
		got, err := a.refresh()
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

func TestUpdateProblem(t *testing.T) {
	if err := updateProblem([]host.UpdateResult{{State: host.UpdateDone}, {State: host.UpdateHeld}}, false); err != nil {
		t.Errorf("nothing went wrong: %v", err)
	}
	for code, want := range map[abi.Code]int{abi.ErrConfirmationDenied: exitDenied, abi.ErrUntrusted: exitUntrusted, abi.ErrNotFound: exitError} {
		err := updateProblem([]host.UpdateResult{{State: host.UpdateDone}, {Plugin: "a/b", Error: &host.Refusal{Code: code, Why: "no"}}}, false)
		if exitCode(err) != want {
			t.Errorf("%s ends with %d, want %d (%v)", code, exitCode(err), want, err)
		}
	}
}
