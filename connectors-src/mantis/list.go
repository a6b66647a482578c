package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

const (
	pageSize     = 50 // rows of one page of the list; stands in plugin.yaml too
	defaultLimit = 50
	pagesPerTrip = 8 // an answer has to stay within its limit
)

type listInput struct {
	Status string `json:"status"`
	Limit  int    `json:"limit"`
}

type searchInput struct {
	Text      string `json:"text"`
	Status    string `json:"status"`
	ProjectID int    `json:"project_id"`
	Handler   string `json:"handler"`
	Reporter  string `json:"reporter"`
	Order     string `json:"order"`
	Limit     int    `json:"limit"`
}

type listOutput struct {
	Total int      `json:"total"`
	Bugs  []bugRow `json:"bugs"`
}

type bugRow struct {
	ID         int     `json:"id"`
	Summary    string  `json:"summary"`
	Status     string  `json:"status"`
	Resolution *string `json:"resolution"`
	Priority   *string `json:"priority"`
	Severity   *string `json:"severity"`
	Project    *string `json:"project"`
	Category   *string `json:"category"`
	Handler    *string `json:"handler"`
	Updated    *string `json:"updated"`
	Notes      int     `json:"notes"`
	URL        string  `json:"url"`
}

func listMyBugs(ctx *sdk.Context, in listInput) (listOutput, error) {
	status := in.Status
	if status == "" {
		status = "open"
	}
	return list(ctx, searchInput{Status: status, Handler: "me"}, in.Limit)
}

func searchBugs(ctx *sdk.Context, in searchInput) (listOutput, error) {
	return list(ctx, in, in.Limit)
}

// Path asks for a filter that MantisBT keeps in the session alone: without
// temporary=y it would take the place of the filter that the user has set. The
// project is named, because MantisBT else takes the one last chosen in this
// browser, and only the advanced view has a project of its own.
func (in searchInput) path() (string, error) {
	status, hidden, err := statusFilter(in.Status)
	if err != nil {
		return "", err
	}
	handler, err := userFilter("handler", in.Handler)
	if err != nil {
		return "", err
	}
	reporter, err := userFilter("reporter", in.Reporter)
	if err != nil {
		return "", err
	}
	sort, dir := "id", "DESC"
	switch in.Order {
	case "oldest":
		dir = "ASC"
	case "updated":
		sort = "last_updated"
	}
	return sdk.Path("/view_all_set.php", "type", "1", "temporary", "y", "new", "true",
		"view_type", "advanced", "project_id[]", strconv.Itoa(in.ProjectID), "hide_status", hidden, "status[]", status,
		"handler_id[]", handler, "reporter_id[]", reporter, "search", in.Text,
		"per_page", strconv.Itoa(pageSize), "sort", sort, "dir", dir), nil
}

// StatusFilter writes a status as the filter wants it: the number of one status,
// and from which number on statuses are left out. -2 leaves out none; 80 is
// resolved in every MantisBT whose statuses are its own.
func statusFilter(status string) (only, hidden string, err error) {
	switch status {
	case "", "all":
		return "", "-2", nil
	case "open":
		return "", "80", nil
	}
	if n, ok := statuses()[status]; ok {
		return strconv.Itoa(n), "-2", nil
	}
	if n, err := strconv.Atoi(status); err == nil && n > 0 && n < 1000 {
		return strconv.Itoa(n), "-2", nil
	}
	return "", "", sdk.InvalidArgs("status %q is neither open, all, a status of MantisBT nor a status's number", status)
}

func statuses() map[string]int {
	return map[string]int{"new": 10, "feedback": 20, "acknowledged": 30, "confirmed": 40, "assigned": 50, "resolved": 80, "closed": 90}
}

// UserFilter writes a person as the filter wants one: -1 is the signed-in user,
// -2 nobody. A login's number is nowhere on the list's page.
func userFilter(field, who string) (string, error) {
	switch who {
	case "":
		return "", nil
	case "me":
		return "-1", nil
	case "nobody":
		return "-2", nil
	}
	if n, err := strconv.Atoi(who); err == nil && n > 0 {
		return strconv.Itoa(n), nil
	}
	return "", sdk.InvalidArgs("%s %q is neither me, nobody nor the number of a user", field, who)
}

