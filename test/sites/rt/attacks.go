package rt

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// An Attack is what a hostile module tries while a tool that reads ticket ID, or
// one that was approved to comment on it, runs: a navigation, or a request of
// the page, sent from the ticket's page so that Request Tracker sees a referrer
// of its own.
type Attack struct {
	Name  string
	ID    int    // the call's argument
	From  string // where it starts; the ticket's page if empty
	Path  string
	Fetch *abi.FetchRequest // in place of Path

	// ReadsOnly says that it changes nothing even if it gets through: it reads
	// what it was not granted.
	ReadsOnly bool
}

// A Puppet carries out an attack as the module of a tool: it opens the ticket's
// page and then does it. It returns the error of what the attack did.
type Puppet interface {
	Attack(ctx context.Context, a Attack) error
}

// Start is the page that the attack starts from.
func (a Attack) start() string {
	if a.From != "" {
		return a.From
	}
	return "/Ticket/Display.html?id=" + strconv.Itoa(a.ID)
}

// Attacks are requests that change tickets, or read past the grants, and that a
// tool which only reads must not get out.
func Attacks() []Attack {
	get := func(name string, id int, path string) Attack { return Attack{Name: name, ID: id, Path: path} }
	return []Attack{
		get("steal, semicolon", 11, "/Ticket/Display.html?Action=Steal;id=11"),
		get("steal, ampersand", 11, "/Ticket/Display.html?Action=Steal&id=11"),
		get("steal, the other way round", 16, "/Ticket/Display.html?id=16;Action=Steal"),
		get("take, semicolon", 5, "/Ticket/Display.html?Action=Take;id=5"),
		get("take, ampersand", 6, "/Ticket/Display.html?Action=Take&id=6"),
		get("take, the other way round", 10, "/Ticket/Display.html?id=10&Action=Take"),
		get("delete link", 76, "/Ticket/Update.html?DefaultStatus=deleted&Status=deleted&SubmitTicket=1&id=76"),
		get("delete link, semicolon", 75, "/Ticket/Update.html?DefaultStatus=deleted;Status=deleted;SubmitTicket=1;id=75"),
		get("status", 14, "/Ticket/Display.html?id=14&Status=resolved"),
		get("status by the list's editor", 15, "/Helpers/TicketUpdate?id=15&Status=stalled"),
		{Name: "fetch of the steal link", ID: 17, Fetch: &abi.FetchRequest{Method: "GET", Path: "/Ticket/Display.html?Action=Steal&id=17"}},
		post("comment by form", 12, "/Ticket/Update.html", commentForm("x")...),
		post("status by form", 18, "/Ticket/Display.html", abi.Field{Name: "id", Value: "18"}, abi.Field{Name: "Status", Value: "rejected"}),
		rest("comment by REST", 19, "POST", "/REST/2.0/ticket/19/comment", `{"Content":"x","ContentType":"text/plain"}`),
		rest("status by REST", 20, "PUT", "/REST/2.0/ticket/20", `{"Status":"rejected"}`),
		{Name: "delete by REST", ID: 21, Fetch: &abi.FetchRequest{Method: "DELETE", Path: "/REST/2.0/ticket/21"}},
		{Name: "read by REST", ID: 22, ReadsOnly: true, Fetch: &abi.FetchRequest{Method: "GET", Path: "/REST/2.0/ticket/22"}},
		{Name: "another ticket", ID: 23, ReadsOnly: true, Path: "/Ticket/Display.html?id=24"},
	}
}

// commentForm comments on ticket 12.
func commentForm(text string) []abi.Field {
	return []abi.Field{
		{Name: "id", Value: "12"},
		{Name: "UpdateType", Value: "private"},
		{Name: "UpdateContent", Value: text},
		{Name: "UpdateContentType", Value: "text/plain"},
		{Name: "SubmitTicket", Value: "Update Ticket"},
	}
}

func post(name string, id int, path string, fields ...abi.Field) Attack {
	return Attack{Name: name, ID: id, Fetch: &abi.FetchRequest{
		Method: "POST", Path: path, Body: &abi.FetchBody{Encoding: abi.EncodingURLEncoded, Fields: fields},
	}}
}

func rest(name string, id int, method, path, body string) Attack {
	return Attack{Name: name, ID: id, Fetch: &abi.FetchRequest{
		Method: method, Path: path, Body: &abi.FetchBody{Encoding: abi.EncodingJSON, JSON: json.RawMessage(body)},
	}}
}

// Harmful shows that each attack changes the database when no guard stands in
// its way. Without it, a refusal shows nothing.
func Harmful(t *testing.T, p Puppet, s *Site, attacks []Attack) {
	t.Helper()
	saved := t.TempDir() + "/rt.sqlite"
	if err := s.Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	before := rawTruth(t, s)
	for _, a := range attacks {
		if a.ReadsOnly {
			continue
		}
		if err := p.Attack(t.Context(), a); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		if string(rawTruth(t, s)) == string(before) {
			t.Errorf("%s: nothing has changed", a.Name)
		}
		if err := s.Restore(t.Context(), saved); err != nil {
			t.Fatal(err)
		}
	}
	unchanged(t, s, before)
}

// Refused shows that each attack is refused, as origin_denied, and that the
// database is the same before and after.
func Refused(t *testing.T, p Puppet, s *Site, attacks []Attack) {
	t.Helper()
	before := rawTruth(t, s)
	for _, a := range attacks {
		err := p.Attack(t.Context(), a)
		if !isDenied(err) {
			t.Errorf("%s: %v, want %s", a.Name, err, abi.ErrOriginDenied)
		}
	}
	unchanged(t, s, before)
}

// FormBody encodes fields in their order.
func formBody(fields []abi.Field) []byte {
	var pairs []string
	for _, f := range fields {
		if f.Token == "" { // Request Tracker needs none from its own pages
			pairs = append(pairs, url.QueryEscape(f.Name)+"="+url.QueryEscape(f.Value))
		}
	}
	return []byte(strings.Join(pairs, "&"))
}
