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
	ID    int // the call's argument
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
		post("comment by form", 12, "/Ticket/Update.html", commentForm(12, "x")...),
		post("status by form", 18, "/Ticket/Display.html", abi.Field{Name: "id", Value: "18"}, abi.Field{Name: "Status", Value: "rejected"}),
		rest("comment by REST", 19, "POST", "/REST/2.0/ticket/19/comment", `{"Content":"x","ContentType":"text/plain"}`),
		rest("status by REST", 20, "PUT", "/REST/2.0/ticket/20", `{"Status":"rejected"}`),
		{Name: "delete by REST", ID: 21, Fetch: &abi.FetchRequest{Method: "DELETE", Path: "/REST/2.0/ticket/21"}},
		{Name: "read by REST", ID: 22, ReadsOnly: true, Fetch: &abi.FetchRequest{Method: "GET", Path: "/REST/2.0/ticket/22"}},
		{Name: "another ticket", ID: 23, ReadsOnly: true, Path: "/Ticket/Display.html?id=24"},
	}
}

// Overreaches are requests of a module that was approved to comment on ticket 12
// with the text "approved".
func Overreaches() []Attack {
	with := func(change ...abi.Field) []abi.Field {
		form := commentForm(12, "approved")
		for _, c := range change {
			found := false
			for i := range form {
				if form[i].Name == c.Name {
					form[i], found = c, true
				}
			}
			if !found {
				form = append(form, c)
			}
		}
		return form
	}
	field := func(name, value string) abi.Field { return abi.Field{Name: name, Value: value} }
	const path = "/Ticket/Update.html"
	return []Attack{
		post("another ticket", 12, path, with(field("id", "76"))...),
		post("another text", 12, path, with(field("UpdateContent", "not approved"))...),
		post("a reply to the requestor", 12, path, with(field("UpdateType", "response"))...),
		post("a status with it", 12, path, with(field("Status", "resolved"))...),
		post("an owner with it", 12, path, with(field("Owner", "root"))...),
		post("time with it", 12, path, with(field("UpdateTimeWorked", "60"))...),
		post("a link with it", 12, path, with(field("12-RefersTo", "1"))...),
		post("another form", 12, "/Ticket/Modify.html", with(field("Subject", "x"))...),
		post("a query with it", 12, path+"?Status=resolved", with()...),
		{Name: "the delete link", ID: 12, Path: path + "?DefaultStatus=deleted&Status=deleted&SubmitTicket=1&id=12"},
		{Name: "the steal link of another", ID: 12, Path: "/Ticket/Display.html?Action=Steal;id=11"},
		rest("REST", 12, "POST", "/REST/2.0/ticket/12/comment", `{"Content":"approved","ContentType":"text/plain"}`),
	}
}

// Approved is the request that was approved. It may be sent once.
func Approved() Attack {
	return post("approved", 12, "/Ticket/Update.html", commentForm(12, "approved")...)
}

func commentForm(id int, text string) []abi.Field {
	return []abi.Field{
		{Name: "id", Value: strconv.Itoa(id)},
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

// A Sequence carries out several attacks in one call, goes on when one fails,
// and returns the call's result.
type Sequence interface {
	All(ctx context.Context, attacks ...Attack) (json.RawMessage, error)
}

// Once shows that what was approved goes out once, however often the module
// sends it.
func Once(t *testing.T, p Sequence, s *Site, account string) {
	t.Helper()
	before := truthOf(t, s)
	out, err := p.All(t.Context(), Approved(), Approved(), Approved())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out), "went out already"); n != 2 {
		t.Errorf("the result tells of %d refusals, want 2: %s", n, out)
	}
	OneComment(t, before, truthOf(t, s), 12, account, "approved")
}

// FormBody encodes fields in their order.
func formBody(fields []abi.Field) []byte {
	pairs := make([]string, len(fields))
	for i, f := range fields {
		pairs[i] = url.QueryEscape(f.Name) + "=" + url.QueryEscape(f.Value)
	}
	return []byte(strings.Join(pairs, "&"))
}
