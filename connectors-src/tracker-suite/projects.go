package main

import "github.com/drawbridge-mcp/drawbridge/abi/sdk"

type projectsOutput struct {
	Projects []projectRow `json:"projects"`
}

type projectRow struct {
	Name   string `json:"name"`
	Issues int    `json:"issues"`
	Open   int    `json:"open"`
	People int    `json:"people"`
}

type projectInput struct {
	Name string `json:"name"`
}

type project struct {
	Name   string  `json:"name"`
	Issues []issue `json:"issues"`
}

func listProjects(ctx *sdk.Context, _ struct{}) (projectsOutput, error) {
	schema := sdk.List("#projects tr.project",
		sdk.Attr("name", "", "data-name"), sdk.Int("issues", "td.issues"), sdk.Int("open", "td.open"), sdk.Int("people", "td.people"))
	schema.Empty = "#no-projects"
	res, err := ctx.Read(sdk.Navigate("/projects"), sdk.Extract("projects", schema))
	if err != nil {
		return projectsOutput{}, err
	}
	rows, err := sdk.Rows[projectRow](res, "projects")
	return projectsOutput{Projects: rows}, err
}

func getProject(ctx *sdk.Context, in projectInput) (project, error) {
	res, err := ctx.Read(
		sdk.Navigate("/projects/"+in.Name), // a slug by the input schema
		sdk.Extract("head", sdk.Fields(sdk.Attr("name", "#project", "data-name"))),
		sdk.Extract("issues", issueSchema()),
	)
	if err != nil {
		return project{}, err
	}
	out, err := sdk.Row[project](res, "head")
	if err != nil {
		return project{}, err
	}
	if out.Name != in.Name {
		return project{}, sdk.Drift("the page of project %q shows %q", in.Name, out.Name)
	}
	out.Issues, err = issues(res)
	return out, err
}
