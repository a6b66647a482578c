package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// next publishes the sample's next version, with something in its manifest replaced.
func (h *home) next(replace ...string) {
	h.t.Helper()
	text := strings.NewReplacer(replace...).Replace(sampleManifest)
	if err := os.WriteFile(filepath.Join(h.work, "src", "plugin.yaml"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(h.work, "dist")); err != nil {
		h.t.Fatal(err)
	}
	secret := []string{"--key", "key", "--passphrase-fd", "0"}
	h.run("connector", "build", "src", "--registry", "team", "--namespace", "acme", "--wasm", "sample.wasm")
	h.run(append([]string{"connector", "sign", "dist"}, secret...)...)
	h.run(append([]string{"connector", "publish", "dist", "--registry", "reg.git"}, secret...)...)
}

func decodeInto(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}

// A plugin is found, looked at, and installed; what is newer, and what somebody
// changed on the disk, is told with the command that helps.
func TestMarketplace(t *testing.T) {
	h := newHome(t)
	h.publish()
	h.want(0, agree(), "registry", "add", "reg.git", h.fingerprint("key"))

	out := h.run("search", "look") // a tool's name
	if want := "acme/sample  1.0.0    team      2, 1 change data  Sample"; !strings.Contains(out, want) {
		t.Errorf("search prints\n%s, want %s", out, want)
	}
	out = h.run("info", "sample") // its name is enough
	for _, want := range []string{
		"acme/sample 1.0.0: Sample", "installed   no: drawbridge install acme/sample", `"Test <test@example.org>", as the key's owner says`,
		"sample: works as you on {base_url}", `base_url (url, "Address"): required: --set base_url=…`, "reads    sample_look: Look",
		"CHANGES  sample_touch: Touch", "writes by POST /write", "1.0.0  stable",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("info does not print %q:\n%s", want, out)
		}
	}

	h.want(0, agree(), "install", "acme/sample", "--set", "base_url=http://tracker.localhost:1234")
	var res host.SearchResult
	decodeInto(t, h.run("search", "tracker.localhost", "--json"), &res) // the user's own address
	if len(res.Found) != 1 || res.Found[0].Installed != "1.0.0" {
		t.Errorf("by the address that was set: %+v", res)
	}
	if out := h.run("info", "sample", "--settings"); !strings.Contains(out, `base_url (url, "Address"): http://tracker.localhost:1234`) {
		t.Errorf("the settings are not shown:\n%s", out)
	}
	if _, msg, code := h.try("outdated"); code != 0 || !strings.Contains(msg, "everything that is installed is the newest") {
		t.Errorf("outdated: %d, %s", code, msg)
	}

	h.next("version: 1.0.0", "version: 1.1.0", "Looks at a page.", "Looks at every page.")
	out, _, code := h.try("outdated")
	if code != 1 || !strings.Contains(out, "tells otherwise: asks you") || !strings.Contains(out, "drawbridge update acme/sample") {
		t.Errorf("outdated: %d\n%s", code, out)
	}
	out = h.run("info", "sample")
	if !strings.Contains(out, "what 1.1.0 in place of 1.0.0 changes") || !strings.Contains(out, `its description is now "Looks at every page.", and was "Looks at a page."`) {
		t.Errorf("info does not show what would change:\n%s", out)
	}
	h.next("version: 1.0.0", "version: 1.2.0", `reads: [{method: GET, path: /page}]
        writes`, `reads: [{method: GET, path: /page}, {method: GET, path: /other}]
        writes`)
	if out, _, code := h.try("outdated"); code != 1 || !strings.Contains(out, "wider: asks you") {
		t.Errorf("outdated: %d\n%s", code, out)
	}
}

