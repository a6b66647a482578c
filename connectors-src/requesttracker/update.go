package main

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type messageInput struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

type writeOutput struct {
	ID      int    `json:"id"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

func comment(ctx *sdk.Context, in messageInput) (writeOutput, error) {
	return update(ctx, in, "private")
}

func reply(ctx *sdk.Context, in messageInput) (writeOutput, error) {
	return update(ctx, in, "response")
}

// Update opens the ticket, because Request Tracker takes a form only from one of
// its own pages, and sends from there what its own form would send: as plain text,
// which the form's editor would turn into HTML.
func update(ctx *sdk.Context, in messageInput, kind string) (writeOutput, error) {
	res, err := ctx.Read(sdk.Navigate(ticketPath(in.ID)), sdk.Extract("ticket", ticketSchema()))
	if err != nil {
		return writeOutput{}, err
	}
	if _, err := basics(res, in.ID); err != nil {
		return writeOutput{}, err
	}
	page, err := send(ctx, "/Ticket/Update.html",
		"id", strconv.Itoa(in.ID), "UpdateType", kind, "UpdateContent", in.Text,
		"UpdateContentType", "text/plain", "SubmitTicket", "Update Ticket")
	if err != nil {
		return writeOutput{}, err
	}
	return page.output(ctx, in.ID)
}

// CsrfLink is the link of the page that Request Tracker shows in place of a
// request that it takes for forged. Nothing follows it: it would be carried out.
const csrfLink = `#body > p a[href*="CSRF_Token="]`

// An answerPage is what of the answer to a form tells how it went.
type answerPage struct {
	Messages []string `json:"messages"`
	CSRF     []string `json:"csrf"`
	Fault    *string  `json:"fault"`
	Status   *string  `json:"status"` // of the ticket that it shows

	id int
}

func resultSchema() abi.Extraction {
	return sdk.Fields(
		sdk.Texts("messages", ".action-results li"),
		sdk.Texts("csrf", csrfLink),
		sdk.Optional(sdk.Text("fault", "#body > .error")),
		sdk.Optional(sdk.Text("status", ".ticket-summary .ticket-info-basics .status .value")),
	)
}

// Send posts a form of pairs from the page in hand. Request Tracker redirects to
// the ticket, with results, only if it has done something.
func send(ctx *sdk.Context, path string, pairs ...string) (answerPage, error) {
	var fields []abi.Field
	for i := 0; i+1 < len(pairs); i += 2 {
		fields = append(fields, abi.Field{Name: pairs[i], Value: pairs[i+1]})
	}
	ans, err := ctx.Fetch(abi.FetchRequest{
		Method: "POST", Path: path, Accept: "text/html", Parse: abi.ParseHTML, Schema: new(resultSchema()),
		Body: &abi.FetchBody{Encoding: abi.EncodingURLEncoded, Fields: fields},
	})
	if err != nil {
		return answerPage{}, err
	}
	rows, err := sdk.FetchedRows[answerPage](ans)
	if err != nil {
		return answerPage{}, err
	}
	if len(rows) != 1 {
		return answerPage{}, sdk.Drift("the answer is %d pages", len(rows))
	}
	return rows[0], rows[0].judge(ans.Status, ans.URL)
}

// Judge tells by an answer whether the form was taken, and which ticket it was.
func (p *answerPage) judge(status int, at string) error {
	said := strings.Join(p.Messages, "; ")
	if p.Fault != nil {
		said = *p.Fault
	}
	u, err := url.Parse(at)
	switch {
	case err != nil:
		return sdk.Drift("the answer came from %q", at)
	case len(p.CSRF) > 0:
		return sdk.Forbidden("request tracker took the form for a forged request")
	case strings.HasSuffix(u.Path, "/NoAuth/Login.html"):
		return sdk.AuthExpired("the login ended before the form was sent")
	case status == 403:
		return sdk.Forbidden("the signed-in account may not do this: %q", said)
	case status == 404:
		return sdk.NotFound("no such ticket: %q", said)
	case !strings.HasSuffix(u.Path, "/Ticket/Display.html"), u.Query().Get("results") == "":
		return sdk.InvalidArgs("request tracker did not take it: status %d, %q", status, said)
	}
	if p.id, err = strconv.Atoi(u.Query().Get("id")); err != nil {
		return sdk.Drift("the answer came from %q", at)
	}
	return nil
}

// Output is what a tool that was to change ticket id returns.
func (p *answerPage) output(ctx *sdk.Context, id int) (writeOutput, error) {
	said := strings.Join(p.Messages, "; ")
	if p.id != id {
		return writeOutput{}, sdk.Drift("the answer is about ticket %d, not %d: %q", p.id, id, said)
	}
	return writeOutput{ID: id, Message: said, URL: ticketURL(ctx, id)}, nil
}
