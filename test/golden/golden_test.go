package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// A recorder is a test that only notes that it failed.
type recorder struct {
	testing.TB
	failed bool
	said   string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failed, r.said = true, fmt.Sprintf(format, args...)
}

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

// A long file that differs in a line is told by that line.
func TestCheckTellsWhatDiffers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d\n", i)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	lines[500] = "another\n"
	r := &recorder{TB: t}
	golden.Check(r, path, []byte(strings.Join(lines, "")))
	if !strings.Contains(r.said, "-line 500\n+another\n") || len(r.said) > 1000 {
		t.Errorf("it says %q", r.said)
	}
}
