package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
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
		_, err := w.Host.AddRegistry(t.Context(), w.RepoDir, fpr, func(q host.Question) error {
			t.Error("a person is asked about a registry that hasn't the fingerprint")
			return w.Host.Questions.Answer(q.ID, "")
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
