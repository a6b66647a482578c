package main

import (
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// Editor is the frame of a form's editor. What is set into the field behind it
// is lost: the editor writes its own content there when the form is sent.
const editor = "iframe.cke_wysiwyg_frame"

// The parts of the forms.
const (
	updateForm = `form[name="TicketUpdate"] `
	createForm = `form[name="TicketCreate"] `
	submit     = `input[name="SubmitTicket"]`
)

// Typed are the steps that put text into the editor of a form that is open, once
// it takes any. With no text they empty it, of a signature for one.
func typed(text string) []abi.Step {
	write := sdk.Fill("body.cke_editable", text)
	write.Within = []string{editor}
	return []abi.Step{
		sdk.Wait(editor),
		{Op: abi.OpWait, Within: []string{editor}, Selector: `body.cke_editable[contenteditable="true"]`},
		write,
	}
}

// ReplyOnPage fills in the ticket's own form. The form repeats the ticket's
// subject, which is left out: it would be one more thing to approve.
func replyOnPage(ctx *sdk.Context, in messageInput) (writeOutput, error) {
	page, err := updateOnPage(ctx, in.ID, "Respond", in.Text)
	if err != nil {
		return writeOutput{}, err
	}
	return page.output(ctx, in.ID)
}

// SetStatusOnPage asks the ticket's page first, as [setStatus] does, and then
// sends the form for comments with the status and without a comment.
func setStatusOnPage(ctx *sdk.Context, in statusInput) (writeOutput, error) {
	already, err := checkStatus(ctx, in)
	if err != nil || already {
		return statusAsItWas(ctx, in), err
	}
	page, err := updateOnPage(ctx, in.ID, "Comment", "", sdk.Select(updateForm+`select[name="Status"]`, in.Status))
	if err != nil {
		return writeOutput{}, err
	}
	return page.statusOutput(ctx, in)
}

// UpdateOnPage opens a ticket's form, puts the text into its editor, takes the
// further steps, sends it, and returns what the ticket's page says then.
func updateOnPage(ctx *sdk.Context, id int, action, text string, more ...abi.Step) (answerPage, error) {
	steps := []abi.Step{sdk.NavigateFor("/Ticket/Update.html?Action="+action+"&id="+strconv.Itoa(id), editor)}
	steps = append(steps, typed(text)...)
	steps = append(steps, sdk.Fill(updateForm+`input[name="UpdateSubject"]`, ""))
	steps = append(steps, more...)
	return submitted(ctx, append(steps, sdk.ClickFor(updateForm+submit, ".action-results li")), id)
}

// CreateTicketOnPage fills in the form for a new ticket. The form names the queue
// by its number, which is a part of what was approved: it has to be that of the
// queue of the given name.
func createTicketOnPage(ctx *sdk.Context, in createPageInput) (writeOutput, error) {
	res, err := ctx.Act(
		sdk.Navigate(sdk.Path("/Ticket/Create.html", "Queue", in.Queue)),
		sdk.Extract("form", formSchema()),
	)
	if err != nil {
		return writeOutput{}, err
	}
	if err := checkQueue(res, in.Queue, in.QueueID); err != nil {
		return writeOutput{}, err
	}
	steps := append(typed(in.Text), sdk.Fill(createForm+`input[name="Subject"]`, in.Subject))
	steps = append(steps, requestor(in.Requestor)...)
	page, err := submitted(ctx, append(steps, sdk.ClickFor(createForm+`#ticket-create-message `+submit, ".action-results li")), 0)
	if err != nil {
		return writeOutput{}, err
	}
	return writeOutput{ID: page.id, Message: strings.Join(page.Messages, "; "), URL: ticketURL(ctx, page.id)}, nil
}

// Requestor are the steps that put an address in the place of the signed-in
// user's, which the form begins with. The field is one of those that hold
// several values: Backspace takes the last away, for a moment of which it is
// locked, and Tab takes what was typed for one.
func requestor(address string) []abi.Step {
	const field, free = "#Requestors-selectized", "#Requestors + .selectize-control .selectize-input:not(.locked)"
	steps := []abi.Step{sdk.Wait(field), sdk.Press(field, "Backspace"), sdk.Wait(free)}
	if address == "" {
		return steps
	}
	return append(steps, sdk.Fill(field, address), sdk.Press(field, "Tab"))
}

// Submitted takes the steps, of which the last one sends a form, and reads what
// the ticket's page says then. With an id it has to be the page of that ticket.
func submitted(ctx *sdk.Context, steps []abi.Step, id int) (answerPage, error) {
	res, err := ctx.Act(append(steps, sdk.Extract("page", resultSchema()), sdk.Extract("ticket", ticketSchema()))...)
	if err != nil {
		return answerPage{}, err
	}
	page, err := sdk.Row[answerPage](res, "page")
	if err != nil {
		return answerPage{}, err
	}
	shown, err := sdk.Row[ticket](res, "ticket")
	if err != nil {
		return answerPage{}, err
	}
	if page.id = id; id == 0 {
		page.id = shown.ID
	}
	_, err = basics(res, page.id)
	return page, err
}
