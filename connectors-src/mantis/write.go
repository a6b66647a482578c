package main

import (
	"cmp"
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
	ID   int    `json:"id"`
	Note int    `json:"note"`
	URL  string `json:"url"`
}

type assignInput struct {
	ID        int    `json:"id"`
	HandlerID int    `json:"handler_id"`
	Handler   string `json:"handler"`
}

type bugOutput struct {
	ID      int     `json:"id"`
	Status  string  `json:"status"`
	Handler *string `json:"handler"`
	URL     string  `json:"url"`
}

// AddComment sends what the form of the bug's page would, with the token that
// MantisBT has put into that form.
func addComment(ctx *sdk.Context, in commentInput) (commentOutput, error) {
	res, err := open(ctx, in.ID, sdk.Exists("form", noteForm+" textarea"),
		sdk.Extract("note", sdk.Fields(sdk.Optional(abi.Col{Name: "size", Selector: noteForm + " input[name=max_file_size]", Kind: abi.KindValue}))))
	if err != nil {
		return commentOutput{}, err
	}
	if err := needForm(res, "bug %d takes no notes: it is resolved, or the signed-in account may not write any", in.ID); err != nil {
		return commentOutput{}, err
	}
	fields := []abi.Field{
		{Name: "bugnote_add_token", Token: noteForm + " input[name=bugnote_add_token]"},
		{Name: "bug_id", Value: strconv.Itoa(in.ID)},
		{Name: "bugnote_text", Value: in.Text},
	}
	form, err := sdk.Row[struct {
		Size string `json:"size"`
	}](res, "note")
	if err != nil {
		return commentOutput{}, err
	}
	if form.Size != "" {
		fields = append(fields, abi.Field{Name: "max_file_size", Value: form.Size})
	}
	page, err := send(ctx, "/bugnote_add.php", abi.EncodingMultipart, fields)
	if err == nil {
		err = page.shows(in.ID)
	}
	if err != nil {
		return commentOutput{}, err
	}
	// In the order that the account has chosen, the newest note is first or last.
	newest := 0
	for _, n := range page.Notes {
		id, _ := strconv.Atoi(strings.TrimPrefix(n, "~"))
		newest = max(newest, id)
	}
	return commentOutput{ID: in.ID, Note: newest, URL: bugURL(ctx, in.ID)}, nil
}

// Assign sends the small form of the bug's page. MantisBT makes an open bug
// "assigned" with it, and refuses it if somebody has changed the bug meanwhile.
func assign(ctx *sdk.Context, in assignInput) (bugOutput, error) {
	res, err := open(ctx, in.ID, sdk.Exists("form", assignForm+" select[name=handler_id]"),
		sdk.Extract("handlers", optionSchema(assignForm+" select[name=handler_id]")))
	if err != nil {
		return bugOutput{}, err
	}
	if err := needForm(res, "bug %d can't be assigned: it is resolved, or the signed-in account may not do it", in.ID); err != nil {
		return bugOutput{}, err
	}
	handlers, err := options(res, "handlers")
	if err != nil {
		return bugOutput{}, err
	}
	if err := choose("handler", handlers, in.HandlerID, in.Handler); err != nil {
		return bugOutput{}, err
	}
	page, err := send(ctx, "/bug_update.php", abi.EncodingURLEncoded, []abi.Field{
		{Name: "bug_update_token", Token: assignForm + " input[name=bug_update_token]"},
		{Name: "last_updated", Token: assignForm + " input[name=last_updated]"},
		{Name: "action_type", Value: "assign"},
		{Name: "handler_id", Value: strconv.Itoa(in.HandlerID)},
		{Name: "bug_id", Value: strconv.Itoa(in.ID)},
	})
	if err == nil {
		err = page.shows(in.ID)
	}
	if err != nil {
		return bugOutput{}, err
	}
	return page.output(ctx, in.ID), nil
}

