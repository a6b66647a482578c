package mantis

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// A change is what has been written about a bug since the replay began.
type change struct {
	stamp              string // last_updated, as the forms carry it
	status, statusName string
	resolution         string
	handlerSet         bool
	handlerID, handler string
	notes              []newNote
}

type newNote struct {
	ID           int
	Author, Text string
}

// bug returns what has changed about a bug, or nil if there is none.
func (x *exchange) bug(id int) *change {
	page := x.pages.views[id]
	if page == nil || x.pages.closed[id] {
		return nil
	}
	if x.changes[id] == nil {
		c := &change{stamp: "1768463040"}
		edit(page, func(doc *html.Node) {
			if field := find(doc, byName("last_updated")); field != nil {
				c.stamp = attr(field, "value")
			}
		})
		x.changes[id] = c
	}
	return x.changes[id]
}

func byName(name string) func(*html.Node) bool {
	return func(n *html.Node) bool { return attr(n, "name") == name }
}

// withChanges is a bug's page as it looks now.
func (x *exchange) withChanges(id int, page []byte) []byte {
	c := x.changes[id]
	if c == nil {
		return page
	}
	return edit(page, func(doc *html.Node) {
		if field := find(doc, byName("last_updated")); field != nil {
			setAttr(field, "value", c.stamp)
		}
		if c.status != "" {
			setHTML(find(doc, cellOf("bug-status")), []byte(`<i class="fa fa-square fa-status-box status-`+c.status+`-fg"></i> `+escape(c.statusName)))
		}
		if c.resolution != "" {
			setText(find(doc, cellOf("bug-resolution")), c.resolution)
		}
		if c.handlerSet {
			setHTML(find(doc, cellOf("bug-assigned-to")), handlerCell(c.handlerID, c.handler))
		}
		for _, n := range c.notes {
			addNote(doc, id, n)
		}
		if n, err := strconv.Atoi(c.status); err == nil && n >= 80 {
			closeForms(doc)
		}
	})
}

func handlerCell(id, login string) []byte {
	if id == "0" {
		return []byte("&nbsp;")
	}
	return []byte(`<a href="` + recordedAt + `/view_user_page.php?id=` + id + `">` + escape(login) + `</a>&nbsp;`)
}

// addNote appends a note as MantisBT writes one: an indent around the text, a br
// before each line feed, and no-break spaces for blanks at the start of a line.
func addNote(doc *html.Node, bug int, n newNote) {
	lines := strings.Split(strings.ReplaceAll(n.Text, "\r\n", "\n"), "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, " ")
		lines[i] = strings.Repeat("&nbsp;", len(l)-len(rest)) + escape(rest)
	}
	var row bytes.Buffer
	fmt.Fprintf(&row, `<table><tbody><tr class="bugnote" id="c%[2]d"><td class="category"><p class="no-margin"><a href="/view_user_page.php?id=1">%[3]s</a></p>`+
		`<p class="no-margin small lighter">2026-11-30 15:00</p><p class="no-margin"><a rel="bookmark" href="view.php?id=%[1]d#c%[2]d">~%07[2]d</a></p></td>`+
		"<td class=\"bugnote-note bugnote-public\">\n\t%[4]s\t</td></tr></tbody></table>", bug, n.ID, escape(n.Author), strings.Join(lines, "<br>\n"))
	body := find(find(doc, byID("bugnotes")), byTag("tbody"))
	nodes, err := html.Parse(&row)
	if err != nil || body == nil {
		panic("BUG: a bug's page without a table of notes")
	}
	tr := find(nodes, byTag("tr"))
	tr.Parent.RemoveChild(tr)
	body.AppendChild(tr)
}

// closeForms takes away what MantisBT shows for an open bug alone.
func closeForms(doc *html.Node) {
	remove(find(doc, byID("bugnoteadd")))
	for _, action := range []string{"bug_update.php", "bug_change_status_page.php"} {
		remove(find(doc, func(n *html.Node) bool {
			return n.Data == "form" && attr(n, "action") == action && find(n, byTag("select")) != nil
		}))
	}
}

// statusPage is the second page on the way to another status: which fields its
// form has depends on the status, as in MantisBT.
func (x *exchange) statusPage(w Write) {
	id, _ := strconv.Atoi(w.Value("id"))
	b := x.bug(id)
	name, known := x.pages.statuses[w.Value("new_status")]
	if b == nil || !known {
		x.fault(404, 1100, "Issue "+escape(w.Value("id"))+" not found.")
		return
	}
	handler := b.handlerID
	if !b.handlerSet {
		edit(x.pages.views[id], func(doc *html.Node) {
			handler = strconv.Itoa(userOf(find(doc, cellOf("bug-assigned-to"))))
		})
	}
	if handler == "0" || handler == "" {
		handler = strconv.Itoa(x.user.ID) // MantisBT proposes whoever looks at it
	}
	data := map[string]any{
		"ID": id, "Status": w.Value("new_status"), "Name": name, "Stamp": b.stamp, "Resolved": slices.Contains([]string{"80", "90"}, w.Value("new_status")),
		"Resolutions": sorted(x.pages.resolutions), "Resolution": "20", "Handlers": sorted(x.pages.handlers), "Handler": handler,
	}
	x.page(200, replaceContent(x.pages.notFound, render("status", data)))
}
