// Command tracker is the connector for the sample tracker: the example that a
// new connector can start from.
package main

import "github.com/drawbridge-mcp/drawbridge/abi/sdk"

func plugin() sdk.Plugin {
	return sdk.Plugin{
		sdk.Tool("tracker.list", list),
		sdk.Tool("tracker.get", get),
		sdk.Tool("tracker.picture", picture),
		sdk.Tool("tracker.add_comment", addComment),
	}
}

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}
