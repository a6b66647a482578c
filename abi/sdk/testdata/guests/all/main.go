// Command all is a connector that uses every capability.
package main

import (
	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

func plugin() sdk.Plugin { return sdk.Plugin{sdk.Tool("sample.all", all)} }

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}

type output struct {
	Status int `json:"status"`
}

func all(ctx *sdk.Context, _ struct{}) (output, error) {
	ctx.Progress(0, 1, "starting")
	if _, err := ctx.Read(sdk.Navigate("/")); err != nil {
		return output{}, err
	}
	if _, err := ctx.Act(sdk.Click("button")); err != nil {
		return output{}, err
	}
	if _, err := ctx.Screenshot(sdk.Shot("page", "")); err != nil {
		return output{}, err
	}
	ans, err := ctx.Fetch(abi.FetchRequest{Method: "GET", Path: "/x"})
	if err != nil {
		return output{}, err
	}
	return output{Status: ans.Status}, nil
}
