package main

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type commentInput struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

type commentOutput struct {
	ID      int    `json:"id"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

// Comment opens the ticket, because Request Tracker takes a form only from one
// of its own pages, and sends from there what its own form would send: as plain
// text, which the form's editor would turn into HTML. Request Tracker answers
// with a redirect to the ticket only if it has stored the comment.
func comment(ctx *sdk.Context, in commentInput) (commentOutput, error) {
	res, err := ctx.Read(sdk.Navigate(ticketPath(in.ID)), sdk.Extract("ticket", ticketSchema()))
	if err != nil {
		return commentOutput{}, err
	}
	if _, err := basics(res, in.ID); err != nil {
		return commentOutput{}, err
	}
	ans, err := ctx.Fetch(abi.FetchRequest{
		Method: "POST", Path: "/Ticket/Update.html", Accept: "text/html", Parse: abi.ParseHTML, Schema: new(resultSchema()),
		Body: &abi.FetchBody{Encoding: abi.EncodingURLEncoded, Fields: []abi.Field{
			{Name: "id", Value: strconv.Itoa(in.ID)},
			{Name: "UpdateType", Value: "private"},
			{Name: "UpdateContent", Value: in.Text},
			{Name: "UpdateContentType", Value: "text/plain"},
			{Name: "SubmitTicket", Value: "Update Ticket"},
		}},
	})
	if err != nil {
		return commentOutput{}, err
	}
	return outcome(ctx, in.ID, ans)
}

func resultSchema() abi.Extraction {
	return sdk.Fields(
		sdk.Texts("messages", ".action-results li"),
		sdk.Texts("csrf", csrfLink),
	)
}

// CsrfLink is the link of the page that Request Tracker shows in place of a
// request that it takes for forged. Nothing follows it: it would be carried out.
const csrfLink = `#body > p a[href*="CSRF_Token="]`

// An answerPage is what of the answer to a comment tells how it went.
type answerPage struct {
	Messages []string `json:"messages"`
	CSRF     []string `json:"csrf"`
}

func outcome(ctx *sdk.Context, id int, ans *abi.FetchAnswer) (commentOutput, error) {
	rows, err := sdk.FetchedRows[answerPage](ans)
	if err != nil {
		return commentOutput{}, err
	}
	if len(rows) != 1 {
		return commentOutput{}, sdk.Drift("the answer is %d pages", len(rows))
	}
	page, said := rows[0], strings.Join(rows[0].Messages, "; ")
	u, err := url.Parse(ans.URL)
	switch {
	case err != nil:
		return commentOutput{}, sdk.Drift("the answer came from %q", ans.URL)
	case len(page.CSRF) > 0:
		return commentOutput{}, sdk.Forbidden("request tracker took the comment for a forged request")
	case strings.HasSuffix(u.Path, "/NoAuth/Login.html"):
		return commentOutput{}, sdk.AuthExpired("the login ended before the comment was sent")
	case ans.Status == 403:
		return commentOutput{}, sdk.Forbidden("the signed-in account may not comment on ticket %d", id)
	case ans.Status == 404:
		return commentOutput{}, sdk.NotFound("no ticket %d", id)
	case !strings.HasSuffix(u.Path, "/Ticket/Display.html"), u.Query().Get("id") != strconv.Itoa(id), u.Query().Get("results") == "":
		return commentOutput{}, sdk.InvalidArgs("request tracker did not take the comment: status %d, %q", ans.Status, said)
	}
	return commentOutput{ID: id, Message: said, URL: ticketURL(ctx, id)}, nil
}
