package main

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// A choice is an option of one of MantisBT's forms.
type choice struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Choose finds the option with a number, and says which there are if the number
// is not among them or stands for another name: a person has approved the name,
// and the number is what is sent.
func choose(what string, from []choice, id int, name string) error {
	var all []string
	for _, c := range from {
		if c.ID == id && (c.Name == name || strings.HasSuffix(c.Name, "] "+name)) {
			return nil
		}
		all = append(all, strconv.Itoa(c.ID)+" "+c.Name)
	}
	return sdk.InvalidArgs("the bug's page offers no %s %d %q; it has: %s", what, id, name, strings.Join(all, ", "))
}

// Tidy leaves out what is no choice, such as the shortcut [Myself] of a list that
// has the same number again, and gives the blank option a name.
func tidy(options []choice) []choice {
	out := []choice{}
	for i, c := range options {
		again := false
		for _, later := range options[i+1:] {
			again = again || later.ID == c.ID
		}
		if again {
			continue
		}
		if strings.TrimSpace(c.Name) == "" {
			c.Name = "nobody"
		}
		out = append(out, c)
	}
	return out
}

// Date writes 2026-01-21 14:44 as 2026-01-21T14:44, in the time zone that the
// account has set: a page doesn't tell which that is. A date in a form that isn't
// known stays as it is shown.
func date(shown *string) *string {
	if shown == nil || strings.TrimSpace(*shown) == "" {
		return nil
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(form, *shown); err == nil {
			s := strings.TrimSuffix(t.Format("2006-01-02T15:04:05"), ":00")
			return &s
		}
	}
	return shown
}

// Text undoes what MantisBT does to text: it writes a br before each line feed, so
// that lines end twice, and no-break spaces for the blanks at the start of a line.
func text(shown string) string {
	lines := strings.Split(strings.ReplaceAll(shown, "\n\n", "\n"), "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, "\u00a0")
		lines[i] = strings.Repeat(" ", (len(l)-len(rest))/len("\u00a0")) + rest
	}
	return strings.Join(lines, "\n")
}

// LinkID reads a number from a link's query. The address before it may have digits
// too.
func linkID(link, name string) (int, bool) {
	u, err := url.Parse(link)
	if err != nil {
		return 0, false
	}
	id, err := strconv.Atoi(u.Query().Get(name))
	return id, err == nil
}

func bugPath(id int) string { return "/view.php?id=" + strconv.Itoa(id) }

func bugURL(ctx *sdk.Context, id int) string {
	return strings.TrimSuffix(ctx.Setting("base_url"), "/") + bugPath(id)
}
