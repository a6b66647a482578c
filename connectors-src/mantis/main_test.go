//go:build !wasip1

package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
)

const base = "http://mantis.example:9141"

func host(t *testing.T, read func(abi.Program) abi.Answer) *sdktest.Host {
	t.Helper()
	return &sdktest.Host{
		Manifest: sdktest.Manifest(t, "plugin.yaml", plugin()), Settings: map[string]string{"base_url": base + "/"}, OnRead: read,
	}
}

// table fills a schema's columns, in the schema's own order, from one map a row.
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

func listRow(id int) map[string]any {
	return map[string]any{"id": id, "summary": "A <summary> ", "status": "new", "resolution": "open", "updated": "2026-01-13", "handler": "wchen"}
}

// mantisbt answers as a MantisBT that finds n bugs for any filter.
func mantisbt(n int) func(abi.Program) abi.Answer {
	return func(p abi.Program) abi.Answer {
		var pairs []any
		first := 0
		for _, s := range p.Steps {
			switch {
			case s.Op == abi.OpNavigate:
				first = min((pageOf(s.Path)-1)*pageSize, n-n%pageSize) // behind the last page stands the last one
			case s.As == "head":
				pairs = append(pairs, "head", table(headSchema(), map[string]any{"count": fmt.Sprintf("1 - 50 / %d", n)}))
			default:
				var rows []map[string]any
				for i := first; i < min(first+pageSize, n); i++ {
					rows = append(rows, listRow(n-i))
				}
				pairs = append(pairs, s.As, table(rowSchema(), rows...))
			}
		}
		ans := sdktest.Data(pairs...)
		ans.Page = &abi.PageInfo{URL: base + "/view_all_bug_page.php?filter=6b0d83ae7e254"}
		return ans
	}
}

// pageOf reads a path as pagePath makes it; that of a filter is the first page.
func pageOf(path string) int {
	u, err := url.Parse(path)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	page, err := strconv.Atoi(u.Query().Get("page_number"))
	if err != nil {
		return 1
	}
	return page
}

func TestListReadsAsManyPagesAsItMust(t *testing.T) {
	tests := []struct{ found, limit, rows, navigations int }{
		{0, 0, 0, 1}, {1, 0, 1, 1}, {50, 0, 50, 1}, {76, 0, 50, 1}, {76, 51, 51, 2}, {76, 500, 76, 2}, {100, 500, 100, 2}, {101, 500, 101, 3}, {700, 500, 500, 10}, {700, 1, 1, 1},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.found, " by ", tt.limit), func(t *testing.T) {
			h := host(t, mantisbt(tt.found))
			args := map[string]any{"limit": tt.limit}
			if tt.limit == 0 {
				args = map[string]any{}
			}
			out, err := sdktest.Call[listOutput](t, plugin(), h, "mantis.search_bugs", args)
			if err != nil {
				t.Fatal(err)
			}
			if out.Total != tt.found || len(out.Bugs) != tt.rows || out.Bugs == nil {
				t.Errorf("%d bugs of %d, want %d of %d", len(out.Bugs), out.Total, tt.rows, tt.found)
			}
			for i, r := range out.Bugs {
				if r.ID != tt.found-i {
					t.Fatalf("row %d is bug %d, want %d", i, r.ID, tt.found-i)
				}
			}
			if n := navigations(h); n != tt.navigations {
				t.Errorf("%d navigations, want %d", n, tt.navigations)
			}
		})
	}
}

func TestBugReportedMeanwhile(t *testing.T) {
	trips := 0
	h := host(t, func(p abi.Program) abi.Answer {
		trips++
		return mantisbt(75 + min(trips, 2))(p)
	})
	out, err := sdktest.Call[listOutput](t, plugin(), h, "mantis.search_bugs", map[string]any{"limit": 500})
	if err != nil || len(out.Bugs) != 76 {
		t.Fatalf("%d bugs, %v", len(out.Bugs), err)
	}
	for i, r := range out.Bugs {
		if r.ID != 76-i {
			t.Errorf("row %d is bug %d", i, r.ID)
		}
	}
}

