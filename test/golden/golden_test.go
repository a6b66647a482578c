package golden_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// A recorder is a test that only notes that it failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	for got, fails := range map[string]bool{"as it was": false, "as it was\n": true, "": true} {
		r := &recorder{TB: t}
		want := golden.Check(r, path, []byte(got))
		if r.failed != fails || string(want) != "as it was" {
			t.Errorf("%q: failed %t with %q", got, r.failed, want)
		}
	}
}
