package main

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type createInput struct {
	Queue     string `json:"queue"`
	Subject   string `json:"subject"`
	Text      string `json:"text"`
	Requestor string `json:"requestor"`
}

// CreateTicket opens the form for the queue, which shows whether there is one of
// that name and whether tickets may be created in it, and sends what the form
// would send, as plain text.
func createTicket(ctx *sdk.Context, in createInput) (writeOutput, error) {
	res, err := ctx.Read(sdk.Navigate(sdk.Path("/Ticket/Create.html", "Queue", in.Queue)), sdk.Extract("form", formSchema()))
	if err != nil {
		return writeOutput{}, err
	}
	if err := checkQueue(res, in.Queue); err != nil {
		return writeOutput{}, err
	}
	page, err := send(ctx, "/Ticket/Create.html",
		"id", "new", "Queue", in.Queue, "Requestors", in.Requestor, "Subject", in.Subject,
		"Content", in.Text, "ContentType", "text/plain", "SubmitTicket", "Create")
	if err != nil {
		return writeOutput{}, err
	}
	return writeOutput{ID: page.id, Message: strings.Join(page.Messages, "; "), URL: ticketURL(ctx, page.id)}, nil
}

func formSchema() abi.Extraction {
	const form = `form[name="TicketCreate"]`
	return sdk.Fields(
		abi.Col{Name: "form", Selector: form, Kind: abi.KindExists, Type: abi.TypeBool},
		sdk.Optional(sdk.Text("queue", form+` select[name="Queue"] option[selected]`)),
		sdk.Optional(sdk.Text("fault", "#body > .error")),
	)
}

// CheckQueue refuses a queue that the form does not have selected: Request Tracker
// takes a number for a name, too.
func checkQueue(res *sdk.Result, queue string) error {
	page, err := sdk.Row[struct {
		Form  bool    `json:"form"`
		Queue *string `json:"queue"`
		Fault *string `json:"fault"`
	}](res, "form")
	switch {
	case err != nil:
		return err
	case !page.Form && page.Fault != nil:
		return sdk.InvalidArgs("no ticket can be created in queue %q: %q", queue, *page.Fault)
	case !page.Form:
		return sdk.Drift("the page for new tickets has no form")
	case page.Queue == nil:
		return sdk.Forbidden("the signed-in account may not create tickets in queue %q", queue)
	case *page.Queue != queue:
		return sdk.InvalidArgs("request tracker takes %q for the queue %q: give its name", queue, *page.Queue)
	}
	return nil
}
