package main

import (
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type statusInput struct {
	ID           int    `json:"id"`
	StatusID     int    `json:"status_id"`
	Status       string `json:"status"`
	ResolutionID int    `json:"resolution_id"`
	Resolution   string `json:"resolution"`
}

// ChangeForm is the second of MantisBT's two pages: the bug's page leads to a form
// that holds what goes with the new status, and the token.
const changeForm = "form#bug-change-status-form"

// SetStatus goes the way of a person: it chooses the status on the bug's page,
// which changes nothing yet, and sends the form that comes then.
func setStatus(ctx *sdk.Context, in statusInput) (bugOutput, error) {
	handler, err := offered(ctx, in)
	if err != nil {
		return bugOutput{}, err
	}
	res, err := ctx.Act(
		sdk.Select(statusForm+" select[name=new_status]", strconv.Itoa(in.StatusID)),
		sdk.ClickFor(statusForm+" input[type=submit]", changeForm+" input[name=bug_update_token]"),
		sdk.Exists("resolution", changeForm+" select[name=resolution]"),
		sdk.Exists("handler", changeForm+" select[name=handler_id]"),
		sdk.Extract("resolutions", optionSchema(changeForm+" select[name=resolution]")),
	)
	if err != nil {
		return bugOutput{}, err
	}
	steps, err := fillForm(res, in, handler)
	if err != nil {
		return bugOutput{}, err
	}
	res, err = ctx.Act(append(steps,
		sdk.ClickFor(changeForm+" input[type=submit]", "#view-issue-page td.bug-id, .alert-danger"),
		sdk.Extract("after", answerSchema()),
	)...)
	if err != nil {
		return bugOutput{}, err
	}
	return changed(ctx, res, in)
}

// Offered sees that the bug's page has the status, and returns the number of the
// user to whom the bug is assigned, 0 for nobody.
func offered(ctx *sdk.Context, in statusInput) (int, error) {
	res, err := open(ctx, in.ID, sdk.Exists("form", statusForm+" select[name=new_status]"),
		sdk.Extract("statuses", optionSchema(statusForm+" select[name=new_status]")),
		sdk.Extract("handler", sdk.Fields(sdk.Optional(sdk.Attr("link", `#view-issue-page td.bug-assigned-to a[href*="view_user_page.php?id="]`, "href")))))
	if err != nil {
		return 0, err
	}
	if err := needForm(res, "the status of bug %d can't be set: it is resolved, or the signed-in account may not do it", in.ID); err != nil {
		return 0, err
	}
	statuses, err := options(res, "statuses")
	if err != nil {
		return 0, err
	}
	if err := choose("status", statuses, in.StatusID, in.Status); err != nil {
		return 0, err
	}
	handler, err := sdk.Row[struct {
		Link *string `json:"link"`
	}](res, "handler")
	if err != nil || handler.Link == nil {
		return 0, err
	}
	id, ok := linkID(*handler.Link, "id")
	if !ok {
		return 0, sdk.Drift("%q is no link to a user", *handler.Link)
	}
	return id, nil
}

// FillForm keeps the handler as it is: for a bug that is nobody's the form
// proposes whoever looks at it.
func fillForm(res *sdk.Result, in statusInput, handler int) ([]abi.Step, error) {
	var steps []abi.Step
	resolution, err := res.Exists("resolution")
	if err != nil {
		return nil, err
	}
	if resolution {
		list, err := options(res, "resolutions")
		if err != nil {
			return nil, err
		}
		if err := choose("resolution", list, in.ResolutionID, in.Resolution); err != nil {
			return nil, err
		}
		steps = append(steps, sdk.Select(changeForm+" select[name=resolution]", strconv.Itoa(in.ResolutionID)))
	} else if in.ResolutionID != 0 {
		return nil, sdk.InvalidArgs("the status %q goes with no resolution", in.Status)
	}
	assigned, err := res.Exists("handler")
	if assigned {
		steps = append(steps, sdk.Select(changeForm+" select[name=handler_id]", strconv.Itoa(handler)))
	}
	return steps, err
}

func changed(ctx *sdk.Context, res *sdk.Result, in statusInput) (bugOutput, error) {
	page, err := sdk.Row[answerPage](res, "after")
	switch {
	case err != nil:
		return bugOutput{}, err
	case len(page.Faults) > 0:
		return bugOutput{}, sdk.InvalidArgs("mantisbt did not take it: %q", page.Faults)
	case page.State == nil || *page.State != in.Status:
		return bugOutput{}, sdk.Drift("the form was sent, and the bug's page does not show the status %q", in.Status)
	}
	return page.output(ctx, in.ID), nil
}
