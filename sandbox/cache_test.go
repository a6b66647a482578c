package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

func answering(s string) []byte { return wasmtest.Guest(nil, wasmtest.Output(s)).Bytes() }

func TestCacheOutlivesTheSandbox(t *testing.T) {
	dir := t.TempDir()
	wasm := answering(`{"a":1}`)
	first := openTestIn(t, dir, testLimits(), nil)
	if _, err := first.Compile(t.Context(), wasm); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := openTestIn(t, dir, testLimits(), nil)
	m, err := second.Module(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := second.liveWorkers(); n != 0 {
		t.Errorf("opening a module started %d workers", n)
	}
	if out, err := m.Run(t.Context(), Call{Export: ExportCall}); err != nil || string(out) != `{"a":1}` {
		t.Errorf("output %s, %v", out, err)
	}
}

func TestModuleNotCompiled(t *testing.T) {
	s := openTest(t, testLimits())
	if _, err := s.Module(answering(`{}`), nil); !errors.Is(err, ErrNotCompiled) {
		t.Errorf("error %v", err)
	}
	_, err := s.Module([]byte("x"), nil)
	wantReason(t, err, abi.ReasonMalformed)
}

// TestTamperedCache changes stored machine code in every way that does not need
// the key. Each is noticed before a worker sees it, and compiling again mends it.
func TestTamperedCache(t *testing.T) {
	s := openTest(t, testLimits())
	wasm, other := answering(`{"a":1}`), answering(`{"b":2}`)
	for _, w := range [][]byte{wasm, other} {
		if _, err := s.Compile(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	path, otherPath := s.store.path(moduleSum(wasm)), s.store.path(moduleSum(other))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(i int) func() []byte {
		return func() []byte {
			b := bytes.Clone(good)
			b[i] ^= 1
			return b
		}
	}
	head := len(cacheMagic)
	tests := map[string]func() []byte{
		"swapped": func() []byte {
			b, err := os.ReadFile(otherPath)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		"magic":             flip(0),
		"first byte of MAC": flip(head),
		"last byte of MAC":  flip(head + 31),
		"name":              flip(head + 32 + 5),
		"middle":            flip(len(good) / 2),
		"last byte":         flip(len(good) - 1),
		"cut":               func() []byte { return good[:len(good)-1] },
		"longer":            func() []byte { return append(bytes.Clone(good), 0) },
		"empty":             func() []byte { return nil },
		"only magic":        func() []byte { return good[:head] },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, change(), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := s.Module(wasm, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			poll(t, "the last test's worker ending", func() bool { return s.liveWorkers() == 0 })
			_, err = m.Run(t.Context(), Call{Export: ExportCall})
			wantReason(t, err, abi.ReasonTampered)
			if n := s.liveWorkers(); n != 0 {
				t.Errorf("%d workers were started", n)
			}
			if _, err := s.Compile(t.Context(), wasm); err != nil {
				t.Fatal(err)
			}
			if out, err := m.Run(t.Context(), Call{Export: ExportCall}); err != nil || string(out) != `{"a":1}` {
				t.Errorf("after compiling again: %s, %v", out, err)
			}
		})
	}
}

// TestOtherEngine seals code for another engine version under this one's name.
func TestOtherEngine(t *testing.T) {
	dir := t.TempDir()
	store, err := openCacheStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	old := *store
	old.engine = "wazero-v0.0.1"
	if err := old.seal("00", []cacheFile{{"w/" + strings.Repeat("a", 64), []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.open("00"); !errors.Is(err, ErrNotCompiled) {
		t.Errorf("error %v", err)
	}
	b, err := os.ReadFile(old.path("00"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store.path("00"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = store.open("00")
	wantReason(t, err, abi.ReasonTampered)
}

func TestEngineName(t *testing.T) {
	got := engineName(&debug.BuildInfo{Deps: []*debug.Module{
		{Path: "github.com/tetratelabs/wazero", Version: "v1.12.0"},
		{Path: "example.org/other", Version: "v9.0.0"},
		{Path: "github.com/extism/go-sdk", Version: "v1.7.1"},
	}})
	if want := "wazero-v1.12.0-extism-v1.7.1-" + runtime.GOOS + "-" + runtime.GOARCH; got != want {
		t.Errorf("engine %q, want %q", got, want)
	}
	if got := engineName(nil); !strings.HasPrefix(got, "wazero-dev-extism-dev-") {
		t.Errorf("engine %q", got)
	}
}

// TestStaleCode stores genuine code under a name that the engine does not look
// for, as after a move to another processor: nothing is compiled in its place.
func TestStaleCode(t *testing.T) {
	s := openTest(t, testLimits())
	wasm := answering(`{}`)
	m := mustModule(t, s, wasm)
	files, err := s.store.open(m.sum)
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		dir, _, _ := strings.Cut(files[i].name, "/")
		files[i].name = dir + "/" + strings.Repeat("0", 63) + string(rune('0'+i))
	}
	if err := s.store.seal(m.sum, files); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(t.Context(), Call{Export: ExportCall}); !errors.Is(err, ErrNotCompiled) {
		t.Errorf("error %v", err)
	}
}

func TestKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	var wg sync.WaitGroup
	keys := make([][]byte, 8)
	for i := range keys {
		wg.Go(func() {
			k, err := loadKey(path)
			if err != nil {
				t.Error(err)
			}
			keys[i] = k
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != keyBytes || !bytes.Equal(k, keys[0]) {
			t.Errorf("keys differ: %x, %x", k, keys[0])
		}
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

func TestKeyRefused(t *testing.T) {
	tests := map[string]func(path string) error{
		"readable by others": func(p string) error {
			return errors.Join(os.WriteFile(p, make([]byte, keyBytes), 0o600), os.Chmod(p, 0o644))
		},
		"short":       func(p string) error { return os.WriteFile(p, make([]byte, keyBytes-1), 0o600) },
		"long":        func(p string) error { return os.WriteFile(p, make([]byte, keyBytes+1), 0o600) },
		"empty":       func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"a directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"a link": func(p string) error {
			return errors.Join(os.WriteFile(p+".real", make([]byte, keyBytes), 0o600), os.Symlink(p+".real", p))
		},
	}
	for name, lay := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := lay(filepath.Join(dir, "key")); err != nil {
				t.Fatal(err)
			}
			if s, err := Open(t.Context(), Config{Dir: dir}); err == nil {
				t.Errorf("opened: %v", s.Close())
			}
		})
	}
	if _, err := Open(t.Context(), Config{Dir: "relative"}); err == nil {
		t.Error("a relative directory is accepted")
	}
}

func TestHarvestRefuses(t *testing.T) {
	hash := strings.Repeat("a", 64)
	tests := map[string]func(dir string) error{
		"other name":    func(d string) error { return os.WriteFile(filepath.Join(d, "w", "x"), nil, 0o600) },
		"at the top":    func(d string) error { return os.WriteFile(filepath.Join(d, hash), nil, 0o600) },
		"link":          func(d string) error { return os.Symlink("/etc/passwd", filepath.Join(d, "w", hash)) },
		"linked folder": func(d string) error { return os.Symlink("/etc", filepath.Join(d, "v")) },
		"too many": func(d string) error {
			for i := range maxCacheFiles + 1 {
				if err := os.WriteFile(filepath.Join(d, "w", hash[:63]+string(rune('0'+i))), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		"too large": func(d string) error {
			p := filepath.Join(d, "w", hash)
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, maxCacheBytes+1))
		},
	}
	for name, lay := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "w"), 0o700), lay(dir)); err != nil {
				t.Fatal(err)
			}
			if files, err := harvest(dir); err == nil {
				t.Errorf("harvested %d files", len(files))
			}
		})
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := openTestIn(t, dir, testLimits(), nil)
	left, err := s.store.privateDir([]cacheFile{{"w/" + strings.Repeat("a", 64), []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	s.store.sweep(1 << 62)
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a fresh directory is swept: %v", err)
	}
	s.store.sweep(-1)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old directory stays: %v", err)
	}
}

func FuzzUnpackCache(f *testing.F) {
	name := "wazero-v1.12.0-amd64-linux/" + strings.Repeat("0a", 32)
	f.Add(packCache([]cacheFile{{name, []byte("code")}, {name, nil}}))
	f.Add(packCache([]cacheFile{{"../" + strings.Repeat("0a", 32), nil}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		files, err := unpackCache(in)
		if err != nil {
			return
		}
		if !bytes.Equal(packCache(files), in) {
			t.Errorf("%q is not what it unpacks to", in)
		}
		if slices.ContainsFunc(files, func(c cacheFile) bool { return !filepath.IsLocal(c.name) }) {
			t.Errorf("%q names a file elsewhere", in)
		}
	})
}
