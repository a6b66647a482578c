package mantis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Site is a running replay.
type Site struct {
	pages  *Pages
	server *http.Server
	base   string

	mu       sync.Mutex
	sessions map[string]*session // by PHPSESSID
	logins   map[string]User     // by MANTIS_STRING_COOKIE
	changes  map[int]*change     // by bug
	nextNote int
	nextBug  int
	taken    []Write
	refused  []string
	harm     []string
	plain    bool // the password shows
	guests   bool // whoever is not signed in is let in
}

// A User is an account.
type User struct {
	ID       int
	Login    string
	Password string
}

// A session holds what MantisBT keeps in PHP's: form tokens and filters.
type session struct {
	tokens  map[string]string // the form that a token is for
	filters map[string]url.Values
}

// New makes a replay of pages.
func New(p *Pages) *Site {
	return &Site{
		pages: p, sessions: map[string]*session{}, logins: map[string]User{}, changes: map[int]*change{},
		nextNote: p.firstNote, nextBug: p.firstBug,
	}
}

// Start listens on a port of its own, on 127.0.0.1.
func (s *Site) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.base = "http://" + l.Addr().String()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic("BUG: the replay ends: " + err.Error())
		}
	}()
	return nil
}

// Close ends it.
func (s *Site) Close() error { return s.server.Close() }

// URL is its address without a slash at the end.
func (s *Site) URL() string { return s.base }

// Expire ends every login on the server's side; sessions and cookies stay.
func (s *Site) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.logins)
}

// ShowPasswords makes the field for the password one that shows what is typed.
func (s *Site) ShowPasswords() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain = true
}

// LetGuestsIn shows pages to whoever is not signed in, as the anonymous account.
func (s *Site) LetGuestsIn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests = true
}

// Taken are the requests that changed something, in order.
func (s *Site) Taken() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken)
}

// Refused are the requests that were not taken, each with the reason.
func (s *Site) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Harm are the requests that changed something and that no form is for: links
// that MantisBT acts on, filters that take the place of the user's, REST.
func (s *Site) Harm() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.harm)
}

// ServeHTTP serves one request at a time.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	x := &exchange{Site: s, w: w, r: r, session: s.session(w, r)}
	if c, err := r.Cookie("MANTIS_STRING_COOKIE"); err == nil {
		x.user, x.signedIn = s.logins[c.Value]
	}
	w.Header().Set("Cache-Control", "no-store, no-cache, must-revalidate")
	w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:")
	switch {
	case x.static(), x.login():
	case r.Method == http.MethodPost:
		x.post()
	case !x.signedIn && !s.guests:
		x.redirect("/login_page.php?return=" + url.QueryEscape(r.URL.RequestURI()))
	case r.Method == http.MethodGet:
		x.get()
	default:
		x.other()
	}
}

func (s *Site) session(w http.ResponseWriter, r *http.Request) *session {
	if c, err := r.Cookie("PHPSESSID"); err == nil && s.sessions[c.Value] != nil {
		return s.sessions[c.Value]
	}
	id := rand.Text()
	s.sessions[id] = &session{tokens: map[string]string{}, filters: map[string]url.Values{}}
	setCookie(w, "PHPSESSID", id)
	return s.sessions[id]
}

func setCookie(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}) //nolint:gosec // MantisBT's own, over http on 127.0.0.1
}

// An exchange is one request and its answer.
type exchange struct {
	*Site
	w        http.ResponseWriter
	r        *http.Request
	session  *session
	user     User
	signedIn bool
}

func (x *exchange) redirect(to string) {
	x.w.Header().Set("Location", to)
	x.w.WriteHeader(http.StatusFound)
}

// get answers a page, or one of the links that change something.
func (x *exchange) get() {
	switch path := x.r.URL.Path; path {
	case "/", "/my_view_page.php":
		x.page(http.StatusOK, x.pages.home)
	case "/view_all_set.php":
		x.setFilter()
	case "/view_all_bug_page.php":
		x.list()
	case "/view.php":
		x.view()
	case "/login_select_proj_page.php":
		x.page(http.StatusOK, x.pages.projects)
	case "/bug_report_page.php":
		x.report()
	case "/tag_detach.php", "/logout_page.php", "/set_project.php", "/bug_file_delete.php", "/permalink_page.php":
		x.harm = append(x.harm, "GET "+path)
		x.redirect("/my_view_page.php")
	default:
		x.fault(http.StatusNotFound, 200, "Access to "+path+" is not recorded.")
	}
}

// other answers REST, which takes the cookie alone.
func (x *exchange) other() {
	x.harm = append(x.harm, x.r.Method+" "+x.r.URL.Path)
	x.w.WriteHeader(http.StatusOK)
}

// static answers scripts, styles and pictures with nothing in them.
func (x *exchange) static() bool {
	types := []struct{ prefix, contentType string }{
		{"/css/", "text/css"}, {"/js/", "text/javascript"}, {"/javascript_", "text/javascript"}, {"/images/", "image/png"}, {"/fonts/", "font/woff2"},
	}
	for _, t := range types {
		if strings.HasPrefix(x.r.URL.Path, t.prefix) && x.r.Method == http.MethodGet {
			x.w.Header().Set("Content-Type", t.contentType)
			return true
		}
	}
	return false
}

func (x *exchange) view() {
	id, err := strconv.Atoi(x.r.URL.Query().Get("id"))
	html := x.pages.views[id]
	switch {
	case err != nil || html == nil:
		x.fault(http.StatusNotFound, 1100, "Issue "+x.r.URL.Query().Get("id")+" not found.")
	case x.pages.closed[id]:
		x.fault(http.StatusForbidden, 0, "Access Denied.")
	default:
		x.page(http.StatusOK, x.withChanges(id, html))
	}
}

// fault shows MantisBT's error page; number 0 is none of its numbered errors.
func (x *exchange) fault(status, number int, message string) {
	title := ""
	if number != 0 {
		title = fmt.Sprintf(`<p class="bold">APPLICATION ERROR #%d</p>`, number)
	}
	alert := []byte(`<div class="alert alert-danger">` + title + "\n<p>" + message + "</p></div>")
	if !x.signedIn {
		x.page(status, append([]byte("<!DOCTYPE html><html><head><title>MantisBT</title></head><body>"), alert...))
		return
	}
	x.page(status, replaceContent(x.pages.notFound, alert))
}

// wrongForm is what MantisBT says of a form whose token it does not know.
const wrongForm = "Invalid form security token. This could be caused by a session timeout, or accidentally submitting the form twice."

// refuse is the answer to whatever is not taken.
func (x *exchange) refuse(format string, args ...any) {
	x.refused = append(x.refused, x.r.Method+" "+x.r.URL.Path+": "+fmt.Sprintf(format, args...))
	x.fault(http.StatusForbidden, 2800, wrongForm)
}
