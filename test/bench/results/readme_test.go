package results

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceInREADME(t *testing.T) {
	const old = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n"
	for _, tt := range []struct{ text, name, want string }{
		{old, "x", "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n"},
		{old, "y", ""},
		{"<!-- x: end -->\n<!-- x: begin -->\n", "x", ""},
		{"<!-- x: begin -->\n", "x", ""},
	} {
		path := filepath.Join(t.TempDir(), "README.md")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := replace(path, tt.name, "new\n")
		got, rerr := os.ReadFile(path)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if tt.want == "" {
			if err == nil || string(got) != tt.text {
				t.Errorf("replace(%q in %q) = %v, and left %q", tt.name, tt.text, err, got)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("replace(%q in %q) = %v, and left %q", tt.name, tt.text, err, got)
		}
	}
}
