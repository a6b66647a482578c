package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/signing"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// tinyManifest is a plugin of one connector with one tool, run, that answers
// with an object of its own.
func tinyManifest(id string, more ...string) []byte {
	return fmt.Appendf(nil, `
name: %[1]s
version: 1.0.0
category: connector
title: Connector %[1]s
description: Answers without looking at any page.
connectors:
  - id: %[1]s
    title: Connector %[1]s
    base_url: https://%[1]s.example
    origins: ["https://%[1]s.example/*"]
    pages:
      signed_in: [{selector: .account}]
      signed_out: [{path: /login}]
    tools:
      - name: run
        title: Run
        description: Runs.
        destructive: false
        capabilities: [read]
        input: {type: object}
        output: {type: object, properties: {from: {type: string}}, additionalProperties: false}
        reads: [{method: GET, path: /}]
%[2]s
`, id, strings.Join(more, "\n"))
}

// timeoutOf is the line of a manifest that gives the tool a deadline.
func timeoutOf(seconds int) string { return fmt.Sprintf("        timeout_sec: %d", seconds) }

// tinyModule fits tinyManifest; its call runs the given instructions, or else
// answers {"from": id}.
func tinyModule(id string, call ...[]byte) []byte {
	if call == nil {
		call = [][]byte{wasmtest.Output(`{"ok":true,"result":{"from":"` + id + `"}}`)}
	}
	return describing(wasmtest.Guest([]string{"read"}, call...), id)
}

// describing gives a guest the describe that fits tinyManifest.
func describing(m wasmtest.Module, id string) []byte {
	m.Funcs[1].Body = [][]byte{wasmtest.Output(`{"v":1,"tools":["` + id + `.run"]}`), wasmtest.I32(0)}
	return m.Bytes()
}

// wantAnswer calls a tiny connector, which has to answer as itself.
func wantAnswer(w *harness.World, id string) {
	w.T.Helper()
	got := harness.Result[map[string]string](w, id+"_run", struct{}{})
	if got["from"] != id {
		w.T.Fatalf("%s_run answered %v", id, got)
	}
}

// wantUntrusted checks a refusal's reason, and that it names a key.
func wantUntrusted(t *testing.T, err error, reason abi.Reason, names string) {
	t.Helper()
	e, ok := err.(*abi.Error) //nolint:errorlint // what the host returns is one
	if !ok || e == nil || e.Code != abi.ErrUntrusted || e.Reason != reason || !strings.Contains(e.Error(), names) {
		t.Fatalf("%v; want untrusted, %s, naming %s", showErr(err), reason, names)
	}
}

func showErr(err error) string {
	if e, ok := err.(*abi.Error); ok && e != nil { //nolint:errorlint // likewise
		return fmt.Sprintf("%s (%s): %s", e.Code, e.Reason, e)
	}
	return fmt.Sprint(err)
}

// pluginState is what Plugins says of one.
func pluginState(w *harness.World, id string) host.PluginInfo {
	w.T.Helper()
	list, err := w.Host.Plugins(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	for _, p := range list {
		if p.Name == harness.Namespace+"/"+id {
			return p
		}
	}
	w.T.Fatalf("%s is not among %+v", id, list)
	return host.PluginInfo{}
}

// commitRegistry changes a registry's newest commit behind its maintainer's back.
func commitRegistry(w *harness.World, change func(dir string)) {
	w.T.Helper()
	dir := filepath.Join(w.T.TempDir(), "clone")
	runGit(w.T, "clone", "-q", w.RepoDir, dir)
	change(dir)
	runGit(w.T, "-C", dir, "add", "-A")
	runGit(w.T, "-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "x")
	runGit(w.T, "-C", dir, "push", "-q", "origin", "HEAD:refs/heads/main")
}

func runGit(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), "git", args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func releaseSignature(dir, id string) string {
	return filepath.Join(dir, "connectors", harness.Namespace, id, "1.0.0.json.asc")
}

// resign replaces the signature of a release by key's over data, or over the
// release if data is nil.
func resign(w *harness.World, id string, key *signing.SecretKey, data []byte) {
	w.T.Helper()
	commitRegistry(w, func(dir string) {
		path := releaseSignature(dir, id)
		if data == nil {
			var err error
			if data, err = os.ReadFile(strings.TrimSuffix(path, ".asc")); err != nil {
				w.T.Fatal(err)
			}
		}
		sig, err := key.Sign(data, time.Now())
		if err != nil {
			w.T.Fatal(err)
		}
		putFile(w.T, path, sig)
	})
}

func putFile(tb testing.TB, path string, data []byte) {
	tb.Helper()
	_ = os.Remove(path) // it may be read-only
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func publisherOf(w *harness.World) *signing.SecretKey { return w.Keys.Publisher }

func ownerOf(w *harness.World) *signing.SecretKey { return w.Keys.Owner }
