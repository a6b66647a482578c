package rtcompare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Rule says how a field of the truth is shown.
type Rule struct {
	Field string // of the connector's result
	Why   string
	Shown func(t *Truth, stored any) any
}

// Rules is every difference between what is stored and what is shown that is no
// fault. Request Tracker renders the values; the connector changes dates, nobody
// and the names of files into a form of its own.
func Rules() []Rule {
	const date = "the page writes Wed Jan 21 14:44:00 2026, the connector makes ISO 8601 of it; 1970 stands for not set"
	const people = "the page shows people as login (Real Name)"
	return []Rule{
		rule("owner", people+", and the connector shows nobody as null", (*Truth).shownOwner),
		rule("requestors", people, (*Truth).shownPeople),
		rule("priority", "the page shows words in place of numbers", (*Truth).shownPriority),
		rule("created", date, (*Truth).shownDate),
		rule("updated", date, (*Truth).shownDate),
		rule("due", date, (*Truth).shownDate),
		rule("custom_fields", "a list in place of a map; fields without a value are left out", (*Truth).shownFields),
		rule("history.created", date, (*Truth).shownDate),
		rule("history.author", people+", and RT_System as The RT System itself", (*Truth).shownPerson),
		rule("history.event", "the page tells a transaction's type and values in a sentence", (*Truth).shownEvent),
		rule("history.text", "the page expands tabs to columns of 8; messages end with a line feed that nobody wrote", (*Truth).shownText),
		rule("history.attachments", "the parts of a transaction that are files; their text is not read", (*Truth).shownFiles),
	}
}

// rule makes a rule for a field that the truth stores as a T.
func rule[T any](field, why string, shown func(*Truth, T) any) Rule {
	return Rule{Field: field, Why: why, Shown: func(t *Truth, stored any) any {
		v, ok := stored.(T)
		if !ok {
			panic(fmt.Sprintf("BUG: %s is stored as %T", field, stored))
		}
		return shown(t, v)
	}}
}

// shown applies the field's rule.
func (t *Truth) shown(field string, stored any) any {
	for _, r := range Rules() {
		if r.Field == field {
			return r.Shown(t, stored)
		}
	}
	return stored
}

func (t *Truth) shownOwner(login string) any {
	if login == "Nobody" {
		return nil
	}
	return t.shownPerson(login)
}

func (t *Truth) shownPerson(login string) any {
	if login == "RT_System" {
		return "The RT System itself"
	}
	for _, u := range t.Users {
		if u.Name == login && u.RealName != "" {
			return login + " (" + u.RealName + ")"
		}
	}
	return login
}

func (t *Truth) shownPeople(logins []string) any {
	out := []any{}
	for _, login := range logins {
		out = append(out, t.shownPerson(login))
	}
	return out
}

func (t *Truth) shownPriority(priority int) any {
	switch priority {
	case 0:
		return "Low"
	case 50:
		return "Medium"
	case 100:
		return "High"
	}
	return priority
}

func (t *Truth) shownDate(date string) any {
	if date == "" || strings.HasPrefix(date, "1970-01-01 ") {
		return nil
	}
	return strings.Replace(date, " ", "T", 1)
}

func (t *Truth) shownFields(fields map[string][]string) any {
	out := []any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out = append(out, map[string]any{"name": name, "values": fields[name]})
	}
	return out
}

func (t *Truth) shownEvent(x *Transaction) any {
	switch x.Type {
	case "Create":
		return "Ticket created"
	case "Comment":
		return "Comments added"
	case "Correspond":
		return "Correspondence added"
	case "Status":
		return fmt.Sprintf("Status changed from '%s' to '%s'", text(x.Old), text(x.New))
	}
	return x.Type
}

func (t *Truth) shownText(parts []Part) any {
	var out []string
	for _, p := range parts {
		if p.Name == nil && p.Text != nil {
			lines := strings.ReplaceAll(*p.Text, "\r\n", "\n")
			out = append(out, expandTabs(strings.TrimSuffix(lines, "\n")))
		}
	}
	return strings.Join(out, "\n")
}

func (t *Truth) shownFiles(parts []Part) any {
	out := []any{}
	for _, p := range parts {
		if p.Name != nil {
			out = append(out, map[string]any{"id": p.ID, "name": *p.Name})
		}
	}
	return out
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// expandTabs puts blanks in place of tabs, up to the next column that 8 divides.
func expandTabs(s string) string {
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch r {
		case '\t':
			n := 8 - column%8
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case '\n':
			b.WriteRune(r)
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}
