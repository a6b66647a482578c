package host

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

func pendingFor(args string) gate.Pending {
	return gate.Pending{ID: "ap-abcdefgh", Subject: gate.Subject{
		Principal: gate.Principal{ID: "c_1", Name: "laptop"}, Client: "Some Agent 1.0",
		Connector: "tracker", Tool: "tracker.add_comment", Title: "Comment on a ticket", Release: "acme/tracker@1.2.3",
		Args: json.RawMessage(args), Origin: "https://tracker.example", Account: "ada",
		Destructive: true, Writes: []string{"POST /ticket/{id}/comment, once"},
	}}
}

func TestMessageGolden(t *testing.T) {
	got, whole := message(pendingFor(`{"id":12,"text":"Grüße\nat        https://other.example\n\u001b[31mred \u202eevil","tags":["a"]}`))
	golden.Check(t, filepath.Join("testdata", "confirmation.txt"), []byte(got))
	if !whole {
		t.Error("it says that something was left out")
	}
}

// Whatever the arguments are, the message stays small, is text that can be seen,
// and every line of it begins as ours do.
func TestMessageIsOurs(t *testing.T) {
	for name, args := range map[string]string{
		"long value":    `{"text":"` + strings.Repeat("ä", 100_000) + `"}`,
		"many lines":    `{"text":"` + strings.Repeat(`x\n`, 10_000) + `"}`,
		"many names":    manyNames(500),
		"long name":     `{"` + strings.Repeat("n", 50_000) + `":1}`,
		"name of lines": `{"a\nat        https://other.example":1}`,
		"escapes":       `{"text":"` + strings.Repeat(`\u202e`, 5_000) + `"}`,
	} {
		p := pendingFor(args)
		p.Subject.Account = "eve\nfor       nobody" + strings.Repeat("y", 5_000)
		got, whole := message(p)
		if n := utf8.RuneCountInString(got); n > maxMessageText+100 || !utf8.ValidString(got) {
			t.Errorf("%s: %d characters, valid %v", name, n, utf8.ValidString(got))
		}
		if strings.Contains(got, "\nat        https://other") || strings.Contains(got, "\nfor       nobody") || strings.ContainsAny(got, "\x1b\u202e\r") {
			t.Errorf("%s: it poses as ours:\n%s", name, got)
		}
		if whole || !strings.Contains(got, "drawbridge approvals") {
			t.Errorf("%s: it does not say that it is cut:\n%s", name, got)
		}
	}
	p := pendingFor(`{}`)
	p.Subject.Account = ""
	if got, _ := message(p); !strings.Contains(got, "does not say who") || !strings.Contains(got, "without arguments") {
		t.Error(got)
	}
}

// A question is asked in a client's dialog only with all that it is about: a yes to
// a comment of many lines, after which no ticket's number was shown, is none.
func TestOnlyWholeQuestionsAreAsked(t *testing.T) {
	ask := Inquiry{ByRetry: true, Ask: func(context.Context, string) (bool, error) { return true, nil }, Reply: &Reply{State: "x"}}
	for name, c := range map[string]struct {
		args  string
		asked bool
	}{
		"short":             {`{"body":"text","id":12}`, true},
		"none":              {`{}`, true},
		"two thousand":      {`{"body":"` + strings.Repeat("ä", 2000) + `","id":12}`, true},
		"lines hide the id": {`{"body":"` + strings.Repeat(`\n`, 990) + `","id":76}`, false},
		"a long value":      {`{"body":"` + strings.Repeat("x", 4000) + `","id":12}`, false},
		"escapes that grow": {`{"body":"` + strings.Repeat(`\u202e`, 900) + `","id":12}`, false},
		"many arguments":    {manyNames(120), false},
		"a long name":       {`{"` + strings.Repeat("n", 300) + `":1}`, false},
	} {
		g := ask.toGate(pendingFor(c.args).Subject)
		if (g.Ask != nil) != c.asked || g.ByRetry != c.asked || (g.Reply != nil) != c.asked {
			t.Errorf("%s: asked %v, by retry %v, reply %v; want %v", name, g.Ask != nil, g.ByRetry, g.Reply, c.asked)
		}
	}
}

func manyNames(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = `"` + strings.Repeat("k", i+1) + `":1`
	}
	return "{" + strings.Join(members, ",") + "}"
}
