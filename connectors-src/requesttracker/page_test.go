//go:build !wasip1

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
)

const words = "Füße\n\n  <b>& 😀"

// after is what a ticket's page says after a form was sent.
func after(ticket, page map[string]any) abi.Answer {
	ans := ticketAnswer(ticketRows(ticket))
	if page["messages"] == nil {
		page["messages"] = []string{"Done"}
	}
	page["csrf"] = nil
	ans.Data["page"] = sdktest.Data("page", table(resultSchema(), page)).Data["page"]
	return ans
}

// steps are those of an operation, in all programs that a host was given.
func steps(h *sdktest.Host, op abi.Op) []abi.Step {
	var list []abi.Step
	for _, p := range h.Programs {
		for _, s := range p.Steps {
			if s.Op == op {
				list = append(list, s)
			}
		}
	}
	return list
}

// filled is what was typed, by the field or, in a frame, by the frame.
func filled(h *sdktest.Host) map[string]string {
	values := map[string]string{}
	for _, s := range steps(h, abi.OpFill) {
		values[strings.Join(append(slices.Clone(s.Within), s.Selector), " ")] = s.Value
	}
	return values
}

func isSentOnce(t *testing.T, h *sdktest.Host) {
	t.Helper()
	if clicks := steps(h, abi.OpClick); len(clicks) != 1 || len(h.Fetches) != 0 || !strings.HasSuffix(clicks[0].Selector, submit) {
		t.Errorf("clicks are %+v, with %d requests, want one click: nothing is sent twice", clicks, len(h.Fetches))
	}
}

func TestReplyOnPage(t *testing.T) {
	h := host(t, nil)
	h.OnAct = func(abi.Program) abi.Answer {
		return after(nil, map[string]any{"messages": []string{"Correspondence added"}})
	}
	out, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.reply_on_page", messageInput{11, words})
	if err != nil || out.ID != 11 || out.Message != "Correspondence added" {
		t.Fatalf("result is %+v, %v", out, err)
	}
	if len(h.Programs) != 1 {
		t.Fatalf("%d trips, want one", len(h.Programs))
	}
	isSentOnce(t, h)
	if got := filled(h)[editor+" body.cke_editable"]; got != words {
		t.Errorf("the editor holds %q, want %q", got, words)
	}
}

func TestReplyOnPageOfAnother(t *testing.T) {
	h := host(t, nil)
	h.OnAct = func(abi.Program) abi.Answer { return after(map[string]any{"id": 12}, map[string]any{}) }
	if _, err := sdktest.Call[any](t, plugin(), h, "rt.reply_on_page", messageInput{11, "x"}); !errors.Is(err, abi.ErrSelectorDrift) {
		t.Errorf("error is %v", err)
	}
}

func TestSetStatusOnPage(t *testing.T) {
	h := statusSite(t, "", "new", "resolved")
	h.OnAct = func(abi.Program) abi.Answer { return after(nil, map[string]any{"status": "resolved"}) }
	out, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.set_status_on_page", statusInput{11, "resolved"})
	if err != nil || out.ID != 11 || out.Message != "Done" {
		t.Fatalf("result is %+v, %v", out, err)
	}
	isSentOnce(t, h)
	if chosen := steps(h, abi.OpSelect); len(chosen) != 1 || chosen[0].Value != "resolved" {
		t.Errorf("it chooses %+v", chosen)
	}
	if got, ok := filled(h)[editor+" body.cke_editable"]; !ok || got != "" {
		t.Errorf("the editor holds %q, %v, want it emptied", got, ok)
	}
}

func TestSetStatusOnPageThatIsNotSet(t *testing.T) {
	tests := []struct {
		name, want, after string
		choices           []string
		clicks            int
		code              abi.Code
	}{
		{"as it is", "open", "", []string{"new"}, 0, ""},
		{"not offered", "resolved", "", []string{"new"}, 0, abi.ErrInvalidArgs},
		{"deletion", "deleted", "", []string{"new", "deleted"}, 0, abi.ErrInvalidArgs},
		{"no right", "resolved", "", nil, 0, abi.ErrForbidden},
		{"another one afterwards", "new", "open", []string{"new"}, 1, abi.ErrInvalidArgs},
		{"none afterwards", "new", "", []string{"new"}, 1, abi.ErrInvalidArgs},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := statusSite(t, "", tt.choices...)
			h.OnAct = func(abi.Program) abi.Answer { return after(nil, map[string]any{"status": tt.after}) }
			_, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.set_status_on_page", statusInput{11, tt.want})
			if (tt.code == "") != (err == nil) || tt.code != "" && !errors.Is(err, tt.code) || len(steps(h, abi.OpClick)) != tt.clicks {
				t.Errorf("%v after %d clicks, want %q after %d", err, len(steps(h, abi.OpClick)), tt.code, tt.clicks)
			}
		})
	}
}

