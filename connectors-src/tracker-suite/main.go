// Command tracker-suite is one plugin with two connectors for the sample tracker,
// its issues and its projects, which share a login. It shows what a plugin for a
// vendor's suite looks like.
package main

import "github.com/drawbridge-mcp/drawbridge/abi/sdk"

func plugin() sdk.Plugin {
	return sdk.Plugin{
		sdk.Tool("trackerissues.list", listIssues),
		sdk.Tool("trackerprojects.list", listProjects),
		sdk.Tool("trackerprojects.get", getProject),
	}
}

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}
