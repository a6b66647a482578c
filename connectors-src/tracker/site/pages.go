package site

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed templates static
var files embed.FS

// page is what every template gets; each uses what it needs.
type page struct {
	Title string
	Text  string
	Next  string // path to come back to after signing in

	Assets   string // origin of style sheet, script and image
	App      string // the tracker's origin
	User     User   // zero when nobody is signed in
	CSRF     string
	Identity bool // rendered by the identity provider

	List  *listPage
	Issue Issue

	Projects []Project
	Project  Project

	Flash string
	Late  bool   // comments come by XHR
	Draft string // a comment that was refused

	Auth authorization
	Code string
	Lab  *labPage
	Labs []Behaviour
}

// listPage is one page of the issue list.
type listPage struct {
	Issues     []Issue
	Total      int
	Status     string
	Page       int
	Prev, Next string // links, empty at the ends
}

func parsePages() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"name":       displayName,
		"iso":        func(t time.Time) string { return t.Format(time.RFC3339) },
		"day":        func(t time.Time) string { return t.Format("2 Jan 2006") },
		"join":       strings.Join,
		"statuses":   Statuses,
		"priorities": Priorities,
		"users":      Users,
		"clobbers":   clobbers,
	}).ParseFS(files, "templates/*.html"))
}

// clobbers are field names that hide a form's own properties from a reader.
func clobbers() []string {
	return []string{
		"children", "querySelector", "querySelectorAll", "textContent", "innerText", "id", "shadowRoot", "getAttribute",
		"action", "submit", "parentNode", "ownerDocument", "attributes", "tagName", "nodeType", "dataset", "elements", "length",
	}
}

func displayName(login string) string {
	for _, u := range Users() {
		if u.Login == login {
			return u.Name
		}
	}
	return login
}

// render writes a whole page or, should a template fail, status 500.
func (s *Site) render(w http.ResponseWriter, r *http.Request, status int, name string, p page) {
	p.Assets, p.App = s.AssetsURL(), s.AppURL()
	p.Identity = r.Host == s.id.hostport()
	if sess, ok := sessionOf(r); ok {
		p.User, p.CSRF = sess.user, sess.csrf
	}
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, p); err != nil {
		http.Error(w, "rendering "+name+": "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser has gone: nobody is left to tell
}

// handleList shows GET /issues?status=&assignee=&page=&size=. Rows are ordered
// by descending id; a page after the last one is empty.
func (s *Site) handleList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	status, assignee := q.Get("status"), q.Get("assignee")
	number, okPage := atLeastOne(q.Get("page"), 1)
	size, okSize := atLeastOne(q.Get("size"), PageSize)
	if !okPage || !okSize || size > 100 || (status != "" && !slices.Contains(Statuses(), status)) {
		s.fail(w, r, http.StatusBadRequest, "Bad request", "There is no such filter.")
		return
	}
	sess, _ := sessionOf(r)
	if assignee == "me" {
		assignee = sess.user.Login
	}
	all := s.store.list(func(is *Issue) bool {
		return is.visibleTo(sess.user) && (status == "" || is.Status == status) && (assignee == "" || is.Assignee == assignee)
	})
	l := &listPage{Total: len(all), Status: status, Page: number}
	link := func(to int) string {
		next := url.Values{}
		for _, k := range []string{"status", "assignee", "size"} {
			if v := q.Get(k); v != "" {
				next.Set(k, v)
			}
		}
		next.Set("page", strconv.Itoa(to))
		return "/issues?" + next.Encode()
	}
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	l.Issues = all[from:to]
	if number > 1 {
		l.Prev = link(number - 1)
	}
	if to < len(all) {
		l.Next = link(number + 1)
	}
	s.render(w, r, http.StatusOK, "list", page{Title: "Issues", List: l})
}

// atLeastOne reads a small positive number; an empty text is the default.
func atLeastOne(text string, otherwise int) (int, bool) {
	if text == "" {
		return otherwise, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= 1_000_000
}

// handleIssue shows GET /issues/{id}. ?late=1 leaves the comments to an XHR
// after load, ?lab=NAME adds one of the behaviours in lab.go.
func (s *Site) handleIssue(w http.ResponseWriter, r *http.Request, is Issue) {
	q := r.URL.Query()
	p := page{Title: "#" + strconv.Itoa(is.ID) + " " + is.Title, Issue: is, Late: q.Get("late") == "1"}
	switch q.Get("done") {
	case "comment":
		p.Flash = "Comment added."
	case "update":
		p.Flash = "Issue updated."
	case "close":
		p.Flash = "Issue closed."
	}
	if name := q.Get("lab"); name != "" {
		lab, ok := s.lab(name, q)
		if !ok {
			s.fail(w, r, http.StatusNotFound, "Not found", "There is no such behaviour.")
			return
		}
		p.Lab = lab
	}
	s.render(w, r, http.StatusOK, "issue", p)
}
