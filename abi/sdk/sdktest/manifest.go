//go:build !wasip1

package sdktest

import (
	"os"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// Manifest reads plugin.yaml as the host does and compares its tools with the
// plugin's. Put it into [Host.Manifest].
func Manifest(t *testing.T, path string, p sdk.Plugin) *abi.Manifest {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := release.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, c := range m.Connectors {
		for _, tool := range c.Tools {
			declared = append(declared, c.ID+"."+tool.Name)
		}
	}
	slices.Sort(declared)
	if served := p.Names(); !slices.Equal(served, declared) {
		t.Errorf("the module serves %q and %s declares %q", served, path, declared)
	}
	return &m
}

// Declared finds a tool by its dotted name, or fails the test.
func declared(t *testing.T, m *abi.Manifest, name string) *abi.Tool {
	t.Helper()
	for i := range m.Connectors {
		for j := range m.Connectors[i].Tools {
			if tool := &m.Connectors[i].Tools[j]; m.Connectors[i].ID+"."+tool.Name == name {
				return tool
			}
		}
	}
	t.Fatalf("the manifest has no tool %q", name)
	return nil
}

func checkSchema(t *testing.T, what string, schema, doc []byte) {
	t.Helper()
	s, err := release.CompileSchema(schema)
	if err != nil {
		t.Fatalf("schema of the %s: %v", what, err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("the %s does not fit its schema: %v", what, err)
	}
}
