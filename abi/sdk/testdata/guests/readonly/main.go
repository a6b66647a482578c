// Command readonly is a connector that only reads.
package main

import "github.com/drawbridge-mcp/drawbridge/abi/sdk"

func plugin() sdk.Plugin { return sdk.Plugin{sdk.Tool("sample.title", title)} }

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}

type output struct {
	Title string `json:"title"`
}

func title(ctx *sdk.Context, _ struct{}) (output, error) {
	ctx.Log("reading")
	if err := ctx.Navigate("/"); err != nil {
		return output{}, err
	}
	text, err := ctx.Text("h1")
	return output{Title: text}, err
}
