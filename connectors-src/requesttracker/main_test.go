//go:build !wasip1

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
)

const base = "http://rt.example:9131"

func host(t *testing.T, read func(abi.Program) abi.Answer) *sdktest.Host {
	t.Helper()
	return &sdktest.Host{
		Manifest: sdktest.Manifest(t, "plugin.yaml", plugin()), Settings: map[string]string{"base_url": base + "/"}, OnRead: read,
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

func listRow(id int) map[string]any {
	return map[string]any{
		"id": id, "subject": "  A  subject ", "status": "open", "queue": "General", "owner": "wchen (陈伟)", "priority": "High",
		"requestors": []string{"pnovak (Petr Novák)"}, "created": "Wed Jan 21 14:44:00 2026", "updated": "Thu Feb 05 03:13:00 2026", "due": "Not set",
	}
}

// site answers as a Request Tracker with n tickets that a query finds, and all
// that it shows.
func site(found map[string]int, fault any) func(abi.Program) abi.Answer {
	return func(p abi.Program) abi.Answer {
		var pairs []any
		total, first := 0, 0
		for _, s := range p.Steps {
			switch {
			case s.Op == abi.OpNavigate:
				query, page := parseList(s.Path)
				total = found[query]
				first = min((page-1)*pageSize, total-total%pageSize) // behind the last page stands the last one
			case s.As == "head":
				pairs = append(pairs, "head", table(headSchema(), map[string]any{"heading": fmt.Sprintf("Found %d tickets", total), "fault": fault}))
			default:
				var rows []map[string]any
				for i := first; i < min(first+pageSize, total); i++ {
					rows = append(rows, listRow(total-i))
				}
				pairs = append(pairs, s.As, table(rowSchema(), rows...))
			}
		}
		return sdktest.Data(pairs...)
	}
}

func TestListReadsAsManyPagesAsItMust(t *testing.T) {
	tests := []struct{ found, limit, rows, navigations int }{
		{1, 0, 1, 1},
		{50, 0, 50, 1},
		{76, 0, 50, 1},
		{76, 51, 51, 2},
		{76, 500, 76, 2},
		{100, 500, 100, 2},
		{101, 500, 101, 3},
		{700, 500, 500, 10},
		{700, 1, 1, 1},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.found, " by ", tt.limit), func(t *testing.T) {
			h := host(t, site(map[string]int{mine: tt.found}, nil))
			args := map[string]any{"limit": tt.limit}
			if tt.limit == 0 {
				args = map[string]any{}
			}
			out, err := sdktest.Call[listOutput](t, plugin(), h, "rt.list_my_tickets", args)
			if err != nil {
				t.Fatal(err)
			}
			if out.Total != tt.found || len(out.Tickets) != tt.rows {
				t.Errorf("%d tickets of %d, want %d of %d", len(out.Tickets), out.Total, tt.rows, tt.found)
			}
			for i, r := range out.Tickets {
				if r.ID != tt.found-i {
					t.Fatalf("row %d is ticket %d, want %d", i, r.ID, tt.found-i)
				}
			}
			if n := navigations(h); n != tt.navigations {
				t.Errorf("%d navigations, want %d", n, tt.navigations)
			}
		})
	}
}

func TestTicketCreatedMeanwhile(t *testing.T) {
	trips := 0
	h := host(t, func(p abi.Program) abi.Answer {
		trips++
		if trips == 1 {
			return site(map[string]int{mine: 76}, nil)(p)
		}
		return site(map[string]int{mine: 77}, nil)(p)
	})
	out, err := sdktest.Call[listOutput](t, plugin(), h, "rt.list_my_tickets", listInput{500})
	if err != nil || len(out.Tickets) != 76 {
		t.Fatalf("%d tickets, %v", len(out.Tickets), err)
	}
	for i, r := range out.Tickets {
		if r.ID != 76-i {
			t.Errorf("row %d is ticket %d", i, r.ID)
		}
	}
}

func TestRow(t *testing.T) {
	h := host(t, site(map[string]int{mine: 1}, nil))
	out, err := sdktest.Call[listOutput](t, plugin(), h, "rt.list_my_tickets", listInput{5})
	if err != nil {
		t.Fatal(err)
	}
	r := out.Tickets[0]
	if r.Subject != "  A  subject " || *r.Owner != "wchen (陈伟)" || *r.Created != "2026-01-21T14:44:00" || r.Due != nil || r.URL != base+"/Ticket/Display.html?id=1" {
		t.Errorf("row is %+v", r)
	}
}

