//go:build !wasip1

package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
)

// Host is a page as the tracker shows it: what each extraction brings, by its name.
func host(t *testing.T, answer abi.Answer) *sdktest.Host {
	t.Helper()
	return &sdktest.Host{
		Manifest: sdktest.Manifest(t, "plugin.yaml", plugin()),
		OnRead:   func(abi.Program) abi.Answer { return answer },
		OnAct:    func(abi.Program) abi.Answer { return answer },

		OnScreenshot: func(abi.Program) abi.Answer { return answer },
	}
}

// Table fills a schema's columns, in the schema's own order, from one map a row.
func table(schema abi.Extraction, rows ...map[string]any) abi.Table {
	out := abi.Table{Rows: [][]any{}}
	for _, c := range schema.Cols {
		out.Cols = append(out.Cols, c.Name)
	}
	for _, r := range rows {
		row := make([]any, 0, len(schema.Cols))
		for _, c := range schema.Cols {
			v, ok := r[c.Name]
			if !ok && !c.Optional {
				panic("BUG: the test gives no " + c.Name)
			}
			row = append(row, v)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func row(id int, changes map[string]any) map[string]any {
	r := map[string]any{
		"id": id, "title": "Crash on “save”", "status": "open", "priority": "high", "component": "editor",
		"labels": []string{"bug", "ui"}, "assignee": "alice", "reporter": "bob", "comments": 2, "body": "Steps:\n\n 1. save",
		"created": "2026-01-02T03:04:05Z", "updated": "2026-01-03T03:04:05Z", "due": "2026-02-01T00:00:00Z",
		"url": "http://tracker.localhost/issues/1",
	}
	maps.Copy(r, changes)
	return r
}

func total(n int) abi.Table { return abi.Table{Cols: []string{"total"}, Rows: [][]any{{n}}} }

func TestList(t *testing.T) {
	nobody := map[string]any{"assignee": "", "labels": nil, "due": nil}
	h := host(t, sdktest.Data("head", total(54), "issues", table(listSchema(100), row(54, nil), row(53, nobody))))
	out, err := sdktest.Call[listOutput](t, plugin(), h, "tracker.list", map[string]any{"status": "open", "assignee": "me"})
	if err != nil {
		t.Fatal(err)
	}
	if out.Total != 54 || len(out.Issues) != 2 || out.Issues[0].ID != 54 || *out.Issues[0].Assignee != "alice" {
		t.Errorf("result is %+v", out)
	}
	if second := out.Issues[1]; second.Assignee != nil || second.Due != nil || second.Labels == nil || len(second.Labels) != 0 {
		t.Errorf("an issue of nobody is %+v", second)
	}
	if got, want := h.Programs[0].Steps[0].Path, "/issues?status=open&assignee=me"; got != want {
		t.Errorf("path is %s, want %s", got, want)
	}
}

func TestListFollowsAsFarAsItMust(t *testing.T) {
	for limit, pages := range map[int]int{0: 3, 1: 0, 25: 0, 26: 1, 50: 1, 51: 2, 500: 19} {
		h := host(t, sdktest.Data("head", total(0), "issues", table(listSchema(1))))
		args := map[string]any{"limit": limit}
		if limit == 0 {
			args = map[string]any{}
		}
		if _, err := sdktest.Call[listOutput](t, plugin(), h, "tracker.list", args); err != nil {
			t.Fatal(err)
		}
		schema := h.Programs[0].Steps[2].Schema
		got := 0
		if schema.Next != nil {
			got = schema.Next.Max
		}
		if got != pages || limit != 0 && schema.Limit != limit || schema.Empty == "" {
			t.Errorf("limit %d: %d further pages, limit %d, empty %q; want %d pages", limit, got, schema.Limit, schema.Empty, pages)
		}
	}
}

func TestGet(t *testing.T) {
	talk := table(commentSchema(),
		map[string]any{"id": 7, "author": "bob", "created": "2026-01-02T03:04:05Z", "body": "line\n  indented 😀"})
	ans := sdktest.Data("issue", table(issueSchema(), row(12, nil)), "comments", talk)
	ans.Page.URL = "http://tracker.localhost/issues/12"
	out, err := sdktest.Call[issue](t, plugin(), host(t, ans), "tracker.get", getInput{12})
	if err != nil {
		t.Fatal(err)
	}
	if out.ID != 12 || out.Body != "Steps:\n\n 1. save" || out.URL != ans.Page.URL || !slices.Equal(out.Labels, []string{"bug", "ui"}) {
		t.Errorf("issue is %+v", out)
	}
	if want := (comment{7, "bob", "2026-01-02T03:04:05Z", "line\n  indented 😀"}); len(out.Comments) != 1 || out.Comments[0] != want {
		t.Errorf("comments are %+v", out.Comments)
	}
}

func TestGetWithoutComments(t *testing.T) {
	ans := sdktest.Data("issue", table(issueSchema(), row(12, nil)), "comments", table(commentSchema()))
	out, err := sdktest.Call[map[string]any](t, plugin(), host(t, ans), "tracker.get", getInput{12})
	if list, ok := out["comments"].([]any); err != nil || !ok || len(list) != 0 {
		t.Errorf("comments are %v (%v), want an empty list", out["comments"], err)
	}
}

// shown is the page of an issue, with a picture of it.
func shown(id int, handle any) abi.Answer {
	return sdktest.Data("issue", abi.Table{Cols: []string{"id"}, Rows: [][]any{{id}}}, "picture", handle,
		"text", map[string]any{"text": "- heading \"Füße\"", "truncated": true})
}

func TestPicture(t *testing.T) {
	h := host(t, shown(12, "image:abc"))
	out, err := sdktest.Call[pictureOutput](t, plugin(), h, "tracker.picture", getInput{12})
	if err != nil || out.ID != 12 || out.Picture != "image:abc" || out.Text != "- heading \"Füße\"" || !out.Truncated {
		t.Fatalf("result is %+v, %v", out, err)
	}
	if steps := h.Programs[0].Steps; len(h.Programs) != 1 || steps[0].Path != "/issues/12" || steps[len(steps)-1].Max != maxTold {
		t.Errorf("steps are %+v", steps)
	}
}

func TestAddComment(t *testing.T) {
	h := host(t, sdktest.Data("after", abi.Table{Cols: []string{"flash", "comment"}, Rows: [][]any{{"Comment added.", 88}}}))
	const body = "Füße\r\n<b>& 😀"
	out, err := sdktest.Call[commentOutput](t, plugin(), h, "tracker.add_comment", commentInput{12, body})
	if err != nil || out.Issue != 12 || out.Comment != 88 {
		t.Fatalf("result is %+v, %v", out, err)
	}
	if len(h.Programs) != 1 {
		t.Fatalf("%d trips, want one: a comment is sent once", len(h.Programs))
	}
	steps := h.Programs[0].Steps
	if steps[0].Path != "/issues/12" || steps[1].Value != body || steps[2].Op != abi.OpClick {
		t.Errorf("steps are %+v", steps)
	}
}

func TestFailures(t *testing.T) {
	after := func(flash string, id any) abi.Answer {
		return sdktest.Data("after", abi.Table{Cols: []string{"flash", "comment"}, Rows: [][]any{{flash, id}}})
	}
	otherIssue := sdktest.Data("issue", table(issueSchema(), row(13, nil)), "comments", table(commentSchema()))
	tests := []struct {
		name, tool string
		args       any
		answer     abi.Answer
		code       abi.Code
		text       string
	}{
		{"signed out", "tracker.list", map[string]any{"limit": 1}, sdktest.Failed(0, abi.ErrAuthExpired, "signed out"), abi.ErrAuthExpired, "step 1 (navigate)"},
		{"no such issue", "tracker.get", getInput{9001}, sdktest.Failed(0, abi.ErrNotFound, "no such page"), abi.ErrNotFound, "step 1"},
		{"list redesigned", "tracker.list", map[string]any{"limit": 1}, sdktest.Failed(2, abi.ErrSelectorDrift, "no rows"), abi.ErrSelectorDrift, "step 3 (extract)"},
		{"another issue", "tracker.get", getInput{12}, otherIssue, abi.ErrSelectorDrift, "shows issue 13"},
		{"picture of another issue", "tracker.picture", getInput{12}, shown(13, "image:abc"), abi.ErrSelectorDrift, "shows issue 13"},
		{"no picture", "tracker.picture", getInput{12}, shown(12, 7), abi.ErrInvalidResult, "decoding picture"},
		{"no screenshots here", "tracker.picture", getInput{12}, sdktest.Failed(3, abi.ErrUnsupportedAction, "no window"), abi.ErrUnsupportedAction, "step 4 (screenshot)"},
		{"tracker refuses", "tracker.add_comment", commentInput{12, "x"}, after("Comment not added: too long.", nil), abi.ErrInvalidArgs, "too long"},
		{"comment not shown", "tracker.add_comment", commentInput{12, "x"}, after("Comment added.", nil), abi.ErrSelectorDrift, "not on the page"},
		{"cut off", "tracker.add_comment", commentInput{12, "x"}, sdktest.Failed(2, abi.ErrOutcomeUnknown, "lost"), abi.ErrOutcomeUnknown, "step 3 (click)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t, tt.answer)
			_, err := sdktest.Call[any](t, plugin(), h, tt.tool, tt.args)
			if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error is %v, want %s with %q", err, tt.code, tt.text)
			}
			if len(h.Programs) != 1 {
				t.Errorf("%d trips, want one", len(h.Programs))
			}
		})
	}
}
