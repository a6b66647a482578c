package rt

import (
	"bytes"
	"encoding/json"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/sites/rtcompare"
)

// Comments writes one comment; afterwards the ticket has one transaction more,
// with that text, and nothing else in the database differs.
func Comments(t *testing.T, c Caller, s *Site, account string, id int) {
	t.Helper()
	before := truthOf(t, s)
	must(t, c, Comment, object{"id": id, "text": Words})
	after := truthOf(t, s)
	OneComment(t, before, after, id, account, Words)
	holds(t, after.Detail(must(t, c, GetTicket, object{"id": id}), id))
}

// Replies writes one reply in the same way.
func Replies(t *testing.T, c Caller, s *Site, account string, id int) {
	t.Helper()
	before := truthOf(t, s)
	must(t, c, Reply, object{"id": id, "text": Words})
	OneReply(t, before, truthOf(t, s), id, account, Words, plainText)
}

// RepliesOnPage writes one through the form's editor, which makes HTML of it.
func RepliesOnPage(t *testing.T, c Caller, s *Site, account string, id int) {
	t.Helper()
	before := truthOf(t, s)
	must(t, c, ReplyOnPage, object{"id": id, "text": Words})
	OneReply(t, before, truthOf(t, s), id, account, Words, typedText)
}

// SetsStatus moves a ticket to a status and back, by a tool.
func SetsStatus(t *testing.T, c Caller, s *Site, tool, account string, id int) {
	t.Helper()
	before := truthOf(t, s)
	was := before.Ticket(id).Status
	for _, status := range []string{"stalled", was} {
		must(t, c, tool, object{"id": id, "status": status})
		after := truthOf(t, s)
		OneStatus(t, before, after, id, account, status)
		before = after
	}
	raw := rawTruth(t, s)
	must(t, c, tool, object{"id": id, "status": was}) // as it is already
	unchanged(t, s, raw)
}

// Subject is one line with what breaks on the way.
const subject = "Ärger: e\u0301, <b>שלום</b> & 你好 👩‍👩‍👧‍👦; 100 % + a=b"

// Creates makes a ticket of which everything is as it was given.
func Creates(t *testing.T, c Caller, s *Site, account string) {
	t.Helper()
	before := truthOf(t, s)
	must(t, c, CreateTicket, object{"queue": "Web Portal", "subject": subject, "text": Words, "requestor": "wchen"})
	want := rtcompare.Ticket{Queue: "Web Portal", Subject: subject, Status: "new", Owner: "Nobody", Requestors: []string{"wchen"}}
	OneTicket(t, before, truthOf(t, s), want, account, Words, plainText)
}

// CreatesOnPage makes two by the form, whose editor makes HTML of the text: one
// for somebody else and one for nobody, which the form begins with neither of.
func CreatesOnPage(t *testing.T, c Caller, s *Site, account string) {
	t.Helper()
	number := queueNumber(t, must(t, c, ListQueues, object{}), "Web Portal")
	for _, who := range []string{"wei.chen@example.test", ""} {
		before := truthOf(t, s)
		args := object{"queue": "Web Portal", "queue_id": number, "subject": subject, "text": Words}
		want := rtcompare.Ticket{Queue: "Web Portal", Subject: subject, Status: "new", Owner: "Nobody", Requestors: []string{}}
		if who != "" {
			args["requestor"], want.Requestors = who, []string{"wchen"}
		}
		must(t, c, CreateOnPage, args)
		OneTicket(t, before, truthOf(t, s), want, account, Words, typedText)
	}
}

// QueueNumber finds a queue in a list of them.
func queueNumber(t *testing.T, list json.RawMessage, name string) int {
	t.Helper()
	var out struct {
		Queues []struct {
			ID   int
			Name string
		}
	}
	if err := json.Unmarshal(list, &out); err != nil {
		t.Fatal(err)
	}
	for _, q := range out.Queues {
		if q.Name == name {
			return q.ID
		}
	}
	t.Fatalf("no queue %q in %s", name, list)
	return 0
}

// Added is what came to a ticket's history; what came to the others, or changed
// of them, is an error. Same says what else of the ticket may differ.
func added(t *testing.T, before, after *rtcompare.Truth, id int, same func(was, is *rtcompare.Ticket)) []rtcompare.Transaction {
	t.Helper()
	k := after.Ticket(id)
	n := len(before.Ticket(id).Transactions)
	if len(k.Transactions) <= n {
		t.Fatalf("ticket %d has %d transactions, and had %d", id, len(k.Transactions), n)
	}
	came := k.Transactions[n:]
	rest := *after
	rest.Tickets = slices.Clone(after.Tickets)
	is := rest.Ticket(id)
	is.Transactions, is.Updated = k.Transactions[:n], before.Ticket(id).Updated
	if same != nil {
		same(before.Ticket(id), is)
	}
	if a, b := encode(t, before), encode(t, &rest); !bytes.Equal(a, b) {
		t.Error("more has changed than was asked for")
	}
	return came
}

