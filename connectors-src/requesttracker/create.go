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

type createPageInput struct {
	createInput
	QueueID int `json:"queue_id"`
}

// CreateTicket opens the form for the queue, which shows whether there is one of
// that name and whether tickets may be created in it, and sends what the form
// would send, as plain text.
func createTicket(ctx *sdk.Context, in createInput) (writeOutput, error) {
	res, err := ctx.Read(sdk.Navigate(sdk.Path("/Ticket/Create.html", "Queue", in.Queue)), sdk.Extract("form", formSchema()))
	if err != nil {
		return writeOutput{}, err
	}
	if err := checkQueue(res, in.Queue, 0); err != nil {
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
		sdk.Optional(sdk.IntAttr("number", form+` select[name="Queue"] option[selected]`, "value")),
		sdk.Optional(sdk.Text("fault", "#body > .error")),
	)
}

// CheckQueue refuses a queue that the form does not have selected: Request Tracker
// takes a number for a name, too. With a number given, the queue has to have it.
func checkQueue(res *sdk.Result, queue string, number int) error {
	page, err := sdk.Row[struct {
		Form   bool    `json:"form"`
		Queue  *string `json:"queue"`
		Number *int    `json:"number"`
		Fault  *string `json:"fault"`
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
	case number != 0 && (page.Number == nil || *page.Number != number):
		return sdk.InvalidArgs("the queue %q has not the number %d: list_queues says which it has", queue, number)
	}
	return nil
}

type queue struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

type queuesOutput struct {
	Queues []queue `json:"queues"`
}

// ListQueues reads what the form for a new ticket offers.
func listQueues(ctx *sdk.Context, _ struct{}) (queuesOutput, error) {
	res, err := ctx.Read(sdk.Navigate("/Ticket/Create.html"), sdk.Extract("queues", queueSchema()))
	if err != nil {
		return queuesOutput{}, err
	}
	list, err := sdk.Rows[queue](res, "queues")
	if err == nil && len(list) == 0 {
		return queuesOutput{}, sdk.Forbidden("the signed-in account may not create tickets in any queue")
	}
	return queuesOutput{Queues: list}, err
}

func queueSchema() abi.Extraction {
	schema := sdk.List(`form[name="TicketCreate"] select[name="Queue"] option`, sdk.IntAttr("id", "", "value"), sdk.Text("name", ""))
	schema.Empty = "#body"
	return schema
}
