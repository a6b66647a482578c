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
	list := []listedPlugin{{
		PluginInfo: host.PluginInfo{
			Name: "acme/suite", Version: "1.0.0", Category: "connector", State: "ready", Connectors: []string{"a", "b"},
			Health:  []host.ConnectorHealth{{Connector: "b", State: "failing"}, {Connector: "a", State: "ok"}},
			Channel: "beta", Pinned: true, Signer: "0123ABCD",
		},
		Settings: []host.SettingInfo{{Name: "base_url", Type: "url", Title: "Address", Value: "https://t.example"}, {Name: "api_token", Type: "string", Title: "Token", Hidden: true}},
	}}
	var short, long bytes.Buffer
	printPlugins(&short, list, false)
	printPlugins(&long, list, true)
	if !strings.Contains(short.String(), "a (ok), b (failing)") || strings.Contains(short.String(), "CATEGORY") {
		t.Errorf("list prints\n%s", &short)
	}
	for _, want := range []string{"\tbeta, pinned\t", "\t0123ABCD", `base_url (url, "Address"): https://t.example`, "api_token (string, \"Token\"): set, not shown"} {
		if !strings.Contains(short.String(), want) {
			t.Errorf("list does not print %q:\n%s", want, &short)
		}
	}
	if !strings.Contains(long.String(), "CATEGORY") || !strings.Contains(long.String(), "\tconnector\n") {
		t.Errorf("list --all prints\n%s", &long)
	}
}
