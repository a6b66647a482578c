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

// sent is the one form that a host was asked to send, as "name=value" in order.
func sent(t *testing.T, h *sdktest.Host) []string {
	t.Helper()
	if len(h.Fetches) != 1 {
		t.Fatalf("%d requests, want one: nothing is sent twice", len(h.Fetches))
	}
	list := []string{h.Fetches[0].Method + " " + h.Fetches[0].Path}
	for _, f := range h.Fetches[0].Body.Fields {
		list = append(list, f.Name+"="+f.Value)
	}
	return list
}

func TestReply(t *testing.T) {
	h := host(t, always(ticketAnswer(ticketRows(nil))))
	h.OnFetch = answered(200, stored, []string{"Correspondence added"}, nil)
	out, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.reply", messageInput{11, "Füße\n"})
	if err != nil || out.ID != 11 || out.Message != "Correspondence added" {
		t.Fatalf("result is %+v, %v", out, err)
	}
	want := []string{"POST /Ticket/Update.html", "id=11", "UpdateType=response", "UpdateContent=Füße\n", "UpdateContentType=text/plain", "SubmitTicket=Update Ticket"}
	if got := sent(t, h); !slices.Equal(got, want) {
		t.Errorf("it sends %q, want %q", got, want)
	}
}

// statusSite is ticket 11, open, with the statuses that its page offers.
func statusSite(t *testing.T, after string, choices ...string) *sdktest.Host {
	t.Helper()
	ans := ticketAnswer(ticketRows(nil))
	more := sdktest.Data("choices", table(choicesSchema(), map[string]any{"choices": choices}))
	ans.Data["choices"] = more.Data["choices"]
	h := host(t, always(ans))
	h.OnFetch = func(abi.FetchRequest) abi.FetchAnswer {
		page := sdktest.Data("page", table(resultSchema(), map[string]any{"messages": []string{"Status changed"}, "csrf": nil, "status": after}))
		return abi.FetchAnswer{OK: true, Status: 200, URL: base + stored, Table: page.Data["page"]}
	}
	return h
}

func TestSetStatus(t *testing.T) {
	h := statusSite(t, "resolved", "new", "resolved", "deleted")
	out, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.set_status", statusInput{11, "resolved"})
	if err != nil || out.ID != 11 || out.Message != "Status changed" {
		t.Fatalf("result is %+v, %v", out, err)
	}
	if got, want := sent(t, h), []string{"POST /Ticket/Display.html", "id=11", "Status=resolved"}; !slices.Equal(got, want) {
		t.Errorf("it sends %q, want %q", got, want)
	}
}

func TestSetStatusThatIsNotSet(t *testing.T) {
	tests := []struct {
		name, want string
		site       *sdktest.Host
		requests   int
		code       abi.Code
	}{
		{"as it is", "open", statusSite(t, "", "new"), 0, ""},
		{"not offered", "resolved", statusSite(t, "", "new"), 0, abi.ErrInvalidArgs},
		{"deletion", "deleted", statusSite(t, "", "new", "deleted"), 0, abi.ErrInvalidArgs},
		{"no right", "resolved", statusSite(t, ""), 0, abi.ErrForbidden},
		{"another one afterwards", "new", statusSite(t, "open", "new"), 1, abi.ErrInvalidArgs},
		{"none afterwards", "new", statusSite(t, "", "new"), 1, abi.ErrInvalidArgs},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sdktest.Call[writeOutput](t, plugin(), tt.site, "rt.set_status", statusInput{11, tt.want})
			if (tt.code == "") != (err == nil) || tt.code != "" && !errors.Is(err, tt.code) || len(tt.site.Fetches) != tt.requests {
				t.Errorf("%v after %d requests, want %q after %d", err, len(tt.site.Fetches), tt.code, tt.requests)
			}
		})
	}
}

// createSite has the form for a new ticket.
func createSite(t *testing.T, form map[string]any, at string) *sdktest.Host {
	t.Helper()
	h := host(t, always(sdktest.Data("form", table(formSchema(), form))))
	h.OnFetch = answered(200, at, []string{"Ticket 77 created in queue 'General'"}, nil)
	return h
}

func TestCreateTicket(t *testing.T) {
	form := map[string]any{"form": true, "queue": "General"}
	h := createSite(t, form, "/Ticket/Display.html?id=77&results=c0ffee")
	out, err := sdktest.Call[writeOutput](t, plugin(), h, "rt.create_ticket", map[string]any{"queue": "General", "subject": " Füße ", "text": "a\n\n b"})
	if err != nil || out.ID != 77 || out.URL != base+"/Ticket/Display.html?id=77" {
		t.Fatalf("result is %+v, %v", out, err)
	}
	want := []string{
		"POST /Ticket/Create.html", "id=new", "Queue=General", "Requestors=", "Subject= Füße ", "Content=a\n\n b", "ContentType=text/plain", "SubmitTicket=Create",
	}
	if got := sent(t, h); !slices.Equal(got, want) {
		t.Errorf("it sends %q, want %q", got, want)
	}
}

func TestCreateTicketNotTaken(t *testing.T) {
	good := map[string]any{"form": true, "queue": "General"}
	tests := []struct {
		name     string
		form     map[string]any
		at       string
		requests int
		code     abi.Code
		text     string
	}{
		{"no such queue", map[string]any{"form": false, "fault": "Queue x could not be loaded."}, "", 0, abi.ErrInvalidArgs, "could not be loaded"},
		{"redesigned", map[string]any{"form": false}, "", 0, abi.ErrSelectorDrift, "no form"},
		{"no right", map[string]any{"form": true}, "", 0, abi.ErrForbidden, "may not create"},
		{"a number for a name", map[string]any{"form": true, "queue": "Billing"}, "", 0, abi.ErrInvalidArgs, `"Billing"`},
		{"form again", good, "/Ticket/Create.html", 1, abi.ErrInvalidArgs, "did not take it"},
		{"signed out", good, "/NoAuth/Login.html?next=abc", 1, abi.ErrAuthExpired, "login ended"},
		{"no number", good, "/Ticket/Display.html?id=x&results=c0ffee", 1, abi.ErrSelectorDrift, "came from"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := createSite(t, tt.form, tt.at)
			_, err := sdktest.Call[any](t, plugin(), h, "rt.create_ticket", createInput{Queue: "General", Subject: "s", Text: "t", Requestor: "r"})
			if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text) || len(h.Fetches) != tt.requests {
				t.Errorf("%v after %d requests, want %s with %q after %d", err, len(h.Fetches), tt.code, tt.text, tt.requests)
			}
		})
	}
}
