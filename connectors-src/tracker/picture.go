package main

import (
	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type pictureOutput struct {
	ID        int             `json:"id"`
	Picture   abi.ImageHandle `json:"picture"`
	Text      string          `json:"text"`
	Truncated bool            `json:"truncated"`
	URL       string          `json:"url"`
}

// MaxTold is how much of a page is told as text, in bytes.
const maxTold = 16 << 10

// Picture shows an issue's page in one trip. The text says what the picture, which
// ends where the window does, has no room for.
func picture(ctx *sdk.Context, in getInput) (pictureOutput, error) {
	res, err := ctx.Screenshot(
		sdk.Navigate(issuePath(in.ID)),
		sdk.Wait(`#comments[data-state="ready"]`),
		sdk.Extract("issue", sdk.Fields(sdk.IntAttr("id", "#issue", "data-id"))),
		sdk.Shot("picture", ""),
		abi.Step{Op: abi.OpSnapshot, As: "text", Selector: "main", Max: maxTold},
	)
	if err != nil {
		return pictureOutput{}, err
	}
	shown, err := sdk.Row[struct {
		ID int `json:"id"`
	}](res, "issue")
	if err != nil {
		return pictureOutput{}, err
	}
	if shown.ID != in.ID {
		return pictureOutput{}, sdk.Drift("the page of issue %d shows issue %d", in.ID, shown.ID)
	}
	out := pictureOutput{ID: in.ID, URL: res.Page.URL}
	if out.Picture, err = res.Image("picture"); err != nil {
		return pictureOutput{}, err
	}
	out.Text, out.Truncated, err = res.Snapshot("text")
	return out, err
}