// createPage is the form for a new ticket, and ticket 77 once it was sent.
func createPage(t *testing.T, form map[string]any) *sdktest.Host {
	t.Helper()
	h := host(t, nil)
	h.OnAct = func(p abi.Program) abi.Answer {
		if p.Steps[0].Op == abi.OpNavigate {
			return sdktest.Data("form", table(formSchema(), form))
		}
		return after(map[string]any{"id": 77, "subject": "#77: s"}, map[string]any{})
	}
	return h
}

func TestCreateTicketOnPage(t *testing.T) {
	for _, who := range []string{"", "a@b.example"} {
		h := createPage(t, map[string]any{"form": true, "queue": "General", "number": 3})
		args := map[string]any{"queue": "General", "queue_id": 3, "subject": " Füße ", "text": words}
		if who != "" {
			args["requestor"] = who
		}
		out, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.create_ticket_on_page", args)
		if err != nil || out.ID != 77 || out.URL != base+"/Ticket/Display.html?id=77" {
			t.Fatalf("result is %+v, %v", out, err)
		}
		isSentOnce(t, h)
		got := filled(h)
		if got[editor+" body.cke_editable"] != words || got[createForm+`input[name="Subject"]`] != " Füße " || got["#Requestors-selectized"] != who {
			t.Errorf("it fills in %q", got)
		}
		if keys := steps(h, abi.OpPress); keys[0].Key != "Backspace" || (who != "") != (len(keys) == 2) {
			t.Errorf("it presses %+v, want the form's own requestor taken away", keys)
		}
	}
}

func TestCreateTicketOnPageNotTaken(t *testing.T) {
	tests := []struct {
		name string
		form map[string]any
		code abi.Code
		text string
	}{
		{"no such queue", map[string]any{"form": false, "fault": "Queue x could not be loaded."}, abi.ErrInvalidArgs, "could not be loaded"},
		{"redesigned", map[string]any{"form": false}, abi.ErrSelectorDrift, "no form"},
		{"no right", map[string]any{"form": true}, abi.ErrForbidden, "may not create"},
		{"a number for a name", map[string]any{"form": true, "queue": "Billing", "number": 3}, abi.ErrInvalidArgs, `"Billing"`},
		{"the number of another", map[string]any{"form": true, "queue": "General", "number": 1}, abi.ErrInvalidArgs, "list_queues"},
		{"no number", map[string]any{"form": true, "queue": "General"}, abi.ErrInvalidArgs, "list_queues"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := createPage(t, tt.form)
			_, err := sdktest.Call[any](t, plugin(), h, "rt.create_ticket_on_page", map[string]any{"queue": "General", "queue_id": 3, "subject": "s", "text": "t"})
			if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text) || len(steps(h, abi.OpClick)) != 0 {
				t.Errorf("%v after %d clicks, want %s with %q after none", err, len(steps(h, abi.OpClick)), tt.code, tt.text)
			}
		})
	}
}

func TestListQueues(t *testing.T) {
	rows := []map[string]any{{"id": 3, "name": "Billing"}, {"id": 1, "name": "Prüfung"}}
	for n, code := range []abi.Code{abi.ErrForbidden, "", ""} {
		h := host(t, always(sdktest.Data("queues", table(queueSchema(), rows[:n]...))))
		out, err := sdktest.Call[queuesOutput](t, plugin(), h, "rt.list_queues", map[string]any{})
		if (code == "") != (err == nil) || code != "" && !errors.Is(err, code) || len(out.Queues) != n {
			t.Errorf("%d queues: %+v, %v", n, out, err)
		}
	}
}