// A textOf says what text a message's part holds.
type textOf func(rtcompare.Part) string

// PlainText is the text itself. Request Tracker may end a message with a line
// feed of its own.
func plainText(p rtcompare.Part) string {
	if p.Type != "text/plain" || p.Text == nil {
		return "no plain text: " + p.Type
	}
	return strings.TrimSuffix(*p.Text, "\n")
}

// TypedText is what was typed into an editor, whose HTML the part is.
func typedText(p rtcompare.Part) string {
	if p.Type != "text/html" || p.Text == nil {
		return "no HTML: " + p.Type
	}
	text := strings.NewReplacer("<p>", "", "</p>", "", "<br />\n", "\n", "<br />\r\n", "\n", "<br />", "\n").Replace(*p.Text)
	if strings.ContainsAny(text, "<>") {
		return "more than text: " + *p.Text
	}
	return strings.TrimRight(strings.ReplaceAll(html.UnescapeString(text), "\u00a0", " "), " \r\n")
}

// OneComment compares the truth before and after a comment.
func OneComment(t *testing.T, before, after *rtcompare.Truth, id int, account, text string) {
	t.Helper()
	came := added(t, before, after, id, nil)
	if len(came) != 1 {
		t.Fatalf("ticket %d has %d transactions more, want one", id, len(came))
	}
	isMessage(t, came[0], "Comment", account, text, plainText)
}

// OneReply compares the truth before and after a reply. Of its own accord Request
// Tracker adds a record of the mail that it has sent.
func OneReply(t *testing.T, before, after *rtcompare.Truth, id int, account, text string, read textOf) {
	t.Helper()
	came := added(t, before, after, id, nil)
	isMessage(t, came[0], "Correspond", account, text, read)
	for _, r := range came[1:] {
		if r.Type != "EmailRecord" || r.Author != "RT_System" {
			t.Errorf("beside the reply came a %s of %s", r.Type, r.Author)
		}
	}
}

func isMessage(t *testing.T, tr rtcompare.Transaction, kind, account, text string, read textOf) {
	t.Helper()
	if tr.Type != kind || tr.Author != account || len(tr.Parts) != 1 {
		t.Errorf("what was added is a %s of %s in %d parts", tr.Type, tr.Author, len(tr.Parts))
		return
	}
	if got := read(tr.Parts[0]); got != text {
		t.Errorf("the text is %q, want %q", got, text)
	}
}

// OneStatus compares the truth before and after a change of status.
func OneStatus(t *testing.T, before, after *rtcompare.Truth, id int, account, status string) {
	t.Helper()
	came := added(t, before, after, id, func(was, is *rtcompare.Ticket) { is.Status = was.Status })
	if len(came) != 1 || after.Ticket(id).Status != status {
		t.Fatalf("the status is %q after %d transactions, want %q after one", after.Ticket(id).Status, len(came), status)
	}
	if c := came[0]; c.Type != "Status" || c.Author != account || c.New == nil || *c.New != status {
		t.Errorf("what was added is a %s of %s to %v", c.Type, c.Author, c.New)
	}
}

// OneTicket compares the truth before and after a ticket was created, with want's
// fields and text as its first message.
func OneTicket(t *testing.T, before, after *rtcompare.Truth, want rtcompare.Ticket, account, text string, read textOf) {
	t.Helper()
	n := len(before.Tickets)
	if len(after.Tickets) != n+1 {
		t.Fatalf("%d tickets more, want one", len(after.Tickets)-n)
	}
	k := after.Tickets[n]
	if k.Queue != want.Queue || k.Subject != want.Subject || k.Status != want.Status || k.Owner != want.Owner ||
		!slices.Equal(k.Requestors, want.Requestors) || k.Priority != 0 || len(k.CustomFields) != 0 {
		t.Errorf("the ticket is %+v, want %+v", k, want)
	}
	isMessage(t, k.Transactions[0], "Create", account, text, read)
	for _, r := range k.Transactions[1:] {
		if r.Type != "EmailRecord" || r.Author != "RT_System" {
			t.Errorf("beside it came a %s of %s", r.Type, r.Author)
		}
	}
	rest := *after
	rest.Tickets = after.Tickets[:n]
	if a, b := encode(t, before), encode(t, &rest); !bytes.Equal(a, b) {
		t.Error("more has changed than was asked for")
	}
}
