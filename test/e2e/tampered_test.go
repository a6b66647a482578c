package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

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