func TestRow(t *testing.T) {
	out, err := sdktest.Call[listOutput](t, plugin(), host(t, mantisbt(1)), "mantis.list_my_bugs", listInput{"all", 5})
	if err != nil {
		t.Fatal(err)
	}
	r := out.Bugs[0]
	if r.Summary != "A <summary>" || *r.Handler != "wchen" || *r.Updated != "2026-01-13" || r.Priority != nil || r.Notes != 0 || r.URL != base+"/view.php?id=1" {
		t.Errorf("row is %+v", r)
	}
}

func TestFilter(t *testing.T) {
	tests := []struct {
		in   searchInput
		want map[string]string // beside what every filter has
	}{
		{searchInput{}, map[string]string{"hide_status": "-2", "project_id[]": "0", "sort": "id", "dir": "DESC"}},
		{searchInput{Status: "open", Handler: "me"}, map[string]string{"hide_status": "80", "handler_id[]": "-1"}},
		{searchInput{Status: "resolved", Handler: "nobody"}, map[string]string{"hide_status": "-2", "status[]": "80", "handler_id[]": "-2"}},
		{searchInput{Status: "55", Reporter: "7"}, map[string]string{"hide_status": "-2", "status[]": "55", "reporter_id[]": "7"}},
		{searchInput{Order: "oldest", ProjectID: 3}, map[string]string{"dir": "ASC", "project_id[]": "3"}},
		{searchInput{Order: "updated"}, map[string]string{"sort": "last_updated", "dir": "DESC"}},
		{searchInput{Text: "a&temporary=n#%"}, map[string]string{"search": "a&temporary=n#%"}},
	}
	for _, tt := range tests {
		path, err := tt.in.path()
		u, perr := url.Parse(path)
		if err != nil || perr != nil {
			t.Fatal(err, perr)
		}
		q := u.Query()
		for name, want := range tt.want {
			if q.Get(name) != want {
				t.Errorf("%+v has %s=%q, want %q", tt.in, name, q.Get(name), want)
			}
		}
		if !slices.Equal(q["temporary"], []string{"y"}) || q.Get("type") != "1" || q.Get("view_type") != "advanced" {
			t.Errorf("%+v would store a filter: %s", tt.in, path)
		}
	}
	for _, in := range []searchInput{{Status: "solved"}, {Status: "-2"}, {Status: "0"}, {Handler: "wchen"}, {Handler: "-1"}, {Reporter: "nobody else"}} {
		if path, err := in.path(); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%+v is %s, %v", in, path, err)
		}
	}
}

func bugFields(changes map[string]any) map[string]any {
	r := map[string]any{
		"id": 11, "summary": "0000011: A  summary: two", "project": "Mobile App", "category": "General", "status": "new", "reporter": "wchen", "handler": "",
		"submitted": "2026-01-21 14:44", "updated": "2026-03-04 17:50", "due": "", "tags": nil, "description": "one\n\n\u00a0\u00a0two\n\n\n\nthree\u00a0four",
	}
	maps.Copy(r, changes)
	return r
}

func always(ans abi.Answer) func(abi.Program) abi.Answer {
	return func(abi.Program) abi.Answer { return ans }
}

func optionTable(pairs ...any) abi.Table {
	out := abi.Table{Cols: []string{"id", "name"}, Rows: [][]any{}}
	for p := range slices.Chunk(pairs, 2) {
		out.Rows = append(out.Rows, p)
	}
	return out
}

// fileTable has the links to attachments as a page has them.
func fileTable(pairs ...any) abi.Table {
	out := abi.Table{Cols: []string{"link", "name"}, Rows: [][]any{}}
	for p := range slices.Chunk(pairs, 2) {
		out.Rows = append(out.Rows, []any{fmt.Sprintf("%s/file_download.php?file_id=%v&type=bug", base, p[0]), p[1]})
	}
	return out
}

