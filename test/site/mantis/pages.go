package mantis

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// recordedAt is the address at which the pages were recorded.
const recordedAt = "http://127.0.0.1:9141"

// Pages is what a replay shows.
type Pages struct {
	Users []User

	home, login, password, projects, notFound []byte

	views  map[int][]byte // by bug
	closed map[int]bool   // bugs that the account may not see

	listShell []byte // a list, whose rows and heading are replaced
	rows      []row

	reports map[string][]byte // form for a new bug, by project
	newView func(id int, w Write, reporter string) []byte

	statuses, resolutions, handlers, projectNames map[string]string // by the number that a form has for it

	records             []Record
	firstNote, firstBug int
}

// A row is a row of the list, with what filters ask for.
type row struct {
	id, status, handler int
	project, summary    string
	place               int // among all, the one last updated first
	node                *html.Node
}

// Recorded reads the pages and requests that were recorded from a real MantisBT.
// What nobody recorded is this package's own: the page with the password and the
// form for a new status. There is no form for a new bug.
func Recorded(dir string) (*Pages, error) {
	p, err := Own()
	if err != nil {
		return nil, err
	}
	read := func(name string) []byte {
		data, rerr := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // the test says where
		err = errors.Join(err, rerr)
		return data
	}
	p.home, p.login, p.projects, p.notFound = read("home.html"), read("loggedout.html"), read("create_form.html"), read("not_found.html")
	p.views = map[int][]byte{11: read("detail.html"), 4: read("detail_attachment.html"), 19: read("detail_long.html")}
	p.closed, p.reports = map[int]bool{}, map[string][]byte{}
	p.listShell = read("list.html")
	newest, records := read("list_default.html"), read("capture.json")
	if err != nil {
		return nil, fmt.Errorf("reading the recording: %w", err)
	}
	if p.rows, err = mergeRows(p.listShell, newest); err != nil {
		return nil, err
	}
	if p.records, err = parseRecords(records); err != nil {
		return nil, err
	}
	p.Users = []User{{ID: 3, Login: "mlindqvist", Password: "Secret-mlindqvist-1"}}
	p.handlers, err = optionsOf(p.views[11], "handler_id")
	if err == nil {
		p.projectNames, err = optionsOf(p.projects, "project_id")
	}
	p.firstNote = 246 // the recorded MantisBT has 245
	return p, err
}

// mergeRows takes each bug's row from the first page that has it. The second page
// is in the order of changes.
func mergeRows(byID, newest []byte) ([]row, error) {
	rows, err := parseRows(byID)
	if err != nil {
		return nil, err
	}
	more, err := parseRows(newest)
	if err != nil {
		return nil, err
	}
	place := map[int]int{}
	for i, r := range more {
		place[r.id] = i
	}
	have := map[int]bool{}
	for _, r := range rows {
		have[r.id] = true
	}
	for _, r := range more {
		if !have[r.id] {
			rows = append(rows, r)
		}
	}
	for i := range rows {
		if at, ok := place[rows[i].id]; ok {
			rows[i].place = at
		} else {
			rows[i].place = len(more) + i
		}
	}
	return rows, nil
}

func parseRows(page []byte) ([]row, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	body := find(find(doc, byID("buglist")), byTag("tbody"))
	if body == nil {
		return nil, errors.New("the page has no list")
	}
	var rows []row
	for tr := range body.ChildNodes() {
		if tr.Type != html.ElementNode {
			continue
		}
		cell := func(class string) *html.Node { return find(tr, byClass("column-"+class)) }
		r := row{node: tr, place: len(rows), summary: words(cell("summary")), project: words(find(find(cell("category"), byClass("project")), byTag("a")))}
		if r.id, err = strconv.Atoi(words(cell("id"))); err != nil {
			return nil, err
		}
		r.status = number(attr(find(cell("status"), byTag("i")), "class"))
		r.handler = userOf(cell("status"))
		rows = append(rows, r)
	}
	return rows, nil
}

// listPage is the list with other rows and another heading.
func (p *Pages) listPage(heading string, rows []row) []byte {
	return edit(p.listShell, func(doc *html.Node) {
		body := find(find(doc, byID("buglist")), byTag("tbody"))
		empty(body)
		for _, r := range rows {
			body.AppendChild(clone(r.node))
		}
		setText(find(find(doc, byID("bug_action")), byClass("badge")), heading)
	})
}

// report is the form for a new bug. Without a project that the account may report
// to, MantisBT asks for one; for one that it doesn't have it shows another's.
func (x *exchange) report() {
	page, ok := x.pages.reports[x.r.URL.Query().Get("project_id")]
	if !ok && len(x.pages.reports) > 0 {
		page, ok = x.pages.reports["1"], true
	}
	if !ok {
		x.redirect("/login_select_proj_page.php?ref=bug_report_page.php")
		return
	}
	setCookie(x.w, "MANTIS_PROJECT_COOKIE", x.r.URL.Query().Get("project_id"))
	x.page(200, page)
}

// optionsOf reads the options of the first select with a name.
func optionsOf(page []byte, name string) (map[string]string, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	sel := find(doc, func(n *html.Node) bool { return n.Data == "select" && attr(n, "name") == name })
	if sel == nil {
		return nil, fmt.Errorf("the page has no select %q", name)
	}
	out := map[string]string{}
	for o := range sel.Descendants() {
		if o.Data == "option" {
			out[attr(o, "value")] = strings.TrimSpace(words(o))
		}
	}
	return out, nil
}
