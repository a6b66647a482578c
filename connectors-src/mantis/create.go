package main

import (
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

type projectsInput struct {
	ProjectID int `json:"project_id"`
}

type projectsOutput struct {
	Projects   []choice `json:"projects"`
	Categories []choice `json:"categories"`
}

type createInput struct {
	ProjectID   int    `json:"project_id"`
	Project     string `json:"project"`
	CategoryID  int    `json:"category_id"`
	Category    string `json:"category"`
	Summary     string `json:"summary"`
	Description string `json:"description"`
	Steps       string `json:"steps_to_reproduce"`
	Additional  string `json:"additional_information"`
}

type createOutput struct {
	ID  int    `json:"id"`
	URL string `json:"url"`
}

const (
	reportForm  = "form#report_bug_form"
	projectForm = "form#select-project-form"
)

// ListProjects reads the page on which MantisBT asks for a project, and with a
// project the form for a new bug.
func listProjects(ctx *sdk.Context, in projectsInput) (projectsOutput, error) {
	if in.ProjectID != 0 {
		form, err := reportPage(ctx, in.ProjectID)
		if err != nil {
			return projectsOutput{}, err
		}
		return projectsOutput{Projects: []choice{{ID: in.ProjectID, Name: form.Project}}, Categories: form.Categories}, nil
	}
	res, err := ctx.Read(sdk.Navigate("/login_select_proj_page.php?ref=bug_report_page.php"),
		sdk.Extract("projects", optionSchema(projectForm+" select[name=project_id]")))
	if err != nil {
		return projectsOutput{}, err
	}
	projects, err := options(res, "projects")
	return projectsOutput{Projects: projects, Categories: []choice{}}, err
}

// A report is the form for a new bug.
type report struct {
	Form       *int   `json:"form"`    // number of its project
	Project    string `json:"project"` // as the menu names it
	Categories []choice
}

// ReportPage opens the form for a new bug of a project. MantisBT notes the project
// in a cookie; to a project that it doesn't have it shows the form of another, and
// to one that the account may not report to the page that asks for a project.
func reportPage(ctx *sdk.Context, project int) (report, error) {
	res, err := ctx.Read(sdk.Navigate("/bug_report_page.php?project_id="+strconv.Itoa(project)),
		sdk.Extract("report", sdk.Fields(
			sdk.Optional(abi.Col{Name: "form", Selector: reportForm + " input[name=project_id]", Kind: abi.KindValue, Type: abi.TypeInt}),
			sdk.Optional(sdk.Text("project", "#dropdown_projects_menu > a")))),
		sdk.Extract("categories", optionSchema(reportForm+" select[name=category_id]")))
	if err != nil {
		return report{}, err
	}
	out, err := sdk.Row[report](res, "report")
	switch {
	case err != nil:
		return report{}, err
	case out.Form == nil:
		return report{}, sdk.Forbidden("the signed-in account may not report bugs in project %d", project)
	case *out.Form != project:
		return report{}, sdk.NotFound("no project %d", project)
	}
	out.Categories, err = options(res, "categories")
	return out, err
}

// CreateBug sends the form with the fields that its arguments are for; MantisBT
// has a default for each of the others.
func createBug(ctx *sdk.Context, in createInput) (createOutput, error) {
	form, err := reportPage(ctx, in.ProjectID)
	if err != nil {
		return createOutput{}, err
	}
	if form.Project != "" && form.Project != in.Project {
		return createOutput{}, sdk.InvalidArgs("project %d is %q, not %q", in.ProjectID, form.Project, in.Project)
	}
	if err := choose("category", form.Categories, in.CategoryID, in.Category); err != nil {
		return createOutput{}, err
	}
	fields := []abi.Field{
		{Name: "bug_report_token", Token: reportForm + " input[name=bug_report_token]"},
		{Name: "m_id", Value: "0"},
		{Name: "project_id", Value: strconv.Itoa(in.ProjectID)},
		{Name: "category_id", Value: strconv.Itoa(in.CategoryID)},
		{Name: "summary", Value: in.Summary},
		{Name: "description", Value: in.Description},
		{Name: "steps_to_reproduce", Value: in.Steps},
		{Name: "additional_info", Value: in.Additional},
	}
	page, err := send(ctx, "/bug_report.php", abi.EncodingMultipart, fields)
	if err != nil {
		return createOutput{}, err
	}
	id, err := strconv.Atoi(page.URL.Query().Get("id"))
	if err != nil || !strings.HasSuffix(page.URL.Path, "/view.php") {
		return createOutput{}, sdk.Drift("mantisbt answered with %q in place of the new bug's page: whether it took the form is not known", page.URL.Path)
	}
	return createOutput{ID: id, URL: bugURL(ctx, id)}, nil
}