func TestGetBug(t *testing.T) {
	note := func(id int, date string, private bool, text string) map[string]any {
		return map[string]any{"id": id, "author": "wchen", "submitted": date, "private": private, "text": text}
	}
	ans := sdktest.Data("bug", table(bugSchema(), bugFields(nil)),
		"files", fileTable(3, "", 3, "Größe.csv", 3, "Größe.csv", 4, "b.txt"),
		"notes", table(noteSchema(), note(1, "2026-01-22 01:46 private", true, "\n\ta\n\n\u00a0b\t"), note(2, "2026-01-23 01:46", false, "\n\t\tc\t\t")),
		"history", table(historySchema(), map[string]any{"date": "2026-11-30 14:09", "user": "administrator", "field": "Status", "change": "new => assigned"}),
		"comment", true, "statuses", optionTable(20, "feedback", 80, "resolved"), "handlers", optionTable(3, "[Myself]", 0, "", 3, "mlindqvist"))
	out, err := sdktest.Call[bug](t, plugin(), host(t, always(ans)), "mantis.get_bug", getInput{11, true})
	if err != nil {
		t.Fatal(err)
	}
	if out.Summary != "A  summary: two" || out.Description != "one\n  two\n\nthree\u00a0four" || out.Handler != nil || out.Due != nil || *out.Submitted != "2026-01-21T14:44" || out.Tags == nil {
		t.Errorf("bug is %+v", out)
	}
	if n := out.Notes; n[0].Text != "a\n b" || *n[0].Submitted != "2026-01-22T01:46" || n[1].Text != "\tc\t" || *n[1].Submitted != "2026-01-23T01:46" {
		t.Errorf("notes are %+v", n)
	}
	if !slices.Equal(out.Attachments, []choice{{3, "Größe.csv"}, {4, "b.txt"}}) || *out.History[0].Date != "2026-11-30T14:09" {
		t.Errorf("attachments %v, history %v", out.Attachments, out.History)
	}
	if c := out.Choices; !c.Comment || !slices.Equal(c.Handlers, []choice{{0, "nobody"}, {3, "mlindqvist"}}) {
		t.Errorf("choices are %+v", c)
	}
}

// bugPage answers the page of bug 11 with what writing asks of it.
func bugPage(form bool) abi.Answer {
	options := optionTable(0, "", 3, "mlindqvist", 20, "feedback", 80, "resolved")
	return sdktest.Data("bug", table(bugSchema(), bugFields(nil)), "form", form, "handlers", options, "statuses", options,
		"note", abi.Table{Cols: []string{"size"}, Rows: [][]any{{"5242880"}}}, "handler", abi.Table{Cols: []string{"link"}, Rows: [][]any{{nil}}},
		"report", abi.Table{Cols: []string{"form", "project"}, Rows: [][]any{{2, "Web Portal"}}}, "categories", optionTable(1, "[All Projects] General"))
}

func page(changes map[string]any) abi.Table {
	r := map[string]any{"user": "mlindqvist", "faults": nil, "notes": []string{"~0000240", "~0000246", "~0000007"}, "state": "assigned", "handler": "mlindqvist"}
	maps.Copy(r, changes)
	return table(answerSchema(), r)
}

func answered(status int, path string, tab abi.Table) func(abi.FetchRequest) abi.FetchAnswer {
	return func(abi.FetchRequest) abi.FetchAnswer {
		return abi.FetchAnswer{OK: true, Status: status, URL: base + path, Table: sdktest.Data("page", tab).Data["page"]}
	}
}

func createArgs() createInput {
	return createInput{ProjectID: 2, Project: "Web Portal", CategoryID: 1, Category: "General", Summary: "S", Description: "D"}
}

