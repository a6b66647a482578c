package main

import (
	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

const (
	pageSize     = 25 // rows of one page of the list
	defaultLimit = 100
)

type listInput struct {
	Status   string `json:"status"`
	Assignee string `json:"assignee"`
	Limit    int    `json:"limit"`
}

type listOutput struct {
	Total  int       `json:"total"`
	Issues []listRow `json:"issues"`
}

type listRow struct {
	ID        int      `json:"id"`
	Title     string   `json:"title"`
	Status    string   `json:"status"`
	Priority  string   `json:"priority"`
	Component string   `json:"component"`
	Labels    []string `json:"labels"`
	Assignee  *string  `json:"assignee"`
	Reporter  string   `json:"reporter"`
	Comments  int      `json:"comments"`
	Created   string   `json:"created"`
	Updated   string   `json:"updated"`
	Due       *string  `json:"due"`
	URL       string   `json:"url"`
}

// List reads the list page by page: the host follows the link to older issues
// until it has as many as were asked for.
func list(ctx *sdk.Context, in listInput) (listOutput, error) {
	if in.Limit == 0 {
		in.Limit = defaultLimit
	}
	res, err := ctx.Read(
		sdk.Navigate(sdk.Path("/issues", "status", in.Status, "assignee", in.Assignee)),
		sdk.Extract("head", sdk.Fields(sdk.IntAttr("total", "#count", "data-total"))),
		sdk.Extract("issues", listSchema(in.Limit)),
	)
	if err != nil {
		return listOutput{}, err
	}
	head, err := sdk.Row[listOutput](res, "head")
	if err != nil {
		return listOutput{}, err
	}
	issues, err := sdk.Rows[listRow](res, "issues")
	if err != nil {
		return listOutput{}, err
	}
	for i := range issues {
		issues[i].Assignee = nilIfEmpty(issues[i].Assignee)
		issues[i].Labels = orNone(issues[i].Labels)
	}
	return listOutput{Total: head.Total, Issues: issues}, nil
}

func listSchema(limit int) abi.Extraction {
	schema := sdk.List("#issues tr.issue",
		sdk.IntAttr("id", "", "data-id"),
		sdk.Text("title", "td.title"),
		sdk.Text("status", "td.status"),
		sdk.Text("priority", "td.priority"),
		sdk.Text("component", "td.component"),
		sdk.Texts("labels", "td.labels .label"),
		sdk.Attr("assignee", "td.assignee", "data-login"),
		sdk.Attr("reporter", "td.reporter", "data-login"),
		sdk.Int("comments", "td.comments"),
		sdk.Attr("created", "td.created time", "datetime"),
		sdk.Attr("updated", "td.updated time", "datetime"),
		sdk.Optional(sdk.Attr("due", "td.due time", "datetime")),
		sdk.URL("url", "td.title a"),
	)
	schema.Limit = limit
	schema.Empty = "#no-issues"
	if more := (limit - 1) / pageSize; more > 0 {
		schema.Next = &abi.Follow{Selector: "a.next", Max: more}
	}
	return schema
}

// NilIfEmpty turns the attribute of an issue that nobody is assigned to into null.
func nilIfEmpty(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return s
}

func orNone(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
