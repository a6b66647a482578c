package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type getInput struct {
	ID int `json:"id"`
}

type ticket struct {
	ID           int           `json:"id"`
	Subject      string        `json:"subject"`
	Status       string        `json:"status"`
	Queue        string        `json:"queue"`
	Owner        *string       `json:"owner"`
	Priority     string        `json:"priority"`
	Requestors   []string      `json:"requestors"`
	Created      *string       `json:"created"`
	Updated      *string       `json:"updated"`
	Due          *string       `json:"due"`
	CustomFields []customField `json:"custom_fields"`
	History      []transaction `json:"history"`
	Truncated    bool          `json:"truncated"`
	URL          string        `json:"url"`
}

type customField struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

type transaction struct {
	ID          int          `json:"id"`
	Created     *string      `json:"created"`
	Author      string       `json:"author"`
	Event       string       `json:"event"`
	Text        string       `json:"text"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// GetTicket reads the page of a ticket, by which the host tells whether it exists
// and may be seen, and then the page of its history. The ticket's page may show a
// history too; whether, when and how much of it are settings of the account.
func getTicket(ctx *sdk.Context, in getInput) (ticket, error) {
	res, err := ctx.Read(
		sdk.Navigate(ticketPath(in.ID)),
		sdk.Extract("ticket", ticketSchema()),
		sdk.Extract("fields", fieldSchema()),
		sdk.Navigate("/Ticket/History.html?id="+strconv.Itoa(in.ID)),
		sdk.Extract("history", historySchema()),
	)
	if err != nil {
		return ticket{}, err
	}
	out, err := basics(res, in.ID)
	if err != nil {
		return ticket{}, err
	}
	if out.CustomFields, err = sdk.Rows[customField](res, "fields"); err != nil {
		return ticket{}, err
	}
	for i := range out.CustomFields {
		out.CustomFields[i].Name = strings.TrimSuffix(out.CustomFields[i].Name, ":")
	}
	out.History, err = history(res)
	out.Truncated, out.URL = res.Truncated, ticketURL(ctx, in.ID)
	return out, err
}

func basics(res *sdk.Result, id int) (ticket, error) {
	out, err := sdk.Row[ticket](res, "ticket")
	if err != nil {
		return ticket{}, err
	}
	subject, ok := strings.CutPrefix(out.Subject, "#"+strconv.Itoa(id)+": ")
	if !ok || out.ID != id {
		return ticket{}, sdk.Drift("the page of ticket %d shows ticket %d, with the heading %q", id, out.ID, out.Subject)
	}
	out.Subject = subject
	out.Owner = person(out.Owner)
	out.Created, out.Due = date(out.Created), date(out.Due)
	if out.Updated != nil {
		when, _, _ := strings.Cut(*out.Updated, " by ")
		out.Updated = date(&when)
	}
	if out.Requestors == nil {
		out.Requestors = []string{}
	}
	return out, nil
}

// TicketSchema reads what is shown, which stands before the forms that edit the
// same fields in place.
func ticketSchema() abi.Extraction {
	const people, dates = ".ticket-summary .ticket-info-people ", ".ticket-summary .ticket-info-dates "
	return sdk.Fields(
		abi.Col{Name: "subject", Selector: "body#comp-Ticket-Display #header h1", Kind: abi.KindRaw},
		sdk.Int("id", ".ticket-summary .ticket-info-basics .id .value"),
		sdk.Text("status", ".ticket-summary .ticket-info-basics .status .value"),
		sdk.Text("priority", ".ticket-summary .ticket-info-basics .priority .value .Priority"),
		sdk.Text("queue", ".ticket-summary .ticket-info-basics .queue .value"),
		sdk.Optional(sdk.Text("owner", people+".owner .value .user")),
		sdk.Texts("requestors", people+".requestors .value .user"),
		sdk.Text("created", dates+".created .value"),
		sdk.Text("updated", dates+".updated .value"),
		sdk.Optional(sdk.Text("due", dates+".due:not(.unset-field) .value")),
	)
}

func fieldSchema() abi.Extraction {
	schema := sdk.List(".ticket-summary .form-row.custom-field:not(.unset-field)",
		sdk.Text("name", ".label > span"),
		sdk.Texts("values", ".value > .current-value:not(:has(> ul)), .value > .current-value > ul > li"),
	)
	schema.Empty = ".ticket-summary"
	return schema
}

// Part of a transaction: RT shows a link to each part, and next to it its text.
// Rich text is told by the elements that plain text never has.
const (
	named = ".downloadattachment:has(.downloadfilename)"
	rich  = ":has(p, ul, ol, table, blockquote, pre, h1, h2, h3, h4)"
	body  = ".downloadattachment:not(:has(.downloadfilename)) + .messagebody > .message-stanza"
)

func historySchema() abi.Extraction {
	text := func(name, selector string, kind abi.ColKind) abi.Col {
		return abi.Col{Name: name, Selector: selector, Kind: kind, List: true, Optional: true}
	}
	files := sdk.List(named, sdk.Attr("link", "a[href]", "href"), sdk.Text("name", ".downloadfilename"))
	return sdk.List("body#comp-Ticket-History .history .transaction",
		sdk.IntAttr("id", "", "data-transaction-id"),
		sdk.Text("created", ".metadata .date"),
		sdk.Text("author", ".metadata .description .user"),
		sdk.Text("event", ".metadata .description"),
		text("plain", body+":not("+rich+")", abi.KindPre),
		text("rich", body+rich, abi.KindLines),
		sdk.Texts("folds", body+" .message-stanza-folder"),
		sdk.Optional(sdk.Nested("files", files)),
	)
}

type historyRow struct {
	ID      int      `json:"id"`
	Created *string  `json:"created"`
	Author  string   `json:"author"`
	Event   string   `json:"event"`
	Plain   []string `json:"plain"`
	Rich    []string `json:"rich"`
	Folds   []string `json:"folds"`
	Files   []struct {
		Link string `json:"link"`
		Name string `json:"name"`
	} `json:"files"`
}

// History is in the order in which it happened, whatever order the account has
// chosen.
func history(res *sdk.Result) ([]transaction, error) {
	rows, err := sdk.Rows[historyRow](res, "history")
	if err != nil {
		return nil, err
	}
	out := make([]transaction, 0, len(rows))
	for _, r := range rows {
		t, err := r.transaction()
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b transaction) int {
		return cmp.Or(strings.Compare(*a.Created, *b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (r historyRow) transaction() (transaction, error) {
	t := transaction{ID: r.ID, Created: date(r.Created), Author: r.Author, Attachments: []attachment{}}
	if t.Created == nil {
		return t, sdk.Drift("transaction %d has no date", r.ID)
	}
	t.Event = strings.TrimPrefix(strings.TrimPrefix(r.Event, r.Author), " - ")
	t.Text = r.text()
	for _, f := range r.Files {
		id, ok := attachmentID(f.Link)
		if !ok {
			return t, sdk.Drift("%q is no link to an attachment", f.Link)
		}
		t.Attachments = append(t.Attachments, attachment{ID: id, Name: f.Name})
	}
	return t, nil
}

// Text takes out the line that RT puts behind a message, and the button that
// unfolds what is quoted.
func (r historyRow) text() string {
	texts := slices.Concat(r.Plain, r.Rich)
	for i, s := range texts {
		for _, fold := range r.Folds {
			s = strings.Replace(s, fold+"\n", "", 1)
		}
		texts[i] = strings.TrimSuffix(s, "\n")
	}
	return strings.Join(texts, "\n")
}

// AttachmentID reads the id from Attachment/TRANSACTION/ID/NAME.
func attachmentID(link string) (int, bool) {
	_, rest, ok := strings.Cut(link, "Attachment/")
	parts := strings.SplitN(rest, "/", 3)
	if !ok || len(parts) < 3 {
		return 0, false
	}
	id, err := strconv.Atoi(parts[1])
	return id, err == nil
}
