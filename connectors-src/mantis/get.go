package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type getInput struct {
	ID      int  `json:"id"`
	Choices bool `json:"choices"`
}

type bug struct {
	ID              int      `json:"id"`
	Summary         string   `json:"summary"`
	Project         string   `json:"project"`
	Category        string   `json:"category"`
	Status          string   `json:"status"`
	Resolution      *string  `json:"resolution"`
	Priority        *string  `json:"priority"`
	Severity        *string  `json:"severity"`
	Reproducibility *string  `json:"reproducibility"`
	View            *string  `json:"view"`
	Reporter        *string  `json:"reporter"`
	Handler         *string  `json:"handler"`
	Version         *string  `json:"version"`
	Submitted       *string  `json:"submitted"`
	Updated         *string  `json:"updated"`
	Due             *string  `json:"due"`
	Tags            []string `json:"tags"`
	Description     string   `json:"description"`
	Steps           string   `json:"steps_to_reproduce"`
	Additional      string   `json:"additional_information"`
	Attachments     []choice `json:"attachments"`
	Notes           []note   `json:"notes"`
	History         []change `json:"history"`
	Truncated       bool     `json:"truncated"`
	Choices         *choices `json:"choices"`
	URL             string   `json:"url"`
}

type note struct {
	ID        int     `json:"id"`
	Author    string  `json:"author"`
	Submitted *string `json:"submitted"`
	Private   bool    `json:"private"`
	Text      string  `json:"text"`
}

type change struct {
	Date   *string `json:"date"`
	User   string  `json:"user"`
	Field  string  `json:"field"`
	Change string  `json:"change"`
}

// Choices are what the account may set, from the forms of the bug's page.
type choices struct {
	Comment  bool     `json:"comment"`
	Statuses []choice `json:"statuses"`
	Handlers []choice `json:"handlers"`
}

func getBug(ctx *sdk.Context, in getInput) (bug, error) {
	steps := []abi.Step{
		sdk.Navigate(bugPath(in.ID)),
		sdk.Extract("bug", bugSchema()), sdk.Extract("files", fileSchema()),
		sdk.Extract("notes", noteSchema()), sdk.Extract("history", historySchema()),
	}
	if in.Choices {
		steps = append(steps, choiceSteps()...)
	}
	res, err := ctx.Read(steps...)
	if err != nil {
		return bug{}, err
	}
	out, err := basics(res, in.ID)
	if err != nil {
		return bug{}, err
	}
	if out.Attachments, err = files(res); err != nil {
		return bug{}, err
	}
	if out.Notes, err = notes(res); err != nil {
		return bug{}, err
	}
	if out.History, err = sdk.Rows[change](res, "history"); err != nil {
		return bug{}, err
	}
	for i := range out.History {
		out.History[i].Date = date(out.History[i].Date)
	}
	if in.Choices {
		if out.Choices, err = readChoices(res); err != nil {
			return bug{}, err
		}
	}
	out.Truncated, out.URL = res.Truncated, bugURL(ctx, in.ID)
	return out, nil
}

// BugSchema reads the fields that a MantisBT shows which has not chosen others.
func bugSchema() abi.Extraction {
	const table = "#view-issue-page "
	pre := func(name, class string) abi.Col {
		return sdk.Optional(abi.Col{Name: name, Selector: table + "td.bug-" + class, Kind: abi.KindPre})
	}
	field := func(name, class string) abi.Col { return sdk.Optional(sdk.Text(name, table+"td.bug-"+class)) }
	return sdk.Fields(
		sdk.Int("id", table+"td.bug-id"), sdk.Raw("summary", table+"td.bug-summary"),
		sdk.Text("project", table+"td.bug-project"), sdk.Text("category", table+"td.bug-category"), sdk.Text("status", table+"td.bug-status"),
		field("resolution", "resolution"), field("priority", "priority"), field("severity", "severity"),
		field("reproducibility", "reproducibility"), field("view", "view-status"), field("version", "product-version"),
		field("reporter", "reporter"), field("handler", "assigned-to"), field("due", "due-date"),
		field("submitted", "date-submitted"), field("updated", "last-modified"),
		sdk.Texts("tags", table+`td.bug-tags a[href*="tag_view_page.php"]`),
		pre("description", "description"), pre("steps_to_reproduce", "steps-to-reproduce"), pre("additional_information", "additional-information"),
	)
}

