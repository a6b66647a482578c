package rt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/sites/rtcompare"
)

// A Caller calls tools of the connector as one signed-in account. Tools go by
// their dotted names. A tool's failure is an *abi.Error.
type Caller interface {
	Call(ctx context.Context, tool string, args any) (json.RawMessage, error)
}

// The tools.
const (
	ListMyTickets = "rt.list_my_tickets"
	SearchTickets = "rt.search_tickets"
	GetTicket     = "rt.get_ticket"
	Comment       = "rt.comment"
	Reply         = "rt.reply"
	ReplyOnPage   = "rt.reply_on_page"
	SetStatus     = "rt.set_status"
	StatusOnPage  = "rt.set_status_on_page"
	ListQueues    = "rt.list_queues"
	CreateTicket  = "rt.create_ticket"
	CreateOnPage  = "rt.create_ticket_on_page"
)

// IsDestructive reports whether a tool asks a person.
func IsDestructive(tool string) bool {
	return !slices.Contains([]string{ListMyTickets, SearchTickets, GetTicket, ListQueues}, tool)
}

type object = map[string]any

// MyTickets lists what the account owns, and no other ticket.
func MyTickets(t *testing.T, c Caller, truth *rtcompare.Truth, account string) {
	t.Helper()
	ids := truth.Newest(func(k *rtcompare.Ticket) bool { return k.Owner == account && k.IsActive() })
	if len(ids) < 2 {
		t.Fatalf("%q owns %d active tickets, too few to show an order", account, len(ids))
	}
	holds(t, truth.List(must(t, c, ListMyTickets, object{}), ids, len(ids)))
	holds(t, truth.List(must(t, c, ListMyTickets, object{"limit": 1}), ids[:1], len(ids)))
}

// Searches finds what each filter has to find, over more than one page and in
// order; text of the caller is text and never becomes part of the query.
func Searches(t *testing.T, c Caller, truth *rtcompare.Truth, account string) {
	t.Helper()
	type ticket = rtcompare.Ticket
	has := func(part string) func(*ticket) bool {
		return func(k *ticket) bool { return strings.Contains(strings.ToLower(k.Subject), strings.ToLower(part)) }
	}
	tests := []struct {
		name  string
		args  object
		match func(*ticket) bool
		limit int
	}{
		{"all of two pages", object{"limit": 500}, func(*ticket) bool { return true }, 500},
		{"fifty of them", object{}, func(*ticket) bool { return true }, 50},
		{"into the second page", object{"limit": 51}, func(*ticket) bool { return true }, 51},
		{"active", object{"status": "active"}, (*ticket).IsActive, 50},
		{"inactive", object{"status": "inactive"}, func(k *ticket) bool { return !k.IsActive() }, 50},
		{"a status", object{"status": "stalled"}, func(k *ticket) bool { return k.Status == "stalled" }, 50},
		{"a queue", object{"queue": "Web Portal"}, func(k *ticket) bool { return k.Queue == "Web Portal" }, 50},
		{"mine", object{"owner": "me"}, func(k *ticket) bool { return k.Owner == account }, 50},
		{"nobody's", object{"owner": "nobody"}, func(k *ticket) bool { return k.Owner == "Nobody" }, 50},
		{"a login's", object{"owner": "wchen"}, func(k *ticket) bool { return k.Owner == "wchen" }, 50},
		{"a requestor", object{"requestor": "wchen"}, func(k *ticket) bool { return k.Requestors[0] == "wchen" }, 50},
		{"a requestor's address", object{"requestor": "wei.chen@example.test"}, func(k *ticket) bool { return k.Requestors[0] == "wchen" }, 50},
		{"two at once", object{"queue": "Web Portal", "status": "open"}, func(k *ticket) bool { return k.Queue == "Web Portal" && k.Status == "open" }, 50},
		{"a word", object{"subject": "export"}, has("export"), 50},
		{"an apostrophe", object{"subject": "'"}, has("'"), 50},
		{"a backslash", object{"subject": `\`}, has(`\`), 50},
		{"apostrophes and a backslash", object{"subject": `'apostrophes' \ backslash`}, has(`'apostrophes' \ backslash`), 50},
		{"markup and separators", object{"subject": `" & <angle> —`}, has(`" & <angle> —`), 50},
		{"a semicolon", object{"subject": "';' in Excel"}, has("';' in Excel"), 50},
		{"an attempt at more", object{"subject": "x' OR id > 0 OR Subject LIKE '"}, has("x' OR id > 0"), 50},
		{"another attempt", object{"subject": `x\' OR id > 0 OR Subject LIKE \'`}, has(`x\' OR id > 0`), 50},
		{"nothing", object{"queue": "No such queue"}, func(*ticket) bool { return false }, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids := truth.Newest(tt.match)
			holds(t, truth.List(must(t, c, SearchTickets, tt.args), ids[:min(len(ids), tt.limit)], len(ids)))
		})
	}
}

// Details reads every ticket of the truth.
func Details(t *testing.T, c Caller, truth *rtcompare.Truth) {
	t.Helper()
	for i := range truth.Tickets {
		id := truth.Tickets[i].ID
		holds(t, truth.Detail(must(t, c, GetTicket, object{"id": id}), id))
	}
	if n := len(truth.Tickets); n != 76 {
		t.Errorf("%d tickets were compared, the seed has 76", n)
	}
}

// Words is a comment that holds what breaks on the way: several scripts, emoji
// of four bytes and with joiners, markup, separators, blank lines, an indent.
const Words = "Prüfung: naïve café, שלום, 你好, e\u0301 and 👩‍👩‍👧‍👦 😀\n\n" +
	"    indented & <b>bold?</b> \"quoted\" 'single' \\ %41 + a=b;c=d\n" +
	"&amp; &lt;script&gt; {id} #12\n- last line"

// SignedOut ends the login on the server's side: every tool says so, and how to
// sign in again.
func SignedOut(t *testing.T, c Caller, s *Site) {
	t.Helper()
	before := rawTruth(t, s)
	if err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string]object{
		ListMyTickets: {}, SearchTickets: {"status": "open"}, GetTicket: {"id": 12}, Comment: {"id": 12, "text": "lost"},
		Reply: {"id": 12, "text": "lost"}, ReplyOnPage: {"id": 12, "text": "lost"}, SetStatus: {"id": 12, "status": "stalled"}, StatusOnPage: {"id": 12, "status": "stalled"},
		ListQueues: {}, CreateTicket: {"queue": "General", "subject": "lost", "text": "lost"}, CreateOnPage: {"queue": "General", "queue_id": 1, "subject": "lost", "text": "lost"},
	} {
		if hint := fails(t, c, tool, args, abi.ErrAuthExpired); hint != "drawbridge login rt" {
			t.Errorf("%s: the hint is %q", tool, hint)
		}
	}
	unchanged(t, s, before)
}

