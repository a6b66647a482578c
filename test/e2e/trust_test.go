package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// An attack on a registry is refused at install, by reason and fingerprint, and
// what was installed before goes on.
func TestRefusedAtInstall(t *testing.T) {
	mallory := harness.NewKey(t, "Mallory <mallory@drawbridge.example>")
	for name, a := range map[string]struct {
		do     func(w *harness.World, now *time.Time)
		reason abi.Reason
		key    func(w *harness.World) *signing.SecretKey // named in the refusal
	}{
		"unsigned": {
			do: func(w *harness.World, _ *time.Time) {
				commitRegistry(w, func(dir string) {
					if err := os.Remove(releaseSignature(dir, "two")); err != nil {
						w.T.Fatal(err)
					}
				})
			},
			reason: abi.ReasonUnsigned, key: publisherOf,
		},
		"signed by nobody who may": {
			do:     func(w *harness.World, _ *time.Time) { resign(w, "two", mallory, nil) },
			reason: abi.ReasonUnknownKey, key: func(*harness.World) *signing.SecretKey { return mallory },
		},
		"signed by the owner, who is no publisher": {
			do:     func(w *harness.World, _ *time.Time) { resign(w, "two", w.Keys.Owner, nil) },
			reason: abi.ReasonUnknownKey, key: ownerOf,
		},
		"signature over something else": {
			do:     func(w *harness.World, _ *time.Time) { resign(w, "two", w.Keys.Publisher, []byte("something else")) },
			reason: abi.ReasonBadSignature, key: publisherOf,
		},
		"expired snapshot": {
			do:     func(_ *harness.World, now *time.Time) { *now = now.Add(60 * 24 * time.Hour) },
			reason: abi.ReasonSnapshotExpired, key: ownerOf,
		},
		"older snapshot": {
			do: func(w *harness.World, _ *time.Time) {
				before := runGit(w.T, "-C", w.RepoDir, "rev-parse", "refs/heads/main")
				if err := w.Maintainer.Refresh(w.T.Context(), w.Keys.Roles()); err != nil {
					w.T.Fatal(err)
				}
				if _, err := w.Registry.Refresh(w.T.Context(), harness.RegistryID); err != nil {
					w.T.Fatal(err)
				}
				runGit(w.T, "-C", w.RepoDir, "update-ref", "refs/heads/main", before)
			},
			reason: abi.ReasonSnapshotOlder, key: ownerOf,
		},
		"module replaced": {
			do: func(w *harness.World, _ *time.Time) {
				refs := runGit(w.T, "-C", w.RepoDir, "for-each-ref", "--format=%(refname)", "refs/drawbridge/artifacts/")
				other := filepath.Join(w.T.TempDir(), "other")
				putFile(w.T, other, tinyModule("two", wasmtest.Output(`{"ok":true,"result":{"from":"else"}}`)))
				id := runGit(w.T, "-C", w.RepoDir, "hash-object", "-w", other)
				for ref := range strings.FieldsSeq(refs) {
					runGit(w.T, "-C", w.RepoDir, "update-ref", ref, id)
				}
			},
			reason: abi.ReasonTampered, key: publisherOf,
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			w := harness.New(t, harness.Options{NoSite: true, Clock: func() time.Time { return now }})
			w.ReadyWith(tinyManifest("one"), tinyModule("one"))
			w.Publish(tinyManifest("two"), tinyModule("two"))
			a.do(w, &now)
			wantUntrusted(t, w.Install("two"), a.reason, string(a.key(w).Fingerprint()))
			if err := w.Host.Reload(); err != nil {
				t.Fatal(err)
			}
			if e := w.WantCode(abi.ErrNotFound, "two_run", struct{}{}); e.Hint == "" {
				t.Error("no hint at what to do")
			}
			wantAnswer(w, "one")
		})
	}
}

func publisherOf(w *harness.World) *signing.SecretKey { return w.Keys.Publisher }
func ownerOf(w *harness.World) *signing.SecretKey     { return w.Keys.Owner }

