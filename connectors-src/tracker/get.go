package main

import (
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type getInput struct {
	ID int `json:"id"`
}

type issue struct {
	ID        int       `json:"id"`
	Title     string    `json:"title"`
	Status    string    `json:"status"`
	Priority  string    `json:"priority"`
	Component string    `json:"component"`
	Labels    []string  `json:"labels"`
	Assignee  *string   `json:"assignee"`
	Reporter  string    `json:"reporter"`
	Created   string    `json:"created"`
	Updated   string    `json:"updated"`
	Due       *string   `json:"due"`
	Body      string    `json:"body"`
	Comments  []comment `json:"comments"`
	URL       string    `json:"url"`
}

type comment struct {
	ID      int    `json:"id"`
	Author  string `json:"author"`
	Created string `json:"created"`
	Body    string `json:"body"`
}

// Get reads an issue and its comments in one trip. The host has already told a
// missing or forbidden issue by the manifest's conditions.
func get(ctx *sdk.Context, in getInput) (issue, error) {
	res, err := ctx.Read(
		sdk.Navigate(issuePath(in.ID)),
		sdk.Wait(`#comments[data-state="ready"]`),
		sdk.Extract("issue", issueSchema()),
		sdk.Extract("comments", commentSchema()),
	)
	if err != nil {
		return issue{}, err
	}
	out, err := sdk.Row[issue](res, "issue")
	if err != nil {
		return issue{}, err
	}
	if out.ID != in.ID {
		return issue{}, sdk.Drift("the page of issue %d shows issue %d", in.ID, out.ID)
	}
	if out.Comments, err = sdk.Rows[comment](res, "comments"); err != nil {
		return issue{}, err
	}
	out.Assignee = nilIfEmpty(out.Assignee)
	out.Labels = orNone(out.Labels)
	out.URL = res.Page.URL
	return out, nil
}

func issuePath(id int) string { return "/issues/" + strconv.Itoa(id) }

func issueSchema() abi.Extraction {
	return sdk.Fields(
		sdk.IntAttr("id", "#issue", "data-id"),
		sdk.Text("title", "#issue .title"),
		sdk.Text("status", "#issue dd.status"),
		sdk.Text("priority", "#issue dd.priority"),
		sdk.Text("component", "#issue dd.component"),
		sdk.Texts("labels", "#issue dd.labels .label"),
		sdk.Attr("assignee", "#issue dd.assignee", "data-login"),
		sdk.Attr("reporter", "#issue dd.reporter", "data-login"),
		sdk.Attr("created", "#issue dd.created time", "datetime"),
		sdk.Attr("updated", "#issue dd.updated time", "datetime"),
		sdk.Optional(sdk.Attr("due", "#issue dd.due time", "datetime")),
		sdk.Raw("body", "#issue > .body"),
	)
}

func commentSchema() abi.Extraction {
	schema := sdk.List("#comments .comment",
		sdk.IntAttr("id", "", "data-id"),
		sdk.Attr("author", ".author", "data-login"),
		sdk.Attr("created", "time", "datetime"),
		sdk.Raw("body", ".body"),
	)
	schema.Empty = "#no-comments"
	return schema
}