// verify finds what was changed on the disk, and its command mends it.
func TestVerifyInstalled(t *testing.T) {
	h := newHome(t)
	h.ready("http://tracker.localhost:1234")
	if out := h.run("verify"); !strings.Contains(out, "ok  acme/sample  1.0.0  release, module, revocations, signature, machine code") {
		t.Errorf("verify prints\n%s", out)
	}
	for _, pattern := range []string{"store/*.wasm", "compiled/*.*-*"} {
		list, err := filepath.Glob(filepath.Join(h.dirs().Data(), pattern))
		if strings.HasPrefix(pattern, "compiled") {
			list, err = filepath.Glob(filepath.Join(h.dirs().Compiled(), "*.*"))
		}
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %q, %v", pattern, list, err)
		}
		data, err := os.ReadFile(list[0])
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.Chmod(list[0], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(list[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		out, msg, code := h.try("verify", "sample")
		if code != 5 || !strings.Contains(out, "FAULT") || !strings.Contains(out, "hint: drawbridge install acme/sample") || !strings.Contains(msg, "1 of 1 plugins") {
			t.Errorf("%s: %d\n%s%s", pattern, code, out, msg)
		}
		var list2 verifiedResult
		out, _, code = h.try("verify", "--json")
		decodeInto(t, out, &list2)
		if code != 5 || len(list2.Plugins) != 1 || list2.Plugins[0].OK {
			t.Errorf("%s: %d, %+v", pattern, code, list2)
		}
		if strings.HasPrefix(pattern, "store") {
			h.run("stop")
			h.wantFault("installed acme/sample", "^module: .*isn't the one that was verified", "^drawbridge install acme/sample@1.0.0$")
			out, msg, code := h.try("call", "sample_look")
			if code != exitUntrusted || !strings.Contains(msg, "drawbridge install acme/sample@1.0.0") {
				t.Errorf("a call of what is damaged: exit code %d, %s%s", code, out, msg)
			}
			if _, msg, _ := h.try("tools"); !strings.Contains(msg, "1 connector installed, and none can run: drawbridge list") {
				t.Errorf("tools: %s", msg)
			}
			if _, msg, code := h.try("doctor"); code != 5 || !strings.Contains(msg, "checks found a fault") {
				t.Errorf("doctor ends with %d: %s", code, msg)
			}
			if _, _, code := h.try("doctor", "--json"); code != 5 {
				t.Errorf("doctor --json ends with %d", code)
			}
		}
		h.want(0, agree(), "install", "acme/sample")
		h.run("verify")
	}
	h.run("stop")
	if err := os.RemoveAll(filepath.Join(h.work, "reg.git")); err != nil {
		t.Fatal(err)
	}
	h.wantFault("registry team answers", "reg.git", "")
	if err := os.WriteFile(filepath.Join(h.dirs().Data(), "lock.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, msg, code := h.try("verify"); code != 5 || !strings.Contains(msg, "hint: restore") {
		t.Errorf("a damaged lock file: %d, %s", code, msg)
	}
}

// A plugin can't take another one's connector, and nobody is asked to agree to it:
// in the lock file it would stand before the one that has it.
func TestConnectorOfAnotherPlugin(t *testing.T) {
	h := newHome(t)
	h.ready("http://tracker.localhost:1234")
	h.next("name: sample\n", "name: aaa\n")
	seen, code := h.typed(nil, "install", "acme/aaa", "--set", "base_url=http://evil.localhost:1234")
	if code != 1 || !strings.Contains(seen, `connector "sample" is there already, from "acme/sample"`) || strings.Contains(seen, "To agree") {
		t.Errorf("install: %d\n%s", code, seen)
	}
	if out := h.run("list"); strings.Contains(out, "acme/aaa") || !strings.Contains(out, "ready") {
		t.Errorf("installed are\n%s", out)
	}
}

// What its maintainers took back is told, with codes that a script can read.
func TestWhatWasTakenBack(t *testing.T) {
	h := newHome(t)
	h.ready("http://tracker.localhost:1234")
	secret := []string{"--key", "key", "--passphrase-fd", "0"}
	h.run(append([]string{"registry", "yank", "reg.git", "acme/sample@1.0.0", "--reason", "it is slow"}, secret...)...)
	if out, _, code := h.try("outdated"); code != 1 || !strings.Contains(out, `yanked: "it is slow"`) {
		t.Errorf("outdated: %d\n%s", code, out)
	}
	if out := h.run("info", "sample"); !strings.Contains(out, `yanked: "it is slow"`) || !strings.Contains(out, "installed   1.0.0") {
		t.Errorf("info prints\n%s", out)
	}
	h.run("verify") // it is what was verified
	h.run(append([]string{"registry", "revoke", "reg.git", "acme/sample@1.0.0", "--reason", "it leaks"}, secret...)...)
	out, _, code := h.try("outdated", "--json")
	var got outdatedResult
	decodeInto(t, out, &got)
	list := got.Plugins
	if code != 5 || len(list) != 1 || list[0].Revoked == nil || list[0].Revoked.Reason != "artifact_revoked" {
		t.Errorf("outdated: %d\n%s", code, out)
	}
	const mends = "drawbridge remove acme/sample, and ask the owner of registry team"
	out, _, code = h.try("verify")
	if code != 5 || !strings.Contains(out, "it leaks") || strings.Count(out, "hint: ") != strings.Count(out, "hint: "+mends) {
		t.Errorf("verify, with hints that differ: %d\n%s", code, out)
	}
	if out, msg, code := h.try("update"); code != 5 || !strings.Contains(out, "it leaks") || !strings.Contains(msg, "hint: "+mends) {
		t.Errorf("an update of what is revoked, where nothing is newer: %d\n%s%s", code, out, msg)
	}
	if _, msg, _ := h.try("list"); !strings.Contains(msg, "acme/sample: hint: "+mends) {
		t.Errorf("list: %s", msg)
	}
	if out := h.run("info", "sample"); !strings.Contains(out, "REFUSED (artifact_revoked)") || !strings.Contains(out, "sample_touch: Touch") {
		t.Errorf("info prints\n%s", out)
	}
	if _, msg, code := h.try("search"); code != 0 || !strings.Contains(msg, "nothing is found") {
		t.Errorf("search: %d\n%s", code, msg)
	}
}