func TestWhatIsSent(t *testing.T) {
	tests := []struct {
		tool, answer, path, want string
		encoding                 abi.Encoding
		args                     any
	}{
		{"mantis.add_comment", "/view.php?id=11", "/bugnote_add.php", "bugnote_add_token=* bug_id=11 bugnote_text=Füße max_file_size=5242880", abi.EncodingMultipart, commentInput{11, "Füße"}},
		{"mantis.assign", "/view.php?id=11", "/bug_update.php", "bug_update_token=* last_updated=* action_type=assign handler_id=3 bug_id=11", abi.EncodingURLEncoded, assignInput{11, 3, "mlindqvist"}},
		{"mantis.create_bug", "/view.php?id=77", "/bug_report.php", "bug_report_token=* m_id=0 project_id=2 category_id=1 summary=S description=D steps_to_reproduce= additional_info=", abi.EncodingMultipart, createArgs()},
	}
	for _, tt := range tests {
		h := host(t, always(bugPage(true)))
		h.OnFetch = answered(200, tt.answer, page(nil))
		if _, err := sdktest.Call[any](t, plugin(), h, tt.tool, tt.args); err != nil {
			t.Errorf("%s: %v", tt.tool, err)
			continue
		}
		if len(h.Fetches) != 1 {
			t.Fatalf("%s: %d requests, want one", tt.tool, len(h.Fetches))
		}
		var sent []string
		for _, f := range h.Fetches[0].Body.Fields {
			if f.Token != "" {
				f.Value = "*"
			}
			sent = append(sent, f.Name+"="+f.Value)
		}
		if f := h.Fetches[0]; f.Method != "POST" || f.Path != tt.path || f.Body.Encoding != tt.encoding || strings.Join(sent, " ") != tt.want {
			t.Errorf("%s: %s %s as %s with %q, want %q", tt.tool, f.Method, f.Path, f.Body.Encoding, sent, tt.want)
		}
	}
}

func TestNewNote(t *testing.T) {
	h := host(t, always(bugPage(true)))
	h.OnFetch = answered(200, "/view.php?id=11", page(nil))
	out, err := sdktest.Call[commentOutput](t, plugin(), h, "mantis.add_comment", commentInput{11, "x"})
	if err != nil || out.Note != 246 || out.URL != base+"/view.php?id=11" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestNotTaken(t *testing.T) {
	faults := func(words ...string) abi.Table { return page(map[string]any{"faults": words}) }
	tests := []struct {
		name   string
		answer func(abi.FetchRequest) abi.FetchAnswer
		code   abi.Code
	}{
		{"signed out", answered(200, "/login_page.php?return=x", page(map[string]any{"user": nil})), abi.ErrAuthExpired},
		{"signed out, in place", answered(403, "/bugnote_add.php", page(map[string]any{"user": nil, "faults": []string{"APPLICATION ERROR #2800"}})), abi.ErrAuthExpired},
		{"token", answered(403, "/bugnote_add.php", faults("APPLICATION ERROR #2800", "Invalid form security token.")), abi.ErrForbidden},
		{"no right", answered(403, "/bugnote_add.php", faults("Access Denied.")), abi.ErrForbidden},
		{"gone", answered(404, "/bugnote_add.php", faults("APPLICATION ERROR #1100", "Issue 11 not found.")), abi.ErrNotFound},
		{"a required field", answered(400, "/bugnote_add.php", faults("APPLICATION ERROR #11")), abi.ErrInvalidArgs},
		{"a fault with status 200", answered(200, "/view.php?id=11", faults("APPLICATION ERROR #1105")), abi.ErrInvalidArgs},
		{"another bug", answered(200, "/view.php?id=12", page(nil)), abi.ErrSelectorDrift},
		{"another page", answered(200, "/my_view_page.php", page(nil)), abi.ErrSelectorDrift},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t, always(bugPage(true)))
			h.OnFetch = tt.answer
			_, err := sdktest.Call[any](t, plugin(), h, "mantis.add_comment", commentInput{11, "x"})
			if !errors.Is(err, tt.code) || len(h.Fetches) != 1 {
				t.Errorf("%v after %d requests, want %s after one", err, len(h.Fetches), tt.code)
			}
		})
	}
}

func navigations(h *sdktest.Host) int {
	n := 0
	for _, p := range h.Programs {
		for _, s := range p.Steps {
			if s.Op == abi.OpNavigate {
				n++
			}
		}
	}
	return n
}
