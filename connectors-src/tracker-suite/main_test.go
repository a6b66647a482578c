//go:build !wasip1

package main

import (
	"errors"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
)

func host(t *testing.T, answer abi.Answer) *sdktest.Host {
	t.Helper()
	return &sdktest.Host{Manifest: sdktest.Manifest(t, "plugin.yaml", plugin()), OnRead: func(abi.Program) abi.Answer { return answer }}
}

func rows(values ...[]any) abi.Table {
	return abi.Table{Cols: []string{"id", "title", "status", "project", "assignee"}, Rows: values}
}

func TestListIssues(t *testing.T) {
	head := abi.Table{Cols: []string{"total"}, Rows: [][]any{{54}}}
	h := host(t, sdktest.Data("head", head, "issues", rows([]any{2, "a", "open", "Web", "alice"}, []any{1, "b", "open", "Web", ""})))
	out, err := sdktest.Call[issuesOutput](t, plugin(), h, "trackerissues.list", issuesInput{"open"})
	if err != nil || out.Total != 54 || len(out.Issues) != 2 || *out.Issues[0].Assignee != "alice" || out.Issues[1].Assignee != nil {
		t.Errorf("result is %+v, %v", out, err)
	}
	if got := h.Programs[0].Steps[0].Path; got != "/issues?status=open" {
		t.Errorf("path is %s", got)
	}
}

func TestProjects(t *testing.T) {
	table := abi.Table{Cols: []string{"name", "issues", "open", "people"}, Rows: [][]any{{"Web", 10, 4, 2}}}
	out, err := sdktest.Call[projectsOutput](t, plugin(), host(t, sdktest.Data("projects", table)), "trackerprojects.list", struct{}{})
	if want := (projectRow{"Web", 10, 4, 2}); err != nil || len(out.Projects) != 1 || out.Projects[0] != want {
		t.Errorf("result is %+v, %v", out, err)
	}
}

func TestAnotherProject(t *testing.T) {
	head := abi.Table{Cols: []string{"name"}, Rows: [][]any{{"Mobile"}}}
	_, err := sdktest.Call[project](t, plugin(), host(t, sdktest.Data("head", head, "issues", rows())), "trackerprojects.get", projectInput{"Web"})
	if !errors.Is(err, abi.ErrSelectorDrift) {
		t.Errorf("error is %v", err)
	}
}
