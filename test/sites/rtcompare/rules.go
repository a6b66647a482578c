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
		{"owner", people + ", and the connector shows nobody as null", (*Truth).shownOwner},
		{"requestors", people, (*Truth).shownPeople},
		{"priority", "the page shows words in place of numbers", (*Truth).shownPriority},
		{"created", date, (*Truth).shownDate},
		{"updated", date, (*Truth).shownDate},
		{"due", date, (*Truth).shownDate},
		{"custom_fields", "a list in place of a map; fields without a value are left out", (*Truth).shownFields},
		{"history.created", date, (*Truth).shownDate},
		{"history.author", people + ", and RT_System as The RT System itself", (*Truth).shownPerson},
		{"history.event", "the page tells a transaction's type and values in a sentence", (*Truth).shownEvent},
		{"history.text", "the page expands tabs to columns of 8; messages end with a line feed that nobody wrote", (*Truth).shownText},
		{"history.attachments", "the parts of a transaction that are files; their text is not read", (*Truth).shownFiles},
	}
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

func (t *Truth) shownOwner(stored any) any {
	if stored == "Nobody" {
		return nil
	}
	return t.shownPerson(stored)
}

func (t *Truth) shownPerson(stored any) any {
	login := stored.(string) //nolint:forcetypeassert // the truth's own type
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

func (t *Truth) shownPeople(stored any) any {
	out := []any{}
	for _, login := range stored.([]string) { //nolint:forcetypeassert // the truth's own type
		out = append(out, t.shownPerson(login))
	}
	return out
}

func (t *Truth) shownPriority(stored any) any {
	switch stored {
	case 0:
		return "Low"
	case 50:
		return "Medium"
	case 100:
		return "High"
	}
	return stored
}

func (t *Truth) shownDate(stored any) any {
	s := stored.(string) //nolint:forcetypeassert // the truth's own type
	if s == "" || strings.HasPrefix(s, "1970-01-01 ") {
		return nil
	}
	return strings.Replace(s, " ", "T", 1)
}

func (t *Truth) shownFields(stored any) any {
	fields := stored.(map[string][]string) //nolint:forcetypeassert // the truth's own type
	out := []any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out = append(out, map[string]any{"name": name, "values": fields[name]})
	}
	return out
}

func (t *Truth) shownEvent(stored any) any {
	x := stored.(*Transaction) //nolint:forcetypeassert // the truth's own type
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

func (t *Truth) shownText(stored any) any {
	var out []string
	for _, p := range stored.([]Part) { //nolint:forcetypeassert // the truth's own type
		if p.Name == nil && p.Text != nil {
			lines := strings.ReplaceAll(*p.Text, "\r\n", "\n")
			out = append(out, expandTabs(strings.TrimSuffix(lines, "\n")))
		}
	}
	return strings.Join(out, "\n")
}

func (t *Truth) shownFiles(stored any) any {
	out := []any{}
	for _, p := range stored.([]Part) { //nolint:forcetypeassert // the truth's own type
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