// A registry is trusted under its owner's fingerprint and under no other, and a
// plugin of a registry that was never pinned is not found at all.
func TestNotPinned(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	w.Publish(tinyManifest("one"), tinyModule("one"))
	if e, ok := w.Install("one").(*abi.Error); !ok || e.Code != abi.ErrNotFound { //nolint:errorlint // what the host returns is one
		t.Fatalf("an install from no registry: %v", e)
	}
	for _, key := range []*signing.SecretKey{w.Keys.Publisher, harness.NewKey(t, "Mallory")} {
		fpr := string(key.Fingerprint())
		_, err := w.Host.AddRegistry(t.Context(), w.RepoDir, fpr, func(host.Question) error {
			t.Error("a person is asked about a registry that hasn't the fingerprint")
			return nil
		})
		wantUntrusted(t, err, abi.ReasonUnknownKey, fpr)
	}
	_, err := w.Host.AddRegistry(t.Context(), w.RepoDir, string(w.Keys.Owner.Fingerprint()), func(q host.Question) error {
		if list, err := w.Host.Registries(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("kept before the answer: %+v, %v", list, err)
		}
		return w.Host.Questions.Answer(q.ID, "")
	})
	if !errors.Is(err, abi.ErrConfirmationDenied) {
		t.Errorf("after a no: %v", err)
	}
	if list, err := w.Host.Registries(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("registries: %+v, %v", list, err)
	}
}

// A maintainer's own tool refuses what a client would.
func TestPublishRefusesAStranger(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	mallory := harness.NewKey(t, "Mallory")
	wasm := tinyModule("one")
	err := w.PublishRelease(w.Release(tinyManifest("one"), wasm), wasm, mallory)
	wantUntrusted(t, err, abi.ReasonUnknownKey, string(mallory.Fingerprint()))
}

// What is changed on the disk after an install is refused at the next load; the
// other connector goes on, and the command in the hint mends it.
func TestTamperedAfterInstall(t *testing.T) {
	for name, a := range map[string]struct {
		do     func(w *harness.World)
		reason abi.Reason
		mended bool // by an install of the same version
	}{
		"module": {
			do: func(w *harness.World) {
				for path, data := range storeFiles(w, "one", ".wasm") {
					data[len(data)-1] ^= 1
					putFile(w.T, path, data)
				}
			},
			reason: abi.ReasonTampered, mended: true,
		},
		"module gone": {
			do: func(w *harness.World) {
				for path := range storeFiles(w, "one", ".wasm") {
					if err := os.Remove(path); err != nil {
						w.T.Fatal(err)
					}
				}
			},
			reason: abi.ReasonTampered, mended: true,
		},
		"release": {
			do: func(w *harness.World) {
				for path, data := range storeFiles(w, "one", ".json") {
					putFile(w.T, path, []byte(strings.Replace(string(data), `"destructive":false`, `"destructive":true`, 1)))
				}
			},
			reason: abi.ReasonTampered, mended: true,
		},
		"lock names another version": {
			do:     func(w *harness.World) { editLock(w, `"version":"1.0.0"`, `"version":"0.9.0"`) },
			reason: abi.ReasonWrongName,
		},
		"lock names the other's module": {
			do: func(w *harness.World) {
				one, two := hashOfModule(w, "one"), hashOfModule(w, "two")
				editLock(w, one, two)
			},
			reason: abi.ReasonWrongName,
		},
		"lock names a module that is not there": {
			do: func(w *harness.World) {
				editLock(w, hashOfModule(w, "one"), strings.Repeat("ab", 32))
			},
			reason: abi.ReasonWrongName,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := harness.New(t, harness.Options{NoSite: true})
			w.ReadyWith(tinyManifest("one"), tinyModule("one"))
			w.ReadyWith(tinyManifest("two"), tinyModule("two"))
			a.do(w)
			if err := w.Host.Reload(); err != nil {
				t.Fatal(err)
			}
			e := w.Host.Problems()[harness.Namespace+"/one"]
			wantUntrusted(t, e, a.reason, string(w.Keys.Publisher.Fingerprint()))
			if p := pluginState(w, "one"); p.State != host.StateFailing || p.Error == nil || p.Error.Reason != a.reason {
				t.Errorf("its state is %q: %+v", p.State, p.Error)
			}
			if e := w.WantCode(abi.ErrUntrusted, "one_run", struct{}{}); e.Hint == "" {
				t.Errorf("no hint: %v", e)
			}
			wantAnswer(w, "two")
			if !a.mended {
				return
			}
			if want := "drawbridge install acme/one@1.0.0"; e.Hint != want {
				t.Errorf("hint %q, want %q", e.Hint, want)
			}
			if err := w.Install("one"); err != nil {
				t.Fatalf("the command in the hint: %s", showErr(err))
			}
			wantAnswer(w, "one")
		})
	}
}

