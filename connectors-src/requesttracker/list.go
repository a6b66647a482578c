package main

import (
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

// Format asks Request Tracker for one row a ticket with these columns, whatever
// the account's own settings are. It stands in plugin.yaml too.
const format = "'__id__','__Subject__',Status,QueueName,Owner,Priority,Requestors,Created,LastUpdated,Due"

// The queries that plugin.yaml lists word for word.
const (
	mine    = "Owner = '__CurrentUser__' AND Status = '__Active__'"
	visible = "id > 0"
)

type listInput struct {
	Limit int `json:"limit"`
}

type searchInput struct {
	Subject   string `json:"subject"`
	Status    string `json:"status"`
	Queue     string `json:"queue"`
	Owner     string `json:"owner"`
	Requestor string `json:"requestor"`
	Limit     int    `json:"limit"`
}

type listOutput struct {
	Total   int         `json:"total"`
	Tickets []ticketRow `json:"tickets"`
}

type ticketRow struct {
	ID         int      `json:"id"`
	Subject    string   `json:"subject"`
	Status     string   `json:"status"`
	Queue      string   `json:"queue"`
	Owner      *string  `json:"owner"`
	Priority   string   `json:"priority"`
	Requestors []string `json:"requestors"`
	Created    *string  `json:"created"`
	Updated    *string  `json:"updated"`
	Due        *string  `json:"due"`
	URL        string   `json:"url"`
}

func listMyTickets(ctx *sdk.Context, in listInput) (listOutput, error) {
	return list(ctx, mine, in.Limit)
}

func searchTickets(ctx *sdk.Context, in searchInput) (listOutput, error) {
	return list(ctx, in.query(), in.Limit)
}

// Query writes TicketSQL. Text of the caller stands in it as quoted strings
// alone.
func (in searchInput) query() string {
	var terms []string
	add := func(term, value string) {
		if value != "" {
			terms = append(terms, term+" "+quote(value))
		}
	}
	add("Subject LIKE", in.Subject)
	switch in.Status {
	case "active":
		add("Status =", "__Active__")
	case "inactive":
		add("Status =", "__Inactive__")
	default:
		add("Status =", in.Status)
	}
	add("Queue =", in.Queue)
	switch in.Owner {
	case "me":
		add("Owner =", "__CurrentUser__")
	case "nobody":
		add("Owner =", "Nobody")
	default:
		add("Owner =", in.Owner)
	}
	if strings.Contains(in.Requestor, "@") {
		add("Requestor.EmailAddress =", in.Requestor)
	} else {
		add("Requestor.Name =", in.Requestor)
	}
	if len(terms) == 0 {
		return visible
	}
	return strings.Join(terms, " AND ")
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// List reads the first page, which says how many there are, and then as many
// further ones as the limit asks for. It doesn't follow the page's link to the
// next page until there is none: the page behind the last one is the last one
// again.
func list(ctx *sdk.Context, query string, limit int) (listOutput, error) {
	if limit == 0 {
		limit = defaultLimit
	}
	out, err := firstPage(ctx, query)
	if err != nil {
		return listOutput{}, err
	}
	if out.Total == 0 {
		return out, checkRights(ctx, query)
	}
	want := min(out.Total, limit)
	last := (want + pageSize - 1) / pageSize
	for page := 2; page <= last; page += pagesPerTrip {
		more, err := pages(ctx, query, page, min(last, page+pagesPerTrip-1))
		if err != nil {
			return listOutput{}, err
		}
		out.Tickets = appendOlder(out.Tickets, more)
	}
	if len(out.Tickets) < want {
		return listOutput{}, sdk.Drift("the list says %d tickets and shows %d", out.Total, len(out.Tickets))
	}
	out.Tickets = out.Tickets[:want]
	tidy(ctx, out.Tickets)
	return out, nil
}

// AppendOlder appends the rows that are older than the last one. A ticket that was
// created after the first page was read moves all others down, and the last one of
// a page onto the next.
func appendOlder(rows, more []ticketRow) []ticketRow {
	for _, r := range more {
		if len(rows) == 0 || r.ID < rows[len(rows)-1].ID {
			rows = append(rows, r)
		}
	}
	return rows
}

func firstPage(ctx *sdk.Context, query string) (listOutput, error) {
	res, err := ctx.Read(
		sdk.Navigate(listPath(query, 1)),
		sdk.Extract("head", headSchema()),
		sdk.Extract("tickets", rowSchema()),
	)
	if err != nil {
		return listOutput{}, err
	}
	total, err := found(res)
	if err != nil {
		return listOutput{}, err
	}
	rows, err := sdk.Rows[ticketRow](res, "tickets")
	if err == nil && len(rows) != min(total, pageSize) {
		err = sdk.Drift("the list says %d tickets and its first page shows %d", total, len(rows))
	}
	return listOutput{Total: total, Tickets: rows}, err
}

// Found is how many tickets the page's heading says there are.
func found(res *sdk.Result) (int, error) {
	head, err := sdk.Row[struct {
		Heading string  `json:"heading"`
		Fault   *string `json:"fault"`
	}](res, "head")
	switch {
	case err != nil:
		return 0, err
	case head.Fault != nil:
		return 0, sdk.InvalidArgs("request tracker does not take the search: %q", *head.Fault)
	}
	n, ok := count(head.Heading)
	if !ok {
		return 0, sdk.Drift("the list's heading %q says no number", head.Heading)
	}
	return n, nil
}

// Pages reads the pages from first to last in one trip.
func pages(ctx *sdk.Context, query string, first, last int) ([]ticketRow, error) {
	var steps []abi.Step
	for page := first; page <= last; page++ {
		steps = append(steps, sdk.Navigate(listPath(query, page)), sdk.Extract(strconv.Itoa(page), rowSchema()))
	}
	res, err := ctx.Read(steps...)
	if err != nil {
		return nil, err
	}
	var all []ticketRow
	for page := first; page <= last; page++ {
		rows, err := sdk.Rows[ticketRow](res, strconv.Itoa(page))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// CheckRights tells an empty list from an account that may see nothing: Request
// Tracker shows "Found 0 tickets" for both. An account that sees no ticket at all
// is taken for one without rights.
func checkRights(ctx *sdk.Context, query string) error {
	total := 0
	if query != visible {
		res, err := ctx.Read(
			sdk.Navigate(sdk.Path("/Search/Results.html", "Query", visible, "Format", "'__id__'", "OrderBy", "id", "Order", "DESC", "Rows", "1")),
			sdk.Extract("head", headSchema()),
		)
		if err != nil {
			return err
		}
		if total, err = found(res); err != nil {
			return err
		}
	}
	if total == 0 {
		return sdk.Forbidden("the signed-in account may see no ticket in any queue")
	}
	return nil
}

func listPath(query string, page int) string {
	number := ""
	if page > 1 {
		number = strconv.Itoa(page)
	}
	return sdk.Path("/Search/Results.html", "Query", query, "Format", format,
		"OrderBy", "id", "Order", "DESC", "Rows", strconv.Itoa(pageSize), "Page", number)
}

// HeadSchema reads the heading, which says how many tickets there are, and the
// message of a search that Request Tracker can't read.
func headSchema() abi.Extraction {
	return sdk.Fields(
		sdk.Text("heading", "body#comp-Search-Results #header h1"),
		sdk.Optional(sdk.Text("fault", ".error-titlebox .titlebox-content")),
	)
}

// RowSchema finds no rows where there are none: the caller compares their number
// with the heading's.
func rowSchema() abi.Extraction {
	schema := sdk.List("table.ticket-list tbody.list-item",
		sdk.IntAttr("id", "", "data-record-id"),
		abi.Col{Name: "subject", Selector: cell(2), Kind: abi.KindRaw},
		sdk.Text("status", cell(3)),
		sdk.Text("queue", cell(4)),
		sdk.Text("owner", cell(5)),
		sdk.Text("priority", cell(6)),
		sdk.Texts("requestors", "td:nth-child(7) .user"),
		sdk.Text("created", cell(8)),
		sdk.Text("updated", cell(9)),
		sdk.Text("due", cell(10)),
	)
	schema.Empty = "body#comp-Search-Results #header h1"
	return schema
}

// Cell selects what a cell shows. One that may be edited in place holds a form
// beside it.
func cell(n int) string {
	td := "td:nth-child(" + strconv.Itoa(n) + ")"
	return td + ":not(.editable), " + td + ".editable > .value > span:first-child"
}

// Tidy turns what Request Tracker writes for nothing into null, and dates into
// their ISO form.
func tidy(ctx *sdk.Context, rows []ticketRow) {
	for i := range rows {
		r := &rows[i]
		r.Owner = person(r.Owner)
		r.Created, r.Updated, r.Due = date(r.Created), date(r.Updated), date(r.Due)
		if r.Requestors == nil {
			r.Requestors = []string{}
		}
		r.URL = ticketURL(ctx, r.ID)
	}
}