// Open reads the bug's page, by which the host tells whether it exists and may be
// seen, and what else the steps ask for.
func open(ctx *sdk.Context, id int, more ...abi.Step) (*sdk.Result, error) {
	res, err := ctx.Read(append([]abi.Step{sdk.Navigate(bugPath(id)), sdk.Extract("bug", bugSchema())}, more...)...)
	if err != nil {
		return nil, err
	}
	_, err = basics(res, id)
	return res, err
}

func needForm(res *sdk.Result, format string, id int) error {
	if yes, err := res.Exists("form"); err != nil || yes {
		return err
	}
	return sdk.Forbidden(format, id)
}

// An answerPage is what tells how a request went, of whatever page came.
type answerPage struct {
	Status  int
	URL     *url.URL
	User    *string  `json:"user"`
	Faults  []string `json:"faults"`
	Notes   []string `json:"notes"`
	State   *string  `json:"state"`
	Handler *string  `json:"handler"`
}

func answerSchema() abi.Extraction {
	return sdk.Fields(
		sdk.Optional(sdk.Text("user", "#navbar .user-info")),
		sdk.Texts("faults", ".alert-danger > p"),
		sdk.Texts("notes", `#bugnotes tr.bugnote a[rel="bookmark"]`),
		sdk.Optional(sdk.Text("state", "td.bug-status")),
		sdk.Optional(sdk.Text("handler", "td.bug-assigned-to")),
	)
}

func send(ctx *sdk.Context, path string, enc abi.Encoding, fields []abi.Field) (*answerPage, error) {
	ans, err := ctx.Fetch(abi.FetchRequest{
		Method: "POST", Path: path, Accept: "text/html", Parse: abi.ParseHTML, Schema: new(answerSchema()),
		Body: &abi.FetchBody{Encoding: enc, Fields: fields},
	})
	if err != nil {
		return nil, err
	}
	rows, err := sdk.FetchedRows[answerPage](ans)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, sdk.Drift("the answer is %d pages", len(rows))
	}
	page := rows[0]
	page.Status = ans.Status
	if page.URL, err = url.Parse(ans.URL); err != nil {
		return nil, sdk.Drift("the answer came from %q", ans.URL)
	}
	return &page, page.fault()
}

// Fault tells the ways in which MantisBT refuses a form. It says 403 both to a
// token that it doesn't know and to an account that may not; nothing is stored in
// any of them.
func (p *answerPage) fault() error {
	said := strings.Join(p.Faults, " ")
	switch {
	case strings.HasSuffix(p.URL.Path, "/login_page.php"), p.User == nil:
		return sdk.AuthExpired("the login ended before the form was sent")
	case strings.Contains(said, "#2800"):
		return sdk.Forbidden("mantisbt did not take the form's token, nothing was stored: %s", said)
	case p.Status == 403:
		return sdk.Forbidden("the signed-in account may not do this: %s", cmp.Or(said, "access denied"))
	case p.Status == 404:
		return sdk.NotFound("mantisbt answers: %s", cmp.Or(said, "not found"))
	case p.Status != 200, said != "":
		return sdk.InvalidArgs("mantisbt did not take it, status %d: %s", p.Status, said)
	}
	return nil
}

// Shows says whether the page is the bug's, to which MantisBT redirects when it
// has taken a form.
func (p *answerPage) shows(id int) error {
	if !strings.HasSuffix(p.URL.Path, "/view.php") || p.URL.Query().Get("id") != strconv.Itoa(id) {
		return sdk.Drift("mantisbt answered with %q in place of the page of bug %d: whether it took the form is not known", p.URL.Path, id)
	}
	return nil
}

func (p *answerPage) output(ctx *sdk.Context, id int) bugOutput {
	out := bugOutput{ID: id, URL: bugURL(ctx, id)}
	if p.State != nil {
		out.Status = *p.State
	}
	if p.Handler != nil && *p.Handler != "" {
		out.Handler = p.Handler
	}
	return out
}
