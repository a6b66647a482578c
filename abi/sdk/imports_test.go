//go:build !wasip1

package sdk_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A module's imports are the capabilities it asks for: what a connector never
// calls must not stand in its import section.
func TestImportsAreCapabilities(t *testing.T) {
	if testing.Short() {
		t.Skip("builds WASM modules")
	}
	for guest, want := range map[string][]string{
		"readonly": {"read"},
		"all":      {"act", "fetch", "progress", "read", "screenshot"},
	} {
		t.Run(guest, func(t *testing.T) {
			module := buildGuest(t, "./testdata/guests/"+guest)
			imports, exports := sections(t, module)
			var got []string
			for _, im := range imports {
				switch im[0] {
				case "drawbridge:host/v1":
					got = append(got, im[1])
				case "extism:host/env", "wasi_snapshot_preview1":
				default:
					t.Errorf("import from %q", im[0])
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("capabilities imported: %q, want %q", got, want)
			}
			for _, name := range []string{"call", "describe"} {
				if !slices.Contains(exports, name) {
					t.Errorf("no export %q among %q", name, exports)
				}
			}
			t.Logf("%s: %d bytes; imports %v", guest, len(module), imports)
		})
	}
}

func buildGuest(t *testing.T, pkg string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, text)
	}
	module, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// Sections reads the function imports (module and name) and the export names.
func sections(t *testing.T, module []byte) (imports [][2]string, exports []string) {
	t.Helper()
	if !strings.HasPrefix(string(module), "\x00asm\x01\x00\x00\x00") {
		t.Fatal("not a WASM module")
	}
	r := &reader{b: module[8:]}
	for len(r.b) > 0 {
		id := r.byte()
		body := &reader{b: r.take(int(r.uint()))}
		switch id {
		case 2:
			for range body.uint() {
				im := [2]string{body.name(), body.name()}
				if kind := body.byte(); kind != 0 {
					t.Fatalf("import %q is of kind %d, not a function", im, kind)
				}
				body.uint()
				imports = append(imports, im)
			}
		case 7:
			for range body.uint() {
				exports = append(exports, body.name())
				body.byte()
				body.uint()
			}
		}
	}
	return imports, exports
}

type reader struct{ b []byte }

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) take(n int) []byte {
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.b = r.b[n:]
	return v
}

func (r *reader) name() string { return string(r.take(int(r.uint()))) }