// List opens a filter, whose first page says how many bugs match, and then as
// many further pages as the limit asks for. It counts them: the page behind the
// last one is the last one again.
func list(ctx *sdk.Context, in searchInput, limit int) (listOutput, error) {
	if limit == 0 {
		limit = defaultLimit
	}
	path, err := in.path()
	if err != nil {
		return listOutput{}, err
	}
	out, filter, err := firstPage(ctx, path)
	if err != nil {
		return listOutput{}, err
	}
	want := min(out.Total, limit)
	last := (want + pageSize - 1) / pageSize
	for page := 2; page <= last; page += pagesPerTrip {
		more, err := pages(ctx, filter, page, min(last, page+pagesPerTrip-1))
		if err != nil {
			return listOutput{}, err
		}
		out.Bugs = appendNew(out.Bugs, more)
	}
	if len(out.Bugs) < want {
		return listOutput{}, sdk.Drift("the list says %d bugs and shows %d", out.Total, len(out.Bugs))
	}
	out.Bugs = out.Bugs[:want]
	for i := range out.Bugs {
		out.Bugs[i].Updated = date(out.Bugs[i].Updated)
		out.Bugs[i].URL = bugURL(ctx, out.Bugs[i].ID)
	}
	return out, nil
}

// AppendNew leaves out rows that are there already: a bug that came in after the
// first page was read moves all others down, and the last one of a page onto the
// next.
func appendNew(rows, more []bugRow) []bugRow {
	for _, r := range more {
		if !slices.ContainsFunc(rows, func(have bugRow) bool { return have.ID == r.ID }) {
			rows = append(rows, r)
		}
	}
	return rows
}

// FirstPage returns the key of the filter too: MantisBT redirects to a list that
// has it in its address.
func firstPage(ctx *sdk.Context, path string) (listOutput, string, error) {
	res, err := ctx.Read(sdk.Navigate(path), sdk.Extract("head", headSchema()), sdk.Extract("bugs", rowSchema()))
	if err != nil {
		return listOutput{}, "", err
	}
	head, err := sdk.Row[struct {
		Count string `json:"count"`
	}](res, "head")
	if err != nil {
		return listOutput{}, "", err
	}
	total, ok := count(head.Count)
	if !ok {
		return listOutput{}, "", sdk.Drift("the list's heading %q says no number", head.Count)
	}
	rows, err := tableRows(res, "bugs")
	if err == nil && len(rows) != min(total, pageSize) {
		err = sdk.Drift("the list says %d bugs and its first page shows %d", total, len(rows))
	}
	filter := ""
	if u, perr := url.Parse(res.Page.URL); perr == nil {
		filter = u.Query().Get("filter")
	}
	if err == nil && filter == "" && total > pageSize {
		err = sdk.Drift("the list at %q has no filter in its address", res.Page.URL)
	}
	return listOutput{Total: total, Bugs: rows}, filter, err
}

// Pages reads the pages from first to last in one trip.
func pages(ctx *sdk.Context, filter string, first, last int) ([]bugRow, error) {
	var steps []abi.Step
	for page := first; page <= last; page++ {
		steps = append(steps, sdk.Navigate(pagePath(filter, page)), sdk.Extract(strconv.Itoa(page), rowSchema()))
	}
	res, err := ctx.Read(steps...)
	if err != nil {
		return nil, err
	}
	var all []bugRow
	for page := first; page <= last; page++ {
		rows, err := tableRows(res, strconv.Itoa(page))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

func pagePath(filter string, page int) string {
	return sdk.Path("/view_all_bug_page.php", "filter", filter, "page_number", strconv.Itoa(page))
}

// Count reads how many there are in all from "1 - 50 / 76".
func count(heading string) (int, bool) {
	_, total, ok := strings.Cut(heading, "/")
	n, err := strconv.Atoi(strings.TrimSpace(total))
	return n, ok && err == nil && n >= 0
}

func headSchema() abi.Extraction {
	return sdk.Fields(sdk.Text("count", "#bug_action .widget-title .badge"))
}

// RowSchema reads what an account shows that has not chosen columns of its own;
// of those only the number, the summary and the status have to be there.
func rowSchema() abi.Extraction {
	schema := sdk.List("#buglist > tbody > tr",
		sdk.Int("id", "td.column-id"),
		sdk.Raw("summary", "td.column-summary"),
		sdk.Text("status", "td.column-status span[title]"),
		sdk.Optional(sdk.Attr("resolution", "td.column-status span[title]", "title")),
		sdk.Optional(sdk.Attr("priority", "td.column-priority i", "title")),
		sdk.Optional(sdk.Text("severity", "td.column-severity")),
		sdk.Optional(sdk.Text("project", "td.column-category .project a")),
		sdk.Optional(abi.Col{Name: "category", Selector: "td.column-category > div", Kind: abi.KindOwnText}),
		sdk.Optional(sdk.Text("handler", "td.column-status a")),
		sdk.Optional(sdk.Text("updated", "td.column-last-modified")),
		sdk.Optional(sdk.Int("notes", "td.column-bugnotes-count a")),
	)
	schema.Empty = "#buglist > thead"
	return schema
}

func tableRows(res *sdk.Result, as string) ([]bugRow, error) {
	rows, err := sdk.Rows[bugRow](res, as)
	for i := range rows {
		rows[i].Summary = strings.TrimSpace(rows[i].Summary)
	}
	return rows, err
}
