//go:build !wasip1

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
)

func TestFailures(t *testing.T) {
	with := func(changes map[string]any) func(abi.Program) abi.Answer {
		return always(sdktest.Data("bug", table(bugSchema(), bugFields(changes)), "files", fileTable(), "notes", table(noteSchema()), "history", table(historySchema())))
	}
	list := func(count string, rows ...map[string]any) func(abi.Program) abi.Answer {
		return always(sdktest.Data("head", table(headSchema(), map[string]any{"count": count}), "bugs", table(rowSchema(), rows...)))
	}
	other := createArgs()
	other.Project = "Billing"
	category := createArgs()
	category.CategoryID = 9
	report := func(form any) func(abi.Program) abi.Answer {
		return always(sdktest.Data("report", abi.Table{Cols: []string{"form", "project"}, Rows: [][]any{{form, "Web Portal"}}}, "categories", optionTable()))
	}
	tests := []struct {
		name, tool string
		args       any
		read       func(abi.Program) abi.Answer
		code       abi.Code
		text       string
	}{
		{"signed out", "mantis.list_my_bugs", map[string]any{}, always(sdktest.Failed(0, abi.ErrAuthExpired, "signed out")), abi.ErrAuthExpired, "step 1"},
		{"no such status", "mantis.list_my_bugs", map[string]any{"status": "solved"}, nil, abi.ErrInvalidArgs, `"solved"`},
		{"rows missing", "mantis.search_bugs", map[string]any{}, list("1 - 7 / 7", listRow(1)), abi.ErrSelectorDrift, "says 7 bugs and its first page shows 1"},
		{"no count", "mantis.search_bugs", map[string]any{}, list("seven", listRow(1)), abi.ErrSelectorDrift, `"seven" says no number`},
		{"missing", "mantis.get_bug", map[string]any{"id": 9999}, always(sdktest.Failed(0, abi.ErrNotFound, "no such page")), abi.ErrNotFound, "step 1"},
		{"another bug", "mantis.get_bug", map[string]any{"id": 12}, with(nil), abi.ErrSelectorDrift, "shows bug 11"},
		{"another summary", "mantis.get_bug", map[string]any{"id": 11}, with(map[string]any{"summary": "0000012: x"}), abi.ErrSelectorDrift, `"0000012: x"`},
		{"a summary without number", "mantis.get_bug", map[string]any{"id": 11}, with(map[string]any{"summary": "x"}), abi.ErrSelectorDrift, `"x"`},
		{"no form for notes", "mantis.add_comment", commentInput{11, "x"}, always(bugPage(false)), abi.ErrForbidden, "takes no notes"},
		{"note on another bug", "mantis.add_comment", commentInput{12, "x"}, always(bugPage(true)), abi.ErrSelectorDrift, "shows bug 11"},
		{"no form to assign", "mantis.assign", assignInput{11, 3, "mlindqvist"}, always(bugPage(false)), abi.ErrForbidden, "can't be assigned"},
		{"no such handler", "mantis.assign", assignInput{11, 4, "mlindqvist"}, always(bugPage(true)), abi.ErrInvalidArgs, "3 mlindqvist"},
		{"handler of another name", "mantis.assign", assignInput{11, 3, "wchen"}, always(bugPage(true)), abi.ErrInvalidArgs, "no handler 3"},
		{"no form for the status", "mantis.set_status", map[string]any{"id": 11, "status_id": 80, "status": "resolved"}, always(bugPage(false)), abi.ErrForbidden, "can't be set"},
		{"status of another name", "mantis.set_status", map[string]any{"id": 11, "status_id": 80, "status": "feedback"}, always(bugPage(true)), abi.ErrInvalidArgs, "20 feedback, 80 resolved"},
		{"project of another name", "mantis.create_bug", other, always(bugPage(true)), abi.ErrInvalidArgs, `is "Web Portal", not "Billing"`},
		{"no such category", "mantis.create_bug", category, always(bugPage(true)), abi.ErrInvalidArgs, "1 [All Projects] General"},
		{"no such project", "mantis.create_bug", createArgs(), report(1), abi.ErrNotFound, "no project 2"},
		{"may not report", "mantis.create_bug", createArgs(), report(nil), abi.ErrForbidden, "project 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t, tt.read)
			_, err := sdktest.Call[any](t, plugin(), h, tt.tool, tt.args)
			if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error is %v, want %s with %q", err, tt.code, tt.text)
			}
			if len(h.Fetches) != 0 {
				t.Error("a request was sent")
			}
		})
	}
}

