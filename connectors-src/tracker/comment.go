package main

import (
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type commentInput struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
}

type commentOutput struct {
	Issue   int    `json:"issue"`
	Comment int    `json:"comment"`
	URL     string `json:"url"`
}

// AddComment fills the page's own form and presses its button, as a person
// would. The host lets exactly the request through that plugin.yaml lists, after
// a person has approved it; if it is cut off afterwards, the caller gets
// outcome_unknown and nothing is tried again.
func addComment(ctx *sdk.Context, in commentInput) (commentOutput, error) {
	res, err := ctx.Act(
		sdk.Navigate(issuePath(in.ID)),
		sdk.Fill("#comment-body", in.Body),
		sdk.ClickFor("#comment-submit", "#flash"),
		sdk.Extract("after", sdk.Fields(
			sdk.Text("flash", "#flash"),
			sdk.Optional(sdk.IntAttr("comment", "#comments .comment:last-of-type", "data-id")),
		)),
	)
	if err != nil {
		return commentOutput{}, err
	}
	after, err := sdk.Row[struct {
		Flash   string `json:"flash"`
		Comment *int   `json:"comment"`
	}](res, "after")
	if err != nil {
		return commentOutput{}, err
	}
	if after.Flash != "Comment added." {
		return commentOutput{}, sdk.InvalidArgs("the tracker did not take the comment: %q", after.Flash)
	}
	if after.Comment == nil {
		return commentOutput{}, sdk.Drift("the comment was added and is not on the page")
	}
	return commentOutput{Issue: in.ID, Comment: *after.Comment, URL: res.Page.URL}, nil
}