func basics(res *sdk.Result, id int) (bug, error) {
	out, err := sdk.Row[bug](res, "bug")
	if err != nil {
		return bug{}, err
	}
	number, summary, ok := strings.Cut(out.Summary, ": ")
	if n, err := strconv.Atoi(strings.TrimSpace(number)); !ok || err != nil || n != id || out.ID != id {
		return bug{}, sdk.Drift("the page of bug %d shows bug %d, with the summary %q", id, out.ID, out.Summary)
	}
	out.Summary = summary
	for _, field := range []**string{&out.Reporter, &out.Handler, &out.Version} {
		if *field != nil && **field == "" {
			*field = nil
		}
	}
	for _, d := range []**string{&out.Submitted, &out.Updated, &out.Due} {
		*d = date(*d)
	}
	if out.Tags == nil {
		out.Tags = []string{}
	}
	out.Description, out.Steps, out.Additional = text(out.Description), text(out.Steps), text(out.Additional)
	return out, nil
}

// FileSchema finds each attachment more than once: as an icon, as a name, and
// folded and unfolded.
func fileSchema() abi.Extraction {
	schema := sdk.List(`a[href*="file_download.php?file_id="]`, sdk.Attr("link", "", "href"), sdk.Text("name", ""))
	schema.Empty = "#view-issue-page td.bug-id"
	return schema
}

func files(res *sdk.Result) ([]choice, error) {
	rows, err := sdk.Rows[struct {
		Link string `json:"link"`
		Name string `json:"name"`
	}](res, "files")
	if err != nil {
		return nil, err
	}
	out := []choice{}
	for _, r := range rows {
		id, ok := linkID(r.Link, "file_id")
		if !ok {
			return nil, sdk.Drift("%q is no link to an attachment", r.Link)
		}
		seen := func(have choice) bool { return have.ID == id }
		if r.Name != "" && !slices.ContainsFunc(out, seen) {
			out = append(out, choice{ID: id, Name: r.Name})
		}
	}
	return out, nil
}

func noteSchema() abi.Extraction {
	schema := sdk.List("#bugnotes tr.bugnote",
		sdk.IntAttr("id", "", "id"),
		sdk.Text("author", "td.category p.no-margin"),
		sdk.Text("submitted", "td.category p.small"),
		abi.Col{Name: "private", Selector: "td.bugnote-private", Kind: abi.KindExists, Type: abi.TypeBool},
		abi.Col{Name: "text", Selector: "td.bugnote-note", Kind: abi.KindPre},
	)
	schema.Empty = "#view-issue-page td.bug-id"
	return schema
}

// Notes takes away the indent of the page's source around a note, and the word
// that stands behind the date of one that is private.
func notes(res *sdk.Result) ([]note, error) {
	rows, err := sdk.Rows[note](res, "notes")
	for i := range rows {
		n := &rows[i]
		n.Text = text(strings.TrimSuffix(strings.TrimPrefix(n.Text, "\n\t"), "\t"))
		if n.Submitted != nil {
			if words := strings.Fields(*n.Submitted); n.Private && len(words) > 2 {
				*n.Submitted = words[0] + " " + words[1]
			}
			n.Submitted = date(n.Submitted)
		}
	}
	return rows, err
}

func historySchema() abi.Extraction {
	cell := func(name string, n int) abi.Col { return sdk.Text(name, "td:nth-child("+strconv.Itoa(n)+")") }
	schema := sdk.List("#history tbody > tr", cell("date", 1), cell("user", 2), cell("field", 3), cell("change", 4))
	schema.Empty = "#view-issue-page td.bug-id"
	return schema
}

// The forms of a bug's page.
const (
	noteForm   = "form#bugnoteadd"
	assignForm = `#view-issue-page form[action="bug_update.php"]`
	statusForm = `#view-issue-page form[action="bug_change_status_page.php"]:has(select)`
)

func choiceSteps() []abi.Step {
	return []abi.Step{
		sdk.Exists("comment", noteForm+" textarea"),
		sdk.Extract("statuses", optionSchema(statusForm+" select[name=new_status]")),
		sdk.Extract("handlers", optionSchema(assignForm+" select[name=handler_id]")),
	}
}

// OptionSchema reads what a select offers; a page without it offers nothing.
func optionSchema(sel string) abi.Extraction {
	schema := sdk.List(sel+` > option:not([value=""])`, sdk.IntAttr("id", "", "value"), sdk.Text("name", ""))
	schema.Empty = "#navbar"
	return schema
}

func options(res *sdk.Result, as string) ([]choice, error) {
	rows, err := sdk.Rows[choice](res, as)
	return tidy(rows), err
}

func readChoices(res *sdk.Result) (out *choices, err error) {
	out = &choices{}
	if out.Comment, err = res.Exists("comment"); err != nil {
		return nil, err
	}
	if out.Statuses, err = options(res, "statuses"); err != nil {
		return nil, err
	}
	out.Handlers, err = options(res, "handlers")
	return out, err
}
