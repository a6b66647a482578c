package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type statusInput struct {
	ID     int    `json:"id"`
	Status string `json:"status"`
}

// SetStatus asks the ticket's page which statuses it may go to, because a request
// that Request Tracker does not carry out looks much like one that it does. The
// status that the answer shows is the proof.
func setStatus(ctx *sdk.Context, in statusInput) (writeOutput, error) {
	already, err := checkStatus(ctx, in)
	if err != nil || already {
		return statusAsItWas(ctx, in), err
	}
	page, err := send(ctx, "/Ticket/Display.html", "id", strconv.Itoa(in.ID), "Status", in.Status)
	if err != nil {
		return writeOutput{}, err
	}
	return page.statusOutput(ctx, in)
}

// CheckStatus reports whether the ticket has the status already. It refuses a
// status that the ticket can't be given.
func checkStatus(ctx *sdk.Context, in statusInput) (already bool, err error) {
	res, err := ctx.Read(sdk.Navigate(ticketPath(in.ID)), sdk.Extract("ticket", ticketSchema()), sdk.Extract("choices", choicesSchema()))
	if err != nil {
		return false, err
	}
	now, err := basics(res, in.ID)
	if err != nil || now.Status == in.Status {
		return err == nil, err
	}
	return false, allowed(res, in.Status)
}

func statusAsItWas(ctx *sdk.Context, in statusInput) writeOutput {
	return writeOutput{ID: in.ID, Message: "the status was " + in.Status + " already", URL: ticketURL(ctx, in.ID)}
}

// StatusOutput is what a tool that was to set a status returns.
func (p *answerPage) statusOutput(ctx *sdk.Context, in statusInput) (writeOutput, error) {
	out, err := p.output(ctx, in.ID)
	if err == nil && (p.Status == nil || *p.Status != in.Status) {
		return writeOutput{}, sdk.InvalidArgs("request tracker did not set the status: %q", out.Message)
	}
	return out, err
}

func choicesSchema() abi.Extraction {
	return sdk.Fields(abi.Col{
		Name: "choices", Selector: `.ticket-info-basics form.inline-edit select[name="Status"] option:not([value=""])`,
		Kind: abi.KindAttr, Attr: "value", List: true, Optional: true,
	})
}

// Allowed refuses a status that the page does not offer, and deletion, which is
// more than a status.
func allowed(res *sdk.Result, status string) error {
	page, err := sdk.Row[struct {
		Choices []string `json:"choices"`
	}](res, "choices")
	if err != nil {
		return err
	}
	choices := slices.DeleteFunc(page.Choices, func(s string) bool { return s == "deleted" })
	switch {
	case len(choices) == 0:
		return sdk.Forbidden("the signed-in account may not change the ticket's status")
	case !slices.Contains(choices, status):
		return sdk.InvalidArgs("the status can't be %q, only %s", status, strings.Join(choices, ", "))
	}
	return nil
}
