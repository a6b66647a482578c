package main

import (
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// Editor is the frame of the form's editor. What is set into the field behind it
// is lost: the editor writes its own content there when the form is sent.
const editor = "iframe.cke_wysiwyg_frame"

// ReplyOnPage fills in the ticket's own form. The form repeats the ticket's
// subject, which is left out: it would be one more thing to approve.
func replyOnPage(ctx *sdk.Context, in messageInput) (writeOutput, error) {
	write := sdk.Fill("body.cke_editable", in.Text)
	write.Within = []string{editor}
	res, err := ctx.Act(
		sdk.NavigateFor("/Ticket/Update.html?Action=Respond&id="+strconv.Itoa(in.ID), editor),
		abi.Step{Op: abi.OpWait, Within: []string{editor}, Selector: `body.cke_editable[contenteditable="true"]`},
		write,
		sdk.Fill(`form[name="TicketUpdate"] input[name="UpdateSubject"]`, ""),
		sdk.ClickFor(`form[name="TicketUpdate"] input[name="SubmitTicket"]`, ".action-results li"),
		sdk.Extract("page", resultSchema()),
		sdk.Extract("ticket", ticketSchema()),
	)
	if err != nil {
		return writeOutput{}, err
	}
	page, err := sdk.Row[answerPage](res, "page")
	if err != nil {
		return writeOutput{}, err
	}
	if _, err := basics(res, in.ID); err != nil {
		return writeOutput{}, err
	}
	return writeOutput{ID: in.ID, Message: strings.Join(page.Messages, "; "), URL: ticketURL(ctx, in.ID)}, nil
}