// storeFiles are the stored files of a plugin with their content.
func storeFiles(w *harness.World, id, ext string) map[string][]byte {
	w.T.Helper()
	loaded, err := w.Registry.Load(harness.Namespace + "/" + id)
	if err != nil {
		w.T.Fatal(err)
	}
	hash := loaded.Entry.Module.SHA256
	if ext == ".json" {
		hash = loaded.Entry.Release.SHA256
	}
	path := filepath.Join(w.Dir, "data", "store", hash+ext)
	data, err := os.ReadFile(path)
	if err != nil {
		w.T.Fatal(err)
	}
	return map[string][]byte{path: data}
}

func hashOfModule(w *harness.World, id string) string {
	w.T.Helper()
	loaded, err := w.Registry.Load(harness.Namespace + "/" + id)
	if err != nil {
		w.T.Fatal(err)
	}
	return loaded.Entry.Module.SHA256
}

// editLock replaces text in the lock file once: in the entry of plugin one,
// which comes first.
func editLock(w *harness.World, old, with string) {
	w.T.Helper()
	path := filepath.Join(w.Dir, "data", "lock.json")
	data, err := os.ReadFile(path)
	if err != nil {
		w.T.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		w.T.Fatalf("%q is not in the lock file:\n%s", old, data)
	}
	putFile(w.T, path, []byte(strings.Replace(string(data), old, with, 1)))
}

// A lock file that can't be read pins nothing: nothing new is loaded, what runs
// goes on, and the error names the file.
func TestDamagedLockFile(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	w.ReadyWith(tinyManifest("one"), tinyModule("one"))
	editLock(w, `"plugins":`, `"plugins" :`)
	err := w.Host.Reload()
	wantUntrusted(t, err, abi.ReasonMalformed, "lock.json")
	wantAnswer(w, "one")
	// A host that starts now has no plugin, and says why.
	w.Restart()
	wantUntrusted(t, w.Host.Problems()["lock.json"], abi.ReasonMalformed, "lock.json")
	if e := w.WantCode(abi.ErrNotFound, "one_run", struct{}{}); e.Hint != "drawbridge list" {
		t.Errorf("hint %q", e.Hint)
	}
	_, err = w.Host.Plugins(t.Context())
	wantUntrusted(t, err, abi.ReasonMalformed, "lock.json")
}

// Machine code that was changed in the cache is refused when it is called for,
// and an install of the same version compiles it again.
func TestTamperedMachineCode(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true, OwnCache: true})
	w.ReadyWith(tinyManifest("one"), tinyModule("one"))
	w.ReadyWith(tinyManifest("two"), tinyModule("two"))
	sum := hashOfModule(w, "one")
	path := compiledFile(w, sum)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	putFile(t, path, data)
	if err := w.Host.Reload(); err != nil {
		t.Fatal(err)
	}
	wantUntrusted(t, w.WantCode(abi.ErrUntrusted, "one_run", struct{}{}), abi.ReasonTampered, sum)
	wantAnswer(w, "two")
	if err := w.Install("one"); err != nil {
		t.Fatal(showErr(err))
	}
	wantAnswer(w, "one")
}

func compiledFile(w *harness.World, sum string) string {
	w.T.Helper()
	list, err := filepath.Glob(filepath.Join(w.Dir, "compiled", sum+".*"))
	if err != nil || len(list) != 1 {
		w.T.Fatalf("machine code of %s: %q, %v", sum, list, err)
	}
	return list[0]
}

