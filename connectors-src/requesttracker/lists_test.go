//go:build !wasip1

package main

import (
	"encoding/json"
	"net/url"
	"strconv"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

// parseList reads a path as listPath makes it.
func parseList(path string) (query string, page int) {
	u, err := url.Parse(path)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	page, err = strconv.Atoi(u.Query().Get("Page"))
	if err != nil {
		page = 1
	}
	return u.Query().Get("Query"), page
}

// guarded puts a tool's lists and arguments into the guard that the host uses.
func guarded(t *testing.T, tool string, args any) *guard.Guard {
	t.Helper()
	c := sdktest.Manifest(t, "plugin.yaml", plugin()).Connectors[0]
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	all, err := origin.ParsePattern(base + "/*")
	if err != nil {
		t.Fatal(err)
	}
	spec := guard.Spec{Base: base, Origins: []origin.Pattern{all}, Args: raw}
	for _, r := range c.Resources {
		p, err := origin.ParsePattern(base + r[len("{base_url}"):])
		if err != nil {
			t.Fatal(err)
		}
		spec.Resources = append(spec.Resources, p)
	}
	for _, d := range c.Tools {
		if d.Name == tool {
			spec.Reads, spec.Writes = d.Reads, d.Writes
		}
	}
	g, err := guard.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func page(path string) guard.Observed {
	return guard.Observed{Method: "GET", URL: base + path, BodyComplete: true, Kind: guard.KindDocument}
}

// TestEveryPathIsListed holds what the code asks for against plugin.yaml.
func TestEveryPathIsListed(t *testing.T) {
	search := searchInput{Subject: `'; \ % & ü`, Status: "open", Queue: "Web Portal", Owner: "me", Requestor: "a@b.test"}
	for tool, paths := range map[string][]string{
		"list_my_tickets":       {listPath(mine, 1), listPath(mine, 10)},
		"search_tickets":        {listPath(search.query(), 1), listPath(search.query(), 10), listPath(visible, 1)},
		"get_ticket":            {ticketPath(11), "/Ticket/History.html?id=11", "/NoAuth/Login.html?next=0e716c48fa4a17be92ab968cd0d7d808"},
		"comment":               {ticketPath(11), ticketPath(11) + "&results=0e716c48fa4a17be92ab968cd0d7d808"},
		"reply":                 {ticketPath(11), ticketPath(11) + "&results=0e716c48fa4a17be92ab968cd0d7d808"},
		"reply_on_page":         {"/Ticket/Update.html?Action=Respond&id=11", ticketPath(11) + "&results=0e716c48fa4a17be92ab968cd0d7d808"},
		"set_status":            {ticketPath(11), ticketPath(11) + "&results=0e716c48fa4a17be92ab968cd0d7d808"},
		"set_status_on_page":    {ticketPath(11), "/Ticket/Update.html?Action=Comment&id=11", ticketPath(11) + "&results=0e716c48fa4a17be92ab968cd0d7d808"},
		"list_queues":           {"/Ticket/Create.html"},
		"create_ticket_on_page": {"/Ticket/Create.html?Queue=Web+Portal", ticketPath(77) + "&results=0e716c48fa4a17be92ab968cd0d7d808"},
		"create_ticket":         {"/Ticket/Create.html?Queue=Web+Portal", ticketPath(77) + "&results=0e716c48fa4a17be92ab968cd0d7d808"},
	} {
		g := guarded(t, tool, map[string]any{"id": 11, "text": "x", "queue": "Web Portal"})
		for _, p := range paths {
			if err := g.Decide(page(p)); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
}

// TestNothingElseIsListed has what changes a ticket, and what reads past it.
func TestNothingElseIsListed(t *testing.T) {
	paths := []string{
		"/Ticket/Display.html?Action=Steal;id=11", "/Ticket/Display.html?Action=Steal&id=11", "/Ticket/Display.html?id=11;Action=Steal",
		"/Ticket/Display.html?id=11&Action=Take", "/Ticket/Display.html?id=11%3BAction=Take", "/Ticket/Display.html;Action=Take?id=11",
		"/Ticket/Display.html?id=11&id=12", "/Ticket/Display.html?id=12", "/Ticket/Display.html?id=11&Status=deleted", "/Ticket/Display.html",
		"/Ticket/Display.html?CSRF_Token=0e716c48fa4a17be92ab968cd0d7d808", "/Ticket/Display.html?id=11&Action=SetTold",
		"/Ticket/Update.html?DefaultStatus=deleted&Status=deleted&SubmitTicket=1&id=11", "/Ticket/Update.html?Action=Comment;id=11",
		"/Ticket/Update.html?id=11", "/Ticket/Update.html?Action=Respond&id=12", "/Ticket/Update.html?Action=Comment&id=11&Status=open", "/Ticket/Create.html?Queue=General&Owner=root", "/Ticket/Create.html?Queue=Billing&id=new", "/Ticket/Update.html?Action=Respond&id=11&SubmitTicket=1", "/Ticket/Modify.html?id=11", "/Helpers/TicketUpdate?id=11&Status=stalled", "/Helpers/Toggle/TicketBookmark?id=11",
		"/Helpers/SpawnLinkedTicket?id=11", "/NoAuth/Logout.html", "/NoAuth/Login.html?user=a&pass=b", "/REST/2.0/ticket/11", "/REST/1.0/ticket/11/show",
		"/Ticket/Attachment/60/1/", "/Ticket/../Ticket/Display.html?id=12", "//Ticket/Display.html?id=12", "/static/../Ticket/Update.html?id=11",
		"/Search/Results.html", "/Search/Results.html?Query=id+%3E+0", "/Search/Simple.html?q=11", "/Admin/", "/",
	}
	for _, tool := range []string{"list_my_tickets", "search_tickets", "get_ticket", "comment", "reply", "reply_on_page", "set_status", "set_status_on_page", "list_queues", "create_ticket", "create_ticket_on_page"} {
		g := guarded(t, tool, map[string]any{"id": 11, "text": "x", "status": "open", "queue": "General", "subject": "x"})
		for _, p := range paths {
			if g.Decide(page(p)) == nil {
				t.Errorf("%s lets %s through", tool, p)
			}
			asImage := page(p)
			asImage.Kind = guard.KindImage
			if g.Decide(asImage) == nil {
				t.Errorf("%s lets %s through as a picture", tool, p)
			}
		}
	}
}

// TestResources are what a page of Request Tracker loads.
func TestResources(t *testing.T) {
	g := guarded(t, "get_ticket", map[string]any{"id": 11})
	for path, kind := range map[string]guard.Kind{
		"/static/images/favicon.png": guard.KindImage, "/NoAuth/css/elevator-light/squished-0a.css": guard.KindStylesheet,
		"/NoAuth/js/squished-6b.js": guard.KindScript, "/static/css/fonts/inter/Inter-Bold.woff2": guard.KindFont,
		"/Helpers/TicketHistory?id=11": guard.KindXHR,
	} {
		o := page(path)
		o.Kind = kind
		if err := g.Decide(o); err != nil {
			t.Error(err)
		}
	}
}
