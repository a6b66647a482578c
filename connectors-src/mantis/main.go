// Command mantis is the connector for MantisBT 2.28.
package main

import "github.com/drawbridge-mcp/drawbridge/abi/sdk"

func plugin() sdk.Plugin {
	return sdk.Plugin{
		sdk.Tool("mantis.list_my_bugs", listMyBugs),
		sdk.Tool("mantis.search_bugs", searchBugs),
		sdk.Tool("mantis.get_bug", getBug),
		sdk.Tool("mantis.list_projects", listProjects),
		sdk.Tool("mantis.add_comment", addComment),
		sdk.Tool("mantis.create_bug", createBug),
		sdk.Tool("mantis.set_status", setStatus),
		sdk.Tool("mantis.assign", assign),
	}
}

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}
