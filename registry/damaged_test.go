package registry

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// What is kept of a registry holds the newest snapshot that was seen and what was
// revoked: an add does not take it away because it can't be read.
func TestAddKeepsADamagedState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	state := filepath.Join(f.registryDir(), "state.json")
	f.must(os.WriteFile(state, []byte("{"), 0o600))
	for range 2 {
		_, err := f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
		if _, ok := errors.AsType[*DamagedError](err); !ok {
			t.Errorf("the registry is added again: %v", err)
		}
		if data, err := os.ReadFile(state); err != nil || string(data) != "{" {
			t.Fatalf("the state is %q, %v", data, err)
		}
	}
}

// A mirror is not made of a registry's own folder, whatever link leads there.
func TestMirrorOntoItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := filepath.Join(t.TempDir(), "link.git")
	f.must(os.Symlink(f.origin, link))
	for _, dir := range []string{f.origin, link} {
		if _, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{}); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
