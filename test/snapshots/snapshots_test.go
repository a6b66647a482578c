package snapshots

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

const (
	sources = "../../connectors-src"
	// notShipped is the connector that attacks, for the tests.
	notShipped = "trespasser"
	// maxTool is how long one tool's definition may be on the wire, in bytes: each
	// client pays for it in every conversation.
	maxTool = 4 << 10
)

// listing is a backend that lists.
type listing struct {
	mcpserver.Backend
	tools []host.ToolDef
}

func (l listing) Tools(context.Context, host.Principal) []host.ToolDef { return l.tools }

// connectors are those of a plugin.yaml, as a release of it has them.
func connectors(t *testing.T, dir string) []abi.Connector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := release.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, c := range m.Connectors {
		for _, tool := range c.Tools {
			for _, k := range tool.Capabilities {
				imports = append(imports, string(k))
			}
		}
	}
	slices.Sort(imports)
	r, err := release.Build(m, release.BuildInfo{Registry: "snapshots", Namespace: "test", Module: []byte("any"), Imports: slices.Compact(imports)})
	if err != nil {
		t.Fatal(err)
	}
	return r.Connectors
}

func TestConnectorsAsClientsSeeThem(t *testing.T) {
	dirs, err := filepath.Glob(sources + "/*/plugin.yaml")
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%d connectors: %v", len(dirs), err)
	}
	var names []string
	for _, file := range dirs {
		dir := filepath.Dir(file)
		if filepath.Base(dir) == notShipped {
			continue
		}
		for _, c := range connectors(t, dir) {
			var l listing
			for i := range c.Tools {
				l.tools = append(l.tools, host.Define(c.ID, &c.Tools[i]))
			}
			defs, err := mcpserver.New(l, mcpserver.Options{}).Definitions(t.Context(), host.Principal{})
			if err != nil || len(defs) != len(c.Tools) {
				t.Fatalf("%s: %d of %d tools are listed: %v", c.ID, len(defs), len(c.Tools), err)
			}
			for _, d := range defs {
				golden.Check(t, filepath.Join("testdata", d.Name+".json"), d.JSON)
				names = append(names, d.Name+".json")
				var wire bytes.Buffer
				if err := json.Compact(&wire, d.JSON); err != nil || wire.Len() > maxTool {
					t.Errorf("%s is %d bytes long, and %d at most: %v", d.Name, wire.Len(), maxTool, err)
				}
			}
			prompts(t, c, &names)
		}
	}
	noOthers(t, names)
}

// prompts holds what a connector's prompts say.
func prompts(t *testing.T, c abi.Connector, names *[]string) {
	t.Helper()
	for _, p := range c.Prompts {
		b, err := json.MarshalIndent(p, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		name := "prompt-" + c.ID + "_" + p.Name + ".json"
		golden.Check(t, filepath.Join("testdata", name), append(b, '\n'))
		*names = append(*names, name)
	}
}

// noOthers finds files of tools that are gone.
func noOthers(t *testing.T, names []string) {
	t.Helper()
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(names, f.Name()) {
			t.Errorf("testdata/%s: no connector has %s", f.Name(), strings.TrimSuffix(f.Name(), ".json"))
		}
	}
}
