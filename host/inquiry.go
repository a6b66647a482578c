package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// An Inquiry is how a call's own client can ask the person in front of it. The zero
// value says that it can't. Whether it is trusted to is the gate's to know.
type Inquiry struct {
	// Ask shows a message in the client while the call waits, and returns the
	// answer. It returns as soon as ctx ends; an error is no answer.
	Ask func(ctx context.Context, message string) (approve bool, err error)
	// ByRetry says that the client answers by repeating its call instead.
	ByRetry bool
	// Reply is what a repeated call brought with it; nil if nothing.
	Reply *Reply
}

// A Reply is the answer that a repeated call brought.
type Reply = gate.Reply

// The answers of a Reply.
const (
	AnswerYes = gate.AnswerYes
	AnswerNo  = gate.AnswerNo
)

// A Confirmation is what a client is to ask, that answers by repeating its call.
type Confirmation struct {
	Message string
	State   string // opaque; comes back in a Reply
}

// The limits of a message, in characters.
const (
	maxMessageText = 4000
	maxMessageName = 200 // of a tool's, an account's, an argument's name
)

// toGate is how the gate asks about a call through its client. A question that does
// not fit into a dialog is not asked there: a yes would be to what nobody saw.
func (i Inquiry) toGate(s gate.Subject) gate.Inquiry {
	if _, whole := message(gate.Pending{ID: longestID, Subject: s}); !whole {
		return gate.Inquiry{}
	}
	g := gate.Inquiry{ByRetry: i.ByRetry, Reply: i.Reply}
	if i.Ask != nil {
		g.Ask = func(ctx context.Context, p gate.Pending) (bool, error) {
			text, _ := message(p)
			return i.Ask(ctx, text)
		}
	}
	return g
}

// longestID is as long as the id of any request.
const longestID = "ap-xxxxxxxx"

// confirmationOf is what an error asks the client to do, or nil.
func confirmationOf(err error) *Confirmation {
	q, ok := errors.AsType[*gate.QuestionError](err)
	if !ok {
		return nil
	}
	text, _ := message(q.Pending)
	return &Confirmation{Message: text, State: q.State}
}

// A sheet is a message as it is written, and whether all that it is about stands in
// it.
type sheet struct {
	strings.Builder
	cut bool
}

// message words a question for a client's dialog. The words are ours; what comes
// from elsewhere stands behind a label or a bar, on one line each, made visible,
// so that none of it can pass for ours. whole says that nothing was left out.
func message(p gate.Pending) (text string, whole bool) {
	s := p.Subject
	b := &sheet{}
	show := func(label, text string) {
		fmt.Fprintf(b, "%-9s %s\n", label, b.brief(text, maxMessageName))
	}
	fmt.Fprintf(b, "drawbridge: this call changes data. May it run, once? (%s)\n\n", p.ID)
	show("tool", s.Tool)
	show("does", s.Title)
	show("at", s.Origin)
	if s.Account != "" {
		show("as", s.Account)
	} else {
		show("as", "(the site does not say who is signed in)")
	}
	show("for", "client "+s.Principal.Name)
	show("plugin", s.Release)
	for _, w := range s.Writes {
		show("sends", w)
	}
	b.arguments(s.Args)
	text, cut := clip(b.String(), maxMessageText)
	if cut || b.cut {
		text += "\n(not shown in full: drawbridge approvals shows all of it)"
	}
	return text, !cut && !b.cut
}

// arguments lists a call's arguments in the order of their names.
func (b *sheet) arguments(raw json.RawMessage) {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil || len(args) == 0 {
		b.WriteString("without arguments\n") // the gate admits objects alone
		return
	}
	b.WriteString("with the arguments\n")
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if b.Len() > maxMessageText*utf8.UTFMax {
			b.cut = true
			return
		}
		lines := strings.Split(b.value(args[name]), "\n")
		fmt.Fprintf(b, "  %s = %s\n", b.brief(name, maxMessageName), redact.Visible(lines[0]))
		for _, l := range lines[1:] {
			fmt.Fprintf(b, "  | %s\n", redact.Visible(l))
		}
	}
}

// value is a string without its quotes, and anything else as JSON, as much of it as
// there is room for.
func (b *sheet) value(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	text, cut := clip(s, maxMessageText)
	b.cut = b.cut || cut
	return text
}

// brief makes text visible on one line, cut.
func (b *sheet) brief(s string, n int) string {
	text, cut := clip(s, n)
	if cut {
		text += "…"
		b.cut = true
	}
	return redact.Visible(text)
}

// clip returns at most n characters of s.
func clip(s string, n int) (text string, cut bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}