// WithoutRights is an account that may see nothing: no tool answers with an
// empty list.
func WithoutRights(t *testing.T, c Caller, s *Site) {
	t.Helper()
	before := rawTruth(t, s)
	for tool, args := range map[string]object{
		ListMyTickets: {}, SearchTickets: {}, GetTicket: {"id": 12}, Comment: {"id": 12, "text": "not mine"},
		Reply: {"id": 12, "text": "not mine"}, ReplyOnPage: {"id": 12, "text": "not mine"}, SetStatus: {"id": 12, "status": "stalled"}, StatusOnPage: {"id": 12, "status": "stalled"},
		ListQueues: {}, CreateTicket: {"queue": "General", "subject": "not mine", "text": "not mine"}, CreateOnPage: {"queue": "General", "queue_id": 1, "subject": "not mine", "text": "not mine"},
	} {
		fails(t, c, tool, args, abi.ErrForbidden)
	}
	fails(t, c, SearchTickets, object{"queue": "Web Portal"}, abi.ErrForbidden)
	unchanged(t, s, before)
}

// Missing is a ticket that does not exist.
func Missing(t *testing.T, c Caller, s *Site) {
	t.Helper()
	before := rawTruth(t, s)
	fails(t, c, GetTicket, object{"id": 9999}, abi.ErrNotFound)
	fails(t, c, Comment, object{"id": 9999, "text": "nobody reads this"}, abi.ErrNotFound)
	fails(t, c, Reply, object{"id": 9999, "text": "nobody reads this"}, abi.ErrNotFound)
	fails(t, c, ReplyOnPage, object{"id": 9999, "text": "nobody reads this"}, abi.ErrNotFound)
	fails(t, c, SetStatus, object{"id": 9999, "status": "open"}, abi.ErrNotFound)
	fails(t, c, SetStatus, object{"id": 12, "status": "no such status"}, abi.ErrInvalidArgs)
	fails(t, c, SetStatus, object{"id": 12, "status": "deleted"}, abi.ErrInvalidArgs)
	fails(t, c, CreateTicket, object{"queue": "No such queue", "subject": "x", "text": "x"}, abi.ErrInvalidArgs)
	fails(t, c, CreateTicket, object{"queue": "1", "subject": "x", "text": "x"}, abi.ErrInvalidArgs)
	fails(t, c, StatusOnPage, object{"id": 9999, "status": "open"}, abi.ErrNotFound)
	fails(t, c, StatusOnPage, object{"id": 12, "status": "deleted"}, abi.ErrInvalidArgs)
	fails(t, c, CreateOnPage, object{"queue": "No such queue", "queue_id": 1, "subject": "x", "text": "x"}, abi.ErrInvalidArgs)
	fails(t, c, CreateOnPage, object{"queue": "General", "queue_id": 4, "subject": "x", "text": "x"}, abi.ErrInvalidArgs)
	unchanged(t, s, before)
}

func must(t *testing.T, c Caller, tool string, args object) json.RawMessage {
	t.Helper()
	out, err := c.Call(t.Context(), tool, args)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	return out
}

// fails wants a code and returns the hint that came with it.
func fails(t *testing.T, c Caller, tool string, args object, code abi.Code) (hint string) {
	t.Helper()
	out, err := c.Call(t.Context(), tool, args)
	if !errors.Is(err, code) {
		t.Errorf("%s %v: %.200s, %v, want %s", tool, args, out, err, code)
	}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		hint = e.Hint
	}
	return hint
}

func holds(t *testing.T, differences []string) {
	t.Helper()
	for _, d := range differences {
		t.Error(d)
	}
}

func truthOf(t *testing.T, s *Site) *rtcompare.Truth {
	t.Helper()
	truth, err := s.Truth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

func rawTruth(t *testing.T, s *Site) []byte {
	t.Helper()
	raw, err := s.RawTruth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func unchanged(t *testing.T, s *Site, before []byte) {
	t.Helper()
	if !bytes.Equal(before, rawTruth(t, s)) {
		t.Error("the database has changed")
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func isDenied(err error) bool { return errors.Is(err, abi.ErrOriginDenied) }