func TestQuery(t *testing.T) {
	tests := []struct {
		in   searchInput
		want string
	}{
		{searchInput{}, "id > 0"},
		{searchInput{Status: "active"}, "Status = '__Active__'"},
		{searchInput{Status: "inactive", Owner: "me"}, "Status = '__Inactive__' AND Owner = '__CurrentUser__'"},
		{searchInput{Queue: "Web Portal", Owner: "nobody"}, "Queue = 'Web Portal' AND Owner = 'Nobody'"},
		{searchInput{Requestor: "wchen"}, "Requestor.Name = 'wchen'"},
		{searchInput{Requestor: "w@x.test", Status: "open"}, "Status = 'open' AND Requestor.EmailAddress = 'w@x.test'"},
		{searchInput{Subject: "x' OR id > 0 OR Subject LIKE '"}, `Subject LIKE 'x\' OR id > 0 OR Subject LIKE \''`},
		{searchInput{Subject: `\`}, `Subject LIKE '\\'`},
		{searchInput{Subject: `\' OR id > 0 --`}, `Subject LIKE '\\\' OR id > 0 --'`},
	}
	for _, tt := range tests {
		if got := tt.in.query(); got != tt.want {
			t.Errorf("query is %s, want %s", got, tt.want)
		}
	}
}

func TestEmptyList(t *testing.T) {
	h := host(t, site(map[string]int{visible: 76}, nil))
	out, err := sdktest.Call[listOutput](t, plugin(), h, "rt.search_tickets", map[string]any{"queue": "No such queue"})
	if err != nil || out.Total != 0 || out.Tickets == nil || len(out.Tickets) != 0 {
		t.Errorf("%+v, %v, want an empty list", out, err)
	}
}

func ticketRows(changes map[string]any) map[string]any {
	r := listRow(11)
	r["subject"] = "#11:   A  subject "
	r["updated"] = "Wed Mar 04 17:50:00 2026 by rosullivan (Róisín O'Sullivan)"
	r["due"] = nil
	maps.Copy(r, changes)
	return r
}

func event(id int, day string, changes map[string]any) map[string]any {
	r := map[string]any{
		"id": id, "created": "Wed Jan " + day + " 14:44:00 2026", "author": "wchen (陈伟)", "event": "wchen (陈伟) - Comments added",
		"plain": []string{}, "rich": []string{}, "folds": []string{}, "files": table(abi.Extraction{Cols: []abi.Col{{Name: "link"}, {Name: "name"}}}),
	}
	maps.Copy(r, changes)
	return r
}

func ticketAnswer(head map[string]any, events ...map[string]any) abi.Answer {
	return sdktest.Data("ticket", table(ticketSchema(), head), "history", table(historySchema(), events...),
		"fields", table(fieldSchema(), map[string]any{"name": "Tags:", "values": []string{"ux", "i18n"}}))
}

func always(ans abi.Answer) func(abi.Program) abi.Answer {
	return func(abi.Program) abi.Answer { return ans }
}

func TestGetTicket(t *testing.T) {
	files := abi.Table{Cols: []string{"link", "name"}, Rows: [][]any{{"Attachment/2/17/Bericht Gr%C3%B6%C3%9Fe.csv", "Bericht Größe.csv"}}}
	ans := ticketAnswer(ticketRows(nil),
		event(9, "22", map[string]any{"plain": []string{"On Monday:\nShow quoted text\n> before\n"}, "folds": []string{"Show quoted text"}}),
		event(2, "21", map[string]any{"plain": []string{"  indented\n\n<b>\n"}, "event": "wchen (陈伟) - Ticket created", "files": files}),
		event(3, "21", map[string]any{"rich": []string{"one\n\ntwo"}}),
	)
	out, err := sdktest.Call[ticket](t, plugin(), host(t, always(ans)), "rt.get_ticket", getInput{11})
	if err != nil {
		t.Fatal(err)
	}
	if out.Subject != "  A  subject " || *out.Updated != "2026-03-04T17:50:00" || out.Due != nil || out.Truncated || out.CustomFields[0].Name != "Tags" {
		t.Errorf("ticket is %+v", out)
	}
	var texts []string
	for _, x := range out.History {
		texts = append(texts, fmt.Sprint(x.ID, x.Event, x.Text, x.Attachments))
	}
	want := []string{
		"2Ticket created  indented\n\n<b>[{17 Bericht Größe.csv}]", "3Comments addedone\n\ntwo[]", "9Comments addedOn Monday:\n> before[]",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("history is %q, want %q", texts, want)
	}
}

func TestNobodyAndNothing(t *testing.T) {
	head := ticketRows(map[string]any{"owner": "Nobody in particular", "requestors": nil})
	out, err := sdktest.Call[ticket](t, plugin(), host(t, always(ticketAnswer(head, event(1, "21", nil)))), "rt.get_ticket", getInput{11})
	if err != nil || out.Owner != nil || out.Requestors == nil || out.History[0].Attachments == nil {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestLongHistoryIsToldToBeCut(t *testing.T) {
	ans := ticketAnswer(ticketRows(nil), event(1, "21", nil))
	ans.Truncated = true
	out, err := sdktest.Call[ticket](t, plugin(), host(t, always(ans)), "rt.get_ticket", getInput{11})
	if err != nil || !out.Truncated {
		t.Errorf("truncated is %v, %v", out.Truncated, err)
	}
}

// answered is Request Tracker's answer to a comment.
func answered(status int, path string, messages, csrf []string) func(abi.FetchRequest) abi.FetchAnswer {
	return func(abi.FetchRequest) abi.FetchAnswer {
		page := sdktest.Data("page", table(resultSchema(), map[string]any{"messages": messages, "csrf": csrf}))
		return abi.FetchAnswer{OK: true, Status: status, URL: base + path, Table: page.Data["page"]}
	}
}

const stored = "/Ticket/Display.html?id=11&results=c0ffee"

func TestComment(t *testing.T) {
	h := host(t, always(ticketAnswer(ticketRows(nil))))
	h.OnFetch = answered(200, stored, []string{"Comments added"}, nil)
	const text = "Füße\n\n  <b>& 😀\n"
	out, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.comment", messageInput{11, text})
	if err != nil || out.ID != 11 || out.Message != "Comments added" || out.URL != base+"/Ticket/Display.html?id=11" {
		t.Fatalf("result is %+v, %v", out, err)
	}
	if len(h.Fetches) != 1 {
		t.Fatalf("%d requests, want one: a comment is sent once", len(h.Fetches))
	}
	var sent []string
	for _, f := range h.Fetches[0].Body.Fields {
		sent = append(sent, f.Name+"="+f.Value)
	}
	want := []string{"id=11", "UpdateType=private", "UpdateContent=" + text, "UpdateContentType=text/plain", "SubmitTicket=Update Ticket"}
	if f := h.Fetches[0]; f.Method != "POST" || f.Path != "/Ticket/Update.html" || !slices.Equal(sent, want) {
		t.Errorf("%s %s with %q, want %q", f.Method, f.Path, sent, want)
	}
	if got := h.Programs[0].Steps[0].Path; got != "/Ticket/Display.html?id=11" {
		t.Errorf("it is sent from %s, want the ticket's page", got)
	}
}

func TestCommentNotTaken(t *testing.T) {
	tests := []struct {
		name   string
		answer func(abi.FetchRequest) abi.FetchAnswer
		code   abi.Code
	}{
		{"taken for forged", answered(200, "/Ticket/Update.html", nil, []string{"click here"}), abi.ErrForbidden},
		{"forged, shown where success is", answered(200, stored, nil, []string{"click here"}), abi.ErrForbidden},
		{"signed out", answered(200, "/NoAuth/Login.html?next=abc", nil, nil), abi.ErrAuthExpired},
		{"no right", answered(403, "/Ticket/Update.html", nil, nil), abi.ErrForbidden},
		{"gone", answered(404, "/Ticket/Update.html", nil, nil), abi.ErrNotFound},
		{"form again", answered(200, "/Ticket/Update.html", []string{"Message is empty"}, nil), abi.ErrInvalidArgs},
		{"no results", answered(200, "/Ticket/Display.html?id=11", nil, nil), abi.ErrInvalidArgs},
		{"another ticket", answered(200, "/Ticket/Display.html?id=12&results=c0ffee", nil, nil), abi.ErrSelectorDrift},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t, always(ticketAnswer(ticketRows(nil))))
			h.OnFetch = tt.answer
			_, err := sdktest.Call[any](t, plugin(), h, "rt.comment", messageInput{11, "x"})
			if !errors.Is(err, tt.code) || len(h.Fetches) != 1 {
				t.Errorf("%v after %d requests, want %s after one", err, len(h.Fetches), tt.code)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	short := sdktest.Data("head", table(headSchema(), map[string]any{"heading": "Found 7 tickets"}), "tickets", table(rowSchema(), listRow(1)))
	uncounted := sdktest.Data("head", table(headSchema(), map[string]any{"heading": "Tickets"}), "tickets", table(rowSchema(), listRow(1)))
	hidden := sdktest.Data("head", table(headSchema(), map[string]any{"heading": "Found 7 tickets"}), "tickets", table(rowSchema()))
	link := abi.Table{Cols: []string{"link", "name"}, Rows: [][]any{{"https://evil.example/", "x"}}}
	tests := []struct {
		name, tool string
		args       any
		read       func(abi.Program) abi.Answer
		code       abi.Code
		text       string
	}{
		{"signed out", "rt.list_my_tickets", listInput{1}, always(sdktest.Failed(0, abi.ErrAuthExpired, "signed out")), abi.ErrAuthExpired, "step 1"},
		{"sees nothing", "rt.list_my_tickets", listInput{1}, site(nil, nil), abi.ErrForbidden, "no ticket in any queue"},
		{"sees nothing at all", "rt.search_tickets", map[string]any{}, site(nil, nil), abi.ErrForbidden, "no ticket in any queue"},
		{"search not understood", "rt.search_tickets", map[string]any{"subject": "x"}, site(nil, "Wrong query"), abi.ErrInvalidArgs, `"Wrong query"`},
		{"rows missing", "rt.list_my_tickets", listInput{9}, always(short), abi.ErrSelectorDrift, "says 7 tickets and its first page shows 1"},
		{"no rows", "rt.list_my_tickets", listInput{9}, always(hidden), abi.ErrSelectorDrift, "shows 0"},
		{"no count", "rt.list_my_tickets", listInput{9}, always(uncounted), abi.ErrSelectorDrift, `"Tickets" says no number`},
		{"missing", "rt.get_ticket", getInput{9999}, always(sdktest.Failed(0, abi.ErrNotFound, "no such page")), abi.ErrNotFound, "step 1"},
		{"another ticket", "rt.get_ticket", getInput{12}, always(ticketAnswer(ticketRows(nil))), abi.ErrSelectorDrift, "shows ticket 11"},
		{"strange heading", "rt.get_ticket", getInput{11}, always(ticketAnswer(ticketRows(map[string]any{"subject": "Ticket 11"}))), abi.ErrSelectorDrift, `"Ticket 11"`},
		{"undated", "rt.get_ticket", getInput{11}, always(ticketAnswer(ticketRows(nil), event(1, "", map[string]any{"created": "never"}))), abi.ErrSelectorDrift, "no date"},
		{"strange link", "rt.get_ticket", getInput{11}, always(ticketAnswer(ticketRows(nil), event(1, "21", map[string]any{"files": link}))), abi.ErrSelectorDrift, "no link to an attachment"},
		{"comment on what is missing", "rt.comment", messageInput{9999, "x"}, always(sdktest.Failed(0, abi.ErrNotFound, "no such page")), abi.ErrNotFound, "step 1"},
		{"comment on another ticket", "rt.comment", messageInput{12, "x"}, always(ticketAnswer(ticketRows(nil))), abi.ErrSelectorDrift, "shows ticket 11"},
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

func TestCount(t *testing.T) {
	for heading, want := range map[string]int{
		"Found 76 tickets": 76, "Found 1 ticket": 1, "Found 0 tickets": 0, "Found 1,234 tickets": 1234, "Found 1,234,567 tickets": 1234567,
		"1.234 Tickets gefunden": 1234, "12件": 12, "Found tickets": -1, "": -1,
	} {
		n, ok := count(heading)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q counts %d, %v; want %d", heading, n, ok, want)
		}
	}
}

func TestDate(t *testing.T) {
	for shown, want := range map[string]string{
		"Wed Jan 07 13:28:00 2026": "2026-01-07T13:28:00", "2026-01-07 13:28:00": "2026-01-07T13:28:00",
		"2026-01-07T13:28:00Z": "2026-01-07T13:28:00", "Wed, 7 Jan 2026 13:28:00 +0000": "2026-01-07T13:28:00",
		"Mi 07 Jän 13:28:00 2026": "Mi 07 Jän 13:28:00 2026", "Not set": "", "": "",
	} {
		got := date(&shown)
		if want == "" && got != nil || want != "" && (got == nil || *got != want) {
			t.Errorf("%q is %v, want %q", shown, got, want)
		}
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
