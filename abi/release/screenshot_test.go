package release

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A person who installs a connector is told that it sends pictures, and is asked
// again when an update begins to.
func TestExplainTellsOfPictures(t *testing.T) {
	with := func(c ...abi.Capability) abi.Release {
		return abi.Release{Connectors: []abi.Connector{{ID: "sample", Tools: []abi.Tool{{Name: "look", Capabilities: c}}}}}
	}
	told := func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), "PICTURES") }
	if !told(Explain(with(abi.CapRead, abi.CapScreenshot), nil)) || told(Explain(with(abi.CapRead), nil)) {
		t.Error("pictures are not told of, or always")
	}
	c := Compare(with(abi.CapRead), with(abi.CapRead, abi.CapScreenshot), nil)
	if !slices.ContainsFunc(c, func(c Change) bool { return c.Kind == Wider && told([]string{c.Text}) }) {
		t.Errorf("an update that begins to take pictures changes %+v", c)
	}
}
