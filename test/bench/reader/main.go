// Command reader is the connector of the benchmark: it reads one table, of the
// page where the tab is, and returns it.
package main

import (
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// Columns is how many columns the table has.
const columns = 12

type input struct {
	Load bool `json:"load"` // go to the page first
}

type table struct {
	Cols []string   `json:"cols"`
	Rows [][]string `json:"rows"`
}

func plugin() sdk.Plugin { return sdk.Plugin{sdk.Tool("reader.list", list)} }

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}

func list(ctx *sdk.Context, in input) (table, error) {
	cols := make([]abi.Col, columns)
	for i := range cols {
		n := strconv.Itoa(i)
		cols[i] = sdk.Text("c"+n, "td.c"+n)
	}
	steps := []abi.Step{sdk.Extract("rows", sdk.List("tr.row", cols...))}
	if in.Load {
		steps = append([]abi.Step{sdk.Navigate("/")}, steps...)
	}
	res, err := ctx.Read(steps...)
	if err != nil {
		return table{}, err
	}
	names, rows, err := sdk.Cells(res, "rows")
	return table{names, rows}, err
}
