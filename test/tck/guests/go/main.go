// Command go is the Go guest of the conformance kit: see test/tck/README.md.
package main

import (
	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type args struct {
	Text string `json:"text"`
}

type row struct {
	ID    int    `json:"id"`
	Title string `json:"title"`
}

var calls int

func plugin() sdk.Plugin {
	return sdk.Plugin{
		sdk.Tool("tck.echo", func(_ *sdk.Context, in args) (args, error) { return in, nil }),
		sdk.Tool("tck.context", context),
		sdk.Tool("tck.read", read),
		sdk.Tool("tck.act", act),
		sdk.Tool("tck.shot", shot),
		sdk.Tool("tck.fetch", fetch),
		sdk.Tool("tck.progress", progress),
		sdk.Tool("tck.expired", func(*sdk.Context, args) (args, error) { return args{}, sdk.AuthExpired("signed out") }),
	}
}

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}

func context(ctx *sdk.Context, _ args) (map[string]any, error) {
	calls++
	return map[string]any{
		"now": ctx.Now().UnixMilli(), "locale": ctx.Locale(), "calls": calls,
		"base_url": ctx.Setting("base_url"), "missing": ctx.Setting("missing"),
	}, nil
}

func read(ctx *sdk.Context, _ args) (map[string][]row, error) {
	res, err := ctx.Read(
		sdk.NavigateFor("/issues?q=ż", "#issues"),
		sdk.WaitState(".spinner", abi.StateDetached),
		sdk.Extract("rows", sdk.List("tr", sdk.IntAttr("id", "", "data-id"), sdk.Text("title", "td"))),
		sdk.Exists("more", "a.next"),
		abi.Step{Op: abi.OpPage, As: "page"},
		sdk.HTML("html", "main", 1000),
		abi.Step{Op: abi.OpSnapshot, As: "tree", Selector: "main", Max: 1000},
	)
	if err != nil {
		return nil, err
	}
	rows, err := sdk.Rows[row](res, "rows")
	return map[string][]row{"rows": rows}, err
}

func act(ctx *sdk.Context, in args) (struct{}, error) {
	_, err := ctx.Act(
		sdk.Fill("#body", in.Text), sdk.Select("#state", "closed"), sdk.Check("#notify", true),
		sdk.Press("#body", "Tab"), sdk.ClickFor("#send", "#flash"),
	)
	return struct{}{}, err
}

func shot(ctx *sdk.Context, _ args) (map[string]abi.ImageHandle, error) {
	res, err := ctx.Screenshot(sdk.Shot("picture", "#chart"))
	if err != nil {
		return nil, err
	}
	picture, err := res.Image("picture")
	return map[string]abi.ImageHandle{"picture": picture}, err
}

func fetch(ctx *sdk.Context, _ args) (map[string]any, error) {
	a, err := ctx.Fetch(abi.FetchRequest{Method: "GET", Path: "/api", Parse: abi.ParseText})
	if err != nil {
		return nil, err
	}
	return map[string]any{"status": a.Status, "text": a.Text}, nil
}

func progress(ctx *sdk.Context, in args) (struct{}, error) {
	ctx.Progress(1, 2, "half")
	ctx.Log(in.Text)
	return struct{}{}, nil
}
