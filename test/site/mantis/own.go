package mantis

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

//go:embed pages
var files embed.FS

// An option is one of a select.
type option struct{ Value, Name string }

// sorted orders options by number, the blank one first.
func sorted(m map[string]string) []option {
	out := make([]option, 0, len(m))
	for v, n := range m {
		out = append(out, option{v, n})
	}
	slices.SortFunc(out, func(a, b option) int { return cmp.Compare(number(a.Value), number(b.Value)) })
	return out
}

// render fills one of the templates.
func render(name string, data any) []byte {
	t := template.New("").Funcs(template.FuncMap{"lines": lines, "id7": func(n int) string { return fmt.Sprintf("%07d", n) }})
	t = template.Must(t.ParseFS(files, "pages/*.html"))
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, name, data); err != nil {
		panic("BUG: " + err.Error())
	}
	return out.Bytes()
}

// lines writes text as MantisBT does: a br before each line feed, and no-break
// spaces for blanks at the start of a line.
func lines(s string) template.HTML {
	all := strings.Split(s, "\n")
	for i, l := range all {
		rest := strings.TrimLeft(l, " ")
		all[i] = strings.Repeat("&nbsp;", len(l)-len(rest)) + escape(rest)
	}
	return template.HTML(strings.Join(all, "<br>\n")) //nolint:gosec // escaped above
}

// A Bug is a bug of the small set.
type Bug struct {
	ID                                 int
	Project, Category, Summary         string
	Status, Priority, Resolution       string
	Reporter, Handler                  string // logins
	HandlerID                          int
	Description, Steps, Submitted, Day string
	Tags                               []string
	Files                              []string
	Notes                              []Note
}

// A Note is a note of one of them.
type Note struct {
	ID           int
	Author, Text string
	Private      bool
}

// Code is the number of the bug's status.
func (b Bug) Code() string { return codeOf(b.Status) }

func codeOf(status string) string {
	for code, name := range ownStatuses() {
		if name == status {
			return code
		}
	}
	return ""
}

func ownStatuses() map[string]string {
	return map[string]string{"10": "new", "20": "feedback", "30": "acknowledged", "40": "confirmed", "50": "assigned", "80": "resolved", "90": "closed"}
}

// The small set's own bugs, by what they are for.
const (
	OwnFull   = 5  // has notes, one of them private, tags, files, steps, markup and blanks
	OwnClosed = 7  // the account may not see it
	OwnDone   = 9  // resolved: no form but those that open it again
	OwnFree   = 12 // nobody's
	ownBugs   = 62
)

// Bugs are those of the small set, by number. Ada's and nobody's alternate, every
// ninth is resolved, and the texts hold what breaks readers.
func Bugs() []Bug {
	texts := []string{
		"Gulls sit on the anemometer", "The <b>bold</b> tide table & its \"quotes\" \\", "שער נעול at the pier", "Fähre meldet e\u0301 und é als eins",
		"港口 lamp flickers", "Percent 100% {{braces}} ${dollar}", "A long one " + strings.Repeat("over the water ", 7),
	}
	var out []Bug
	for id := 1; id <= ownBugs; id++ {
		b := Bug{
			ID: id, Project: "Harbour", Category: "General", Summary: texts[id%len(texts)], Status: "new", Priority: "normal", Resolution: "open",
			Reporter: "bo", Description: "Seen from the quay.", Submitted: fmt.Sprintf("2026-02-%02d 08:15", id%28+1), Day: fmt.Sprintf("2026-03-%02d", id%28+1),
		}
		switch {
		case id%9 == 0:
			b.Status, b.Resolution, b.Handler, b.HandlerID = "resolved", "fixed", "ada", 2
		case id%2 == 1:
			b.Status, b.Handler, b.HandlerID = "assigned", "ada", 2
		}
		if id%5 == 0 {
			b.Project, b.Category, b.Priority = "Lighthouse", "lamp", "none"
		}
		out = append(out, b)
	}
	fill(&out[OwnFull-1])
	return out
}

func fill(b *Bug) {
	b.Description = "First line\n\n    an indented one with <script>alert('x')</script>\nlast & done"
	b.Steps = "1. Look up\n2. Duck"
	b.Tags = []string{"birds", "wind"}
	b.Files = []string{"Möwe 1.txt", "港.csv"}
	b.Notes = []Note{
		{ID: 101, Author: "bo", Text: "I'll bring bread."},
		{ID: 102, Author: "keeper", Text: "Not near the lamp,\n\n  please.", Private: true},
	}
}

// Own returns the small set. Its forms and the order of their fields are those of
// MantisBT 2.28, its texts are its own.
func Own() (*Pages, error) {
	records, err := files.ReadFile("pages/records.json")
	if err != nil {
		return nil, err
	}
	p := &Pages{
		Users: []User{{ID: 2, Login: "ada", Password: "Secret-ada-1"}}, views: map[int][]byte{}, closed: map[int]bool{OwnClosed: true}, reports: map[string][]byte{},
		statuses: ownStatuses(), resolutions: map[string]string{"10": "open", "20": "fixed", "90": "won't fix"},
		handlers: map[string]string{"0": "", "1": "keeper", "2": "ada", "3": "bo"}, projectNames: map[string]string{"1": "Harbour", "2": "Lighthouse"},
		firstNote: 201, firstBug: ownBugs + 1,
	}
	p.home, p.notFound = render("frame", frame("My View", "")), render("frame", frame("", ""))
	p.login, p.password = render("login", nil), render("password", nil)
	p.projects = replaceContent(p.home, render("projects", sorted(p.projectNames)))
	for id, name := range p.projectNames {
		data := map[string]any{"ID": id, "Categories": []option{{"1", "[All Projects] General"}, {id + "1", "lamp"}}}
		p.reports[id] = replaceContent(render("frame", frame("Report Issue", name)), render("report", data))
	}
	bugs := Bugs()
	slices.Reverse(bugs) // the list shows the newest first
	p.listShell = replaceContent(p.home, render("list", bugs))
	for _, b := range bugs {
		p.views[b.ID] = p.ownView(b)
	}
	p.newView = func(id int, w Write, reporter string) []byte {
		return p.ownView(Bug{
			ID: id, Project: p.projectNames[w.Value("project_id")], Category: "General", Status: "new", Priority: "normal", Resolution: "open", Reporter: reporter,
			Summary: w.Value("summary"), Description: strings.ReplaceAll(w.Value("description"), "\r\n", "\n"),
			Steps: strings.ReplaceAll(w.Value("steps_to_reproduce"), "\r\n", "\n"), Submitted: "2026-11-30 15:00", Day: "2026-11-30",
		})
	}
	if p.rows, err = parseRows(p.listShell); err != nil {
		return nil, err
	}
	p.records, err = parseRecords(records)
	return p, err
}

func frame(title, project string) map[string]string {
	return map[string]string{"Title": title, "Project": cmp.Or(project, "All Projects")}
}

func (p *Pages) ownView(b Bug) []byte {
	data := map[string]any{
		"Bug": b, "Open": codeOf(b.Status) < "80", "Statuses": sorted(p.statuses), "Handlers": sorted(p.handlers), "Stamp": strconv.Itoa(1768463040 + b.ID),
	}
	page := replaceContent(render("frame", frame(fmt.Sprintf("%07d: %s", b.ID, b.Summary), b.Project)), render("view", data))
	return bytes.Replace(page, []byte("<body "), []byte(`<body id="view-issue-page" `), 1)
}
