package rt

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/sites/rtcompare"
)

// A Write is a destructive tool that a person has approved for some arguments:
// the request that is then let out, what the same module might send in its place,
// and how the database differs afterwards.
type Write struct {
	Tool        string
	Args        object
	Approved    Attack
	Overreaches []Attack
	Happened    func(t *testing.T, before, after *rtcompare.Truth, account string)
}

// Writes are all of them.
func Writes() []Write {
	return []Write{commentWrite(), replyWrite(), pageWrite(), statusWrite(), createWrite(), statusPageWrite(), createPageWrite()}
}

func field(name, value string) abi.Field { return abi.Field{Name: name, Value: value} }

// with is a form with some of its fields changed, and others added.
func with(form []abi.Field, change ...abi.Field) []abi.Field {
	out := append([]abi.Field{}, form...)
	for _, c := range change {
		found := false
		for i := range out {
			if out[i].Name == c.Name {
				out[i], found = c, true
			}
		}
		if !found {
			out = append(out, c)
		}
	}
	return out
}

func commentWrite() Write {
	const path = "/Ticket/Update.html"
	form := commentForm("approved")
	sends := func(name string, change ...abi.Field) Attack { return post(name, 12, path, with(form, change...)...) }
	return Write{
		Tool: Comment, Args: object{"id": 12, "text": "approved"}, Approved: sends("approved"),
		Happened: func(t *testing.T, before, after *rtcompare.Truth, account string) {
			t.Helper()
			OneComment(t, before, after, 12, account, "approved")
		},
		Overreaches: []Attack{
			sends("another ticket", field("id", "76")),
			sends("another text", field("UpdateContent", "not approved")),
			sends("a reply to the requestor", field("UpdateType", "response")),
			sends("a status with it", field("Status", "resolved")),
			sends("an owner with it", field("Owner", "root")),
			sends("time with it", field("UpdateTimeWorked", "60")),
			sends("a link with it", field("12-RefersTo", "1")),
			post("another form", 12, "/Ticket/Modify.html", with(form, field("Subject", "x"))...),
			post("a query with it", 12, path+"?Status=resolved", form...),
			{Name: "the delete link", ID: 12, Path: path + "?DefaultStatus=deleted&Status=deleted&SubmitTicket=1&id=12"},
			{Name: "the steal link of another", ID: 12, Path: "/Ticket/Display.html?Action=Steal;id=11"},
			rest("REST", 12, "POST", "/REST/2.0/ticket/12/comment", `{"Content":"approved","ContentType":"text/plain"}`),
		},
	}
}

func replyWrite() Write {
	form := with(commentForm("approved"), field("UpdateType", "response"))
	sends := func(name string, change ...abi.Field) Attack {
		return post(name, 12, "/Ticket/Update.html", with(form, change...)...)
	}
	return Write{
		Tool: Reply, Args: object{"id": 12, "text": "approved"}, Approved: sends("approved"),
		Happened: func(t *testing.T, before, after *rtcompare.Truth, account string) {
			t.Helper()
			OneReply(t, before, after, 12, account, "approved", plainText)
		},
		Overreaches: []Attack{
			sends("another ticket", field("id", "76")),
			sends("a copy to somebody else", field("UpdateCc", "stranger@example.test")),
			sends("a status with it", field("Status", "resolved")),
		},
	}
}

func statusWrite() Write {
	form := []abi.Field{field("id", "12"), field("Status", "stalled")}
	sends := func(name string, change ...abi.Field) Attack {
		return post(name, 12, "/Ticket/Display.html", with(form, change...)...)
	}
	return Write{
		Tool: SetStatus, Args: object{"id": 12, "status": "stalled"}, Approved: sends("approved"),
		Happened: func(t *testing.T, before, after *rtcompare.Truth, account string) {
			t.Helper()
			OneStatus(t, before, after, 12, account, "stalled")
		},
		Overreaches: []Attack{
			sends("another ticket", field("id", "76")),
			sends("deletion", field("Status", "deleted")),
			sends("an owner with it", field("Owner", "root")),
			post("a message with it", 12, "/Ticket/Update.html", with(commentForm("x"), field("Status", "stalled"))...),
		},
	}
}

func createWrite() Write {
	form := []abi.Field{
		field("id", "new"), field("Queue", "General"), field("Requestors", ""), field("Subject", "approved"),
		field("Content", "approved"), field("ContentType", "text/plain"), field("SubmitTicket", "Create"),
	}
	sends := func(name string, change ...abi.Field) Attack {
		a := post(name, 0, "/Ticket/Create.html", with(form, change...)...)
		a.From = "/Ticket/Create.html?Queue=General"
		return a
	}
	return Write{
		Tool: CreateTicket, Args: object{"queue": "General", "subject": "approved", "text": "approved"}, Approved: sends("approved"),
		Happened: func(t *testing.T, before, after *rtcompare.Truth, account string) {
			t.Helper()
			OneTicket(t, before, after, rtcompare.Ticket{Queue: "General", Subject: "approved", Status: "new", Owner: "Nobody", Requestors: []string{}}, account, "approved", plainText)
		},
		Overreaches: []Attack{
			sends("another queue", field("Queue", "Web Portal")),
			sends("a requestor", field("Requestors", "wchen")),
			sends("an owner with it", field("Owner", "root")),
		},
	}
}

// A Sequence carries out several attacks in one call, goes on when one fails,
// and returns the call's result.
type Sequence interface {
	All(ctx context.Context, attacks ...Attack) (json.RawMessage, error)
}

// Once shows that what was approved goes out once, however often the module
// sends it.
func Once(t *testing.T, p Sequence, s *Site, w Write, account string) {
	t.Helper()
	before := truthOf(t, s)
	out, err := p.All(t.Context(), w.Approved, w.Approved, w.Approved)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out), "went out already"); n != 2 {
		t.Errorf("the result tells of %d refusals, want 2: %s", n, out)
	}
	w.Happened(t, before, truthOf(t, s), account)
}