// changeForms plays the two pages of a change of status: the form, and what comes
// of it.
func changeForms(t *testing.T, h *sdktest.Host, resolution bool, after map[string]any) {
	t.Helper()
	h.OnAct = func(p abi.Program) abi.Answer {
		if p.Steps[len(p.Steps)-1].As == "after" {
			return sdktest.Data("after", page(after))
		}
		return sdktest.Data("resolution", resolution, "handler", true, "resolutions", optionTable(10, "open", 20, "fixed"))
	}
}

func resolved(id int, name string) map[string]any {
	return map[string]any{"id": 11, "status_id": 80, "status": "resolved", "resolution_id": id, "resolution": name}
}

// TestHandlerIsKept: the number of the user is in a link that may have digits
// before it.
func TestHandlerIsKept(t *testing.T) {
	ans := bugPage(true)
	ans.Data["handler"] = sdktest.Data("x", abi.Table{Cols: []string{"link"}, Rows: [][]any{{base + "/view_user_page.php?id=5"}}}).Data["x"]
	h := host(t, always(ans))
	changeForms(t, h, true, map[string]any{"state": "resolved"})
	if _, err := sdktest.Call[bugOutput](t, plugin(), h, "mantis.set_status", resolved(20, "fixed")); err != nil {
		t.Fatal(err)
	}
	if s := h.Programs[2].Steps[1]; s.Op != abi.OpSelect || s.Value != "5" {
		t.Errorf("the second step of the form is %+v", s)
	}
}

func TestSetStatus(t *testing.T) {
	h := host(t, always(bugPage(true)))
	changeForms(t, h, true, map[string]any{"state": "resolved", "handler": ""})
	out, err := sdktest.Call[bugOutput](t, plugin(), h, "mantis.set_status", resolved(20, "fixed"))
	if err != nil || out.Status != "resolved" || out.Handler != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	var did []string
	for _, p := range h.Programs[1:] {
		for _, s := range p.Steps {
			if s.Op.IsAct() {
				did = append(did, string(s.Op)+" "+s.Value)
			}
		}
	}
	// The bug is nobody's, and stays so.
	if want := "select 80,click ,select 20,select 0,click "; strings.Join(did, ",") != want {
		t.Errorf("did %q, want %q", did, want)
	}
}

func TestStatusNotSet(t *testing.T) {
	tests := []struct {
		name       string
		args       map[string]any
		resolution bool
		after      map[string]any
		code       abi.Code
		sent       bool
	}{
		{"no resolution", map[string]any{"id": 11, "status_id": 80, "status": "resolved"}, true, nil, abi.ErrInvalidArgs, false},
		{"resolution of another name", resolved(20, "open"), true, nil, abi.ErrInvalidArgs, false},
		{"a resolution too many", resolved(20, "fixed"), false, nil, abi.ErrInvalidArgs, false},
		{"a conflict", resolved(20, "fixed"), true, map[string]any{"faults": []string{"APPLICATION ERROR #1105"}}, abi.ErrInvalidArgs, true},
		{"no change", resolved(20, "fixed"), true, map[string]any{"state": "assigned"}, abi.ErrSelectorDrift, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t, always(bugPage(true)))
			changeForms(t, h, tt.resolution, tt.after)
			_, err := sdktest.Call[any](t, plugin(), h, "mantis.set_status", tt.args)
			if sent := len(h.Programs) == 3; !errors.Is(err, tt.code) || sent != tt.sent {
				t.Errorf("%v, sent is %v, want %s", err, sent, tt.code)
			}
		})
	}
}

func TestDate(t *testing.T) {
	for shown, want := range map[string]string{
		"2026-01-07 13:28": "2026-01-07T13:28", "2026-01-07 13:00": "2026-01-07T13:00", "2026-01-07 13:28:05": "2026-01-07T13:28:05",
		"07.01.2026 13:28": "07.01.2026 13:28", "2026-01-07": "2026-01-07", "": "", "  ": "",
	} {
		got := date(&shown)
		if want == "" && got != nil || want != "" && (got == nil || *got != want) {
			t.Errorf("%q is %v, want %q", shown, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for heading, want := range map[string]int{"1 - 50 / 76": 76, "0 - 0 / 0": 0, "51 - 76 / 76": 76, "76": -1, "1 - 2 / x": -1, "1 / -2": -1, "": -1} {
		if n, ok := count(heading); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q counts %d, %v; want %d", heading, n, ok, want)
		}
	}
}
