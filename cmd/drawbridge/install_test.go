package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

func TestListHasConnectorsOnly(t *testing.T) {
	for category, want := range map[abi.Category]bool{
		abi.CategoryConnector: true, "": true, // what can't be read may be one
		abi.CategoryPipelineNode: false, abi.CategoryMCPServer: false, abi.CategoryTool: false, abi.CategoryOther: false,
	} {
		if got := isConnector(host.PluginInfo{Category: string(category)}); got != want {
			t.Errorf("category %q is listed: %v", category, got)
		}
	}
}

func TestListShowsHealthAndCategory(t *testing.T) {
	list := []host.PluginInfo{{
		Name: "acme/suite", Version: "1.0.0", Category: "connector", State: "ready", Connectors: []string{"a", "b"},
		Health: []host.ConnectorHealth{{Connector: "b", State: "failing"}, {Connector: "a", State: "ok"}},
	}}
	var short, long bytes.Buffer
	printPlugins(&short, list, false)
	printPlugins(&long, list, true)
	if !strings.Contains(short.String(), "a (ok), b (failing)") || strings.Contains(short.String(), "CATEGORY") {
		t.Errorf("list prints\n%s", &short)
	}
	if !strings.Contains(long.String(), "CATEGORY") || !strings.HasSuffix(long.String(), "\tconnector\n") {
		t.Errorf("list --all prints\n%s", &long)
	}
}
