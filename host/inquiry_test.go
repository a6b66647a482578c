package host

import (
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
	got := message(pendingFor(`{"id":12,"text":"Grüße\nat        https://other.example\n\u001b[31mred \u202eevil","tags":["a"]}`))
	golden.Check(t, filepath.Join("testdata", "confirmation.txt"), []byte(got))
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
		got := message(p)
		if n := utf8.RuneCountInString(got); n > maxMessageText+100 || !utf8.ValidString(got) {
			t.Errorf("%s: %d characters, valid %v", name, n, utf8.ValidString(got))
		}
		if strings.Contains(got, "\nat        https://other") || strings.Contains(got, "\nfor       nobody") || strings.ContainsAny(got, "\x1b\u202e\r") {
			t.Errorf("%s: it poses as ours:\n%s", name, got)
		}
		if !strings.Contains(got, "drawbridge approvals") && name != "name of lines" && name != "long name" && !strings.Contains(got, "characters)") {
			t.Errorf("%s: it does not say that it is cut:\n%s", name, got)
		}
	}
	p := pendingFor(`{}`)
	p.Subject.Account = ""
	if got := message(p); !strings.Contains(got, "does not say who") || !strings.Contains(got, "without arguments") {
		t.Error(got)
	}
}

func manyNames(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = `"` + strings.Repeat("k", i+1) + `":1`
	}
	return "{" + strings.Join(members, ",") + "}"
}
