package results

import (
	"fmt"
	"os"
	"strings"
)

// replace puts text between the lines "<!-- name: begin -->" and "<!-- name: end
// -->" of the file at path. A file without them is left as it is, and an error.
func replace(path, name, text string) error {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no markers for the table %q", path, name)
	}
	return os.WriteFile(path, []byte(before+begin+text+end+after), 0o644) //nolint:gosec // a README is for everybody to read
}
