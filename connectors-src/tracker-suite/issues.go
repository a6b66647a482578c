package main

import (
	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type issuesInput struct {
	Status string `json:"status"`
}

type issuesOutput struct {
	Total  int     `json:"total"`
	Issues []issue `json:"issues"`
}

type issue struct {
	ID       int     `json:"id"`
	Title    string  `json:"title"`
	Status   string  `json:"status"`
	Project  string  `json:"project"`
	Assignee *string `json:"assignee"`
}

// ListIssues reads the newest page of the list.
func listIssues(ctx *sdk.Context, in issuesInput) (issuesOutput, error) {
	schema := issueSchema()
	schema.Empty = "#no-issues"
	res, err := ctx.Read(
		sdk.Navigate(sdk.Path("/issues", "status", in.Status)),
		sdk.Extract("head", sdk.Fields(sdk.IntAttr("total", "#count", "data-total"))),
		sdk.Extract("issues", schema),
	)
	if err != nil {
		return issuesOutput{}, err
	}
	out, err := sdk.Row[issuesOutput](res, "head")
	if err != nil {
		return issuesOutput{}, err
	}
	out.Issues, err = issues(res)
	return out, err
}

// IssueSchema reads the rows that both connectors' pages show alike.
func issueSchema() abi.Extraction {
	return sdk.List("#issues tr.issue",
		sdk.IntAttr("id", "", "data-id"),
		sdk.Text("title", "td.title"),
		sdk.Text("status", "td.status"),
		sdk.Text("project", "td.component"),
		sdk.Attr("assignee", "td.assignee", "data-login"),
	)
}

func issues(res *sdk.Result) ([]issue, error) {
	rows, err := sdk.Rows[issue](res, "issues")
	for i := range rows {
		if a := rows[i].Assignee; a != nil && *a == "" {
			rows[i].Assignee = nil
		}
	}
	return rows, err
}
