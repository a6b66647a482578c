package mantiscompare

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Rule says how a field of the truth is shown.
type Rule struct {
	Field string // of the connector's result; list. and notes. for those of a row and a note
	Why   string
	Shown func(t *Truth, stored any) any
}

// Rules is every difference between what is stored and what is shown that is no
// fault.
func Rules() []Rule {
	const markup = "MantisBT takes b, i, u, em and strong in text for markup"
	const date = "the page writes 2026-01-21 14:44, the connector makes ISO 8601 of it; seconds are not shown"
	const nobody = "nobody is an empty text in the database, and null in the result"
	const text = markup + "; a tab at the start of a line is shown as four blanks; ~12 is shown as a link to note 12, named 0000004:0000012 after the note's bug"
	const label = "the page has a label of its own for the stored value"
	return []Rule{
		rule("summary", markup, (*Truth).shownMarkup),
		rule("list.summary", markup, (*Truth).shownMarkup),
		rule("list.priority", "the list shows an icon for each priority but none", (*Truth).shownIcon),
		rule("list.updated", "the list shows the day alone", (*Truth).shownDay),
		rule("list.notes", "the list counts them", func(_ *Truth, n []Note) any { return len(n) }),
		rule("handler", nobody, (*Truth).shownHandler),
		rule("list.handler", nobody, (*Truth).shownHandler),
		rule("version", "a bug without a version has an empty text in the database, and null in the result", (*Truth).shownHandler),
		rule("resolution", label, (*Truth).shownLabel),
		rule("list.resolution", label, (*Truth).shownLabel),
		rule("reproducibility", label, (*Truth).shownLabel),
		rule("submitted", date, (*Truth).shownDate),
		rule("updated", date, (*Truth).shownDate),
		rule("notes.submitted", date, (*Truth).shownDate),
		rule("due", "MantisBT shows due dates to nobody unless it is set up to", func(*Truth, *int64) any { return nil }),
		rule("description", text, (*Truth).shownText),
		rule("steps_to_reproduce", text, (*Truth).shownText),
		rule("additional_information", text, (*Truth).shownText),
		rule("notes.text", text, (*Truth).shownText),
		rule("notes.private", "public or private in the database, a yes or no in the result", func(_ *Truth, view string) any { return view == "private" }),
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

func (t *Truth) shownIcon(priority string) any {
	if priority == "none" {
		return nil
	}
	return priority
}

func (t *Truth) shownHandler(name string) any {
	if name == "" {
		return nil
	}
	return name
}

func (t *Truth) shownLabel(stored string) any {
	switch stored {
	case "wont fix":
		return "won't fix"
	case "unable to duplicate":
		return "unable to reproduce"
	}
	return stored
}

func (t *Truth) shownDay(seconds int64) any {
	return time.Unix(seconds, 0).UTC().Format("2006-01-02")
}

func (t *Truth) shownDate(seconds int64) any {
	return time.Unix(seconds, 0).UTC().Format("2006-01-02T15:04")
}

func (t *Truth) shownMarkup(stored string) any {
	return regexp.MustCompile(`(?i)</?(b|i|u|em|strong)>`).ReplaceAllString(stored, "")
}

func (t *Truth) shownText(stored string) any {
	stored, _ = t.shownMarkup(stored).(string)
	lines := strings.Split(stored, "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, " \t")
		lines[i] = strings.ReplaceAll(l[:len(l)-len(rest)], "\t", "    ") + rest
	}
	return noteLink().ReplaceAllStringFunc(strings.Join(lines, "\n"), func(link string) string {
		id, err := strconv.Atoi(link[strings.Index(link, "~")+1:])
		bug := t.bugOfNote(id)
		if err != nil || bug == 0 {
			return link
		}
		return link[:strings.Index(link, "~")] + fmt.Sprintf("%07d:%07d", bug, id)
	})
}

func noteLink() *regexp.Regexp { return regexp.MustCompile(`(^|[^\w])~\d+\b`) }

func (t *Truth) bugOfNote(id int) int {
	for i := range t.Bugs {
		for _, n := range t.Bugs[i].Notes {
			if n.ID == id {
				return t.Bugs[i].ID
			}
		}
	}
	return 0
}