// The cache may be cleared at any time, and another version of the engine finds
// nothing in it: what is installed is compiled again.
func TestClearedCacheIsMadeAgain(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true, OwnCache: true})
	w.ReadyWith(tinyManifest("one"), tinyModule("one"))
	if err := os.Remove(compiledFile(w, hashOfModule(w, "one"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Host.Reload(); err != nil {
		t.Fatal(err)
	}
	wantAnswer(w, "one")
}

// A module that says it has other tools than its release is not installed, and
// one that imports more is refused by name.
func TestModuleHasToFitItsRelease(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	w.Publish(tinyManifest("one"), tinyModule("two"))
	if err := w.AddRegistry(); err != nil {
		t.Fatal(err)
	}
	e, ok := w.Install("one").(*abi.Error) //nolint:errorlint // what the host returns is one
	if !ok || e.Code != abi.ErrInvalidResult || !strings.Contains(e.Error(), "two.run") || !strings.Contains(e.Error(), "one.run") {
		t.Errorf("describe of another connector: %v", e)
	}
	greedy := describing(wasmtest.Guest([]string{"read", "act"}, wasmtest.Output("{}")), "three")
	rel := w.Release(tinyManifest("three"), tinyModule("three"))
	sum := sha256.Sum256(greedy)
	rel.Module = abi.Module{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(greedy))}
	if err := w.PublishRelease(rel, greedy, w.Keys.Publisher); err != nil {
		t.Fatal(err)
	}
	e, ok = w.Install("three").(*abi.Error) //nolint:errorlint // likewise
	if !ok || e.Code != abi.ErrCapabilityDenied || !strings.Contains(e.Error(), "act") {
		t.Errorf("a module that imports act without having it in its release: %v", e)
	}
	if list, err := w.Host.Plugins(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("installed: %+v, %v", list, err)
	}
}

// Another address is another grant: setting one asks a person, although the
// version that is installed stays the same.
func TestChangedSettingIsAsked(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	text := strings.NewReplacer("    base_url: https://one.example", `    settings: [{name: base_url, type: url, title: Address, required: true}]
    base_url: "{base_url}"`, `["https://one.example/*"]`, `["{base_url}/*"]`).Replace(string(tinyManifest("one")))
	w.Publish([]byte(text), tinyModule("one"))
	if err := w.AddRegistry(); err != nil {
		t.Fatal(err)
	}
	asked := 0
	install := func(address string, answer func(host.Question) error) error {
		_, err := w.Host.Install(t.Context(), "acme/one", map[string]string{"base_url": address}, func(q host.Question) error {
			asked++
			if !strings.Contains(strings.Join(q.Lines, "\n"), address) {
				t.Errorf("%q is not among what is asked: %q", address, q.Lines)
			}
			return answer(q)
		}, func(string) {})
		return err
	}
	refuse := func(q host.Question) error { return w.Host.Questions.Answer(q.ID, "") }
	for _, step := range []struct {
		address string
		answer  func(host.Question) error
		fails   bool
		asked   int
	}{
		{"https://first.example", w.Agree, false, 1},
		{"https://first.example", refuse, false, 1}, // nothing changes, so nobody is asked
		{"https://second.example", refuse, true, 2},
		{"https://second.example", w.Agree, false, 3}, // the refused one was not kept
	} {
		err := install(step.address, step.answer)
		if (err != nil) != step.fails || step.fails && !errors.Is(err, abi.ErrConfirmationDenied) || asked != step.asked {
			t.Fatalf("%+v: asked %d times, %v", step, asked, err)
		}
	}
	wantAnswer(w, "one")
}

// A plugin is found by search and by install although it was published after the
// registry was added.
func TestPublishedAfterTheRegistryWasAdded(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	if err := w.AddRegistry(); err != nil {
		t.Fatal(err)
	}
	w.Publish(tinyManifest("one"), tinyModule("one"))
	res, err := w.Host.Search(t.Context(), host.SearchQuery{Text: "on"}, func(string) {})
	if err != nil || len(res.Found) != 1 || res.Found[0].Name != "acme/one" {
		t.Errorf("search: %+v, %v", res, err)
	}
	w.Publish(tinyManifest("two"), tinyModule("two"))
	if err := w.Install("two"); err != nil {
		t.Fatal(showErr(err))
	}
	wantAnswer(w, "two")
}
