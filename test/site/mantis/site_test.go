package mantis

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// A client is a browser without scripts.
type client struct {
	t    *testing.T
	http *http.Client
	base string
}

type answer struct {
	status int
	at     string // path and query after redirects
	body   string
}

func start(t *testing.T) (*Site, *client) {
	t.Helper()
	pages, err := Own()
	if err != nil {
		t.Fatal(err)
	}
	s := New(pages)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, newClient(t, s)
}

func newClient(t *testing.T, s *Site) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, http: &http.Client{Jar: jar}, base: s.URL()}
}

func (c *client) do(method, path, contentType string, body []byte) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	res, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{status: res.StatusCode, at: res.Request.URL.RequestURI(), body: string(data)}
}

func (c *client) get(path string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, path, "", nil)
}

const urlencoded = "application/x-www-form-urlencoded"

func (c *client) form(path string, fields ...string) answer {
	c.t.Helper()
	pairs := make([]string, len(fields))
	for i, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		pairs[i] = url.QueryEscape(name) + "=" + url.QueryEscape(value)
	}
	return c.do(http.MethodPost, path, urlencoded, []byte(strings.Join(pairs, "&")))
}

func (c *client) multipart(path string, fields ...string) answer {
	c.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if err := w.WriteField(name, value); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	return c.do(http.MethodPost, path, w.FormDataContentType(), body.Bytes())
}

// token is the first token of a form that a page holds.
func (a answer) token(t *testing.T, form string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + form + `_token" value="([^"]+)"`).FindStringSubmatch(a.body)
	if m == nil {
		t.Fatalf("%s has no token for %s", a.at, form)
	}
	return m[1]
}

func (c *client) signIn(password string) answer {
	c.t.Helper()
	first := c.get("/login_page.php")
	second := c.form("/login_password_page.php", "login_token="+first.token(c.t, "login"), "username=ada")
	return c.form("/login.php", "login_token="+second.token(c.t, "login"), "username=ada", "password="+password)
}

func signedIn(t *testing.T) (*Site, *client) {
	t.Helper()
	s, c := start(t)
	if a := c.signIn("Secret-ada-1"); a.at != "/my_view_page.php" || !strings.Contains(a.body, `<span class="user-info">ada</span>`) {
		t.Fatalf("signed in at %s: %.300s", a.at, a.body)
	}
	return s, c
}

// isRefused is MantisBT's answer to a form that it doesn't know.
func (a answer) isRefused() bool {
	return a.status == http.StatusForbidden && strings.Contains(a.body, "APPLICATION ERROR #2800") && strings.Contains(a.body, "Invalid form security token.")
}

func (c *client) note(token string, fields ...string) answer {
	c.t.Helper()
	return c.multipart("/bugnote_add.php", append([]string{"bugnote_add_token=" + token, "bug_id=1"}, fields...)...)
}

func TestSigningIn(t *testing.T) {
	s, c := start(t)
	if a := c.get("/view.php?id=1"); a.at != "/login_page.php?return=%2Fview.php%3Fid%3D1" || a.status != 200 {
		t.Errorf("signed out, a bug is at %s", a.at)
	}
	if a := c.signIn("wrong"); a.at != "/login_page.php?error=1" {
		t.Errorf("with a wrong password it goes on at %s", a.at)
	}
	if a := c.form("/login.php", "username=ada", "password=Secret-ada-1"); !a.isRefused() {
		t.Errorf("without a token: %d at %s", a.status, a.at)
	}
	if a := c.signIn("Secret-ada-1"); a.at != "/my_view_page.php" {
		t.Errorf("signed in at %s", a.at)
	}
	s.Expire()
	if a := c.get("/view.php?id=1"); !strings.HasPrefix(a.at, "/login_page.php") {
		t.Errorf("after the login's end a bug is at %s", a.at)
	}
}

func TestTokenIsForOneFormAndOnce(t *testing.T) {
	s, c := signedIn(t)
	page := c.get("/view.php?id=1")
	if again := c.get("/view.php?id=1"); again.token(t, "bugnote_add") == page.token(t, "bugnote_add") {
		t.Error("two pages have one token")
	}
	token := page.token(t, "bugnote_add")
	for name, other := range map[string]string{"another form's": page.token(t, "bug_update"), "made up": "20261130AAAA", "none": ""} {
		if a := c.note(other, "bugnote_text=x", "max_file_size=1"); !a.isRefused() {
			t.Errorf("%s: %d at %s", name, a.status, a.at)
		}
	}
	stranger := newClient(t, s)
	if stranger.signIn("Secret-ada-1"); !stranger.note(token, "bugnote_text=x", "max_file_size=1").isRefused() {
		t.Error("another session's token is taken")
	}
	if a := c.note(token, "bugnote_text=x", "max_file_size=1"); a.at != "/view.php?id=1" {
		t.Errorf("the token's own form: %d at %s", a.status, a.at)
	}
	if a := c.note(token, "bugnote_text=x", "max_file_size=1"); !a.isRefused() {
		t.Errorf("a second time: %d at %s", a.status, a.at)
	}
	token = c.get("/view.php?id=1").token(t, "bugnote_add")
	s.Expire()
	if a := c.note(token, "bugnote_text=x", "max_file_size=1"); !a.isRefused() {
		t.Errorf("signed out: %d at %s", a.status, a.at)
	}
	if n := len(s.Taken()); n != 1 {
		t.Errorf("%d requests were taken", n)
	}
}

func TestOnlyWhatIsRecordedIsTaken(t *testing.T) {
	s, c := signedIn(t)
	fresh := func(form string) string { return c.get("/view.php?id=1").token(t, form) }
	assign := func(change func(fields []string) []string) []string {
		return change([]string{"bug_update_token=" + fresh("bug_update"), "last_updated=1768463041", "action_type=assign", "handler_id=3", "bug_id=1"})
	}
	same := func(f []string) []string { return f }
	for name, a := range map[string]answer{
		"a field more":      c.note(fresh("bugnote_add"), "bugnote_text=x", "max_file_size=1", "private=on"),
		"a field less":      c.note(fresh("bugnote_add"), "bugnote_text=x"),
		"another order":     c.note(fresh("bugnote_add"), "max_file_size=1", "bugnote_text=x"),
		"a file":            c.note(fresh("bugnote_add"), "bugnote_text=x", "max_file_size=1", "ufile[]=x"),
		"another encoding":  c.form("/bugnote_add.php", "bugnote_add_token="+fresh("bugnote_add"), "bug_id=1", "bugnote_text=x", "max_file_size=1"),
		"assign, multipart": c.multipart("/bug_update.php", assign(same)...),
		"another action":    c.form("/bug_update.php", assign(func(f []string) []string { f[2] = "action_type=close"; return f })...),
		"a query":           c.form("/bug_update.php?status=90", assign(same)...),
		"no such handler":   c.form("/bug_update.php", assign(func(f []string) []string { f[3] = "handler_id=99"; return f })...),
		"another path":      c.form("/bug_update_page.php", assign(same)...),
		"deletion":          c.form("/bug_actiongroup.php", "bug_actiongroup_DELETE_token="+fresh("bug_update"), "action=DELETE", "bug_arr[]=1"),
		"no form":           c.do(http.MethodPost, "/bugnote_add.php", "text/plain", []byte("x")),
	} {
		if !a.isRefused() {
			t.Errorf("%s: %d at %s", name, a.status, a.at)
		}
	}
	if a := c.form("/bug_update.php", assign(func(f []string) []string { f[1] = "last_updated=1"; return f })...); !strings.Contains(a.body, "APPLICATION ERROR #1105") {
		t.Errorf("a bug that was changed meanwhile: %d at %s", a.status, a.at)
	}
	if len(s.Taken()) != 0 || len(s.Refused()) != 12 {
		t.Errorf("taken %d, refused %q", len(s.Taken()), s.Refused())
	}
	if a := c.form("/bug_update.php", assign(same)...); a.at != "/view.php?id=1" || len(s.Taken()) != 1 || s.Taken()[0].Value("handler_id") != "3" {
		t.Errorf("what is recorded: %d at %s", a.status, a.at)
	}
}

// TestHarm: what the connector's lists have to keep out does change something here.
func TestHarm(t *testing.T) {
	s, c := signedIn(t)
	c.get("/view_all_set.php?type=1&temporary=y&new=true&hide_status=-2")
	c.get("/view.php?id=5")
	if h := s.Harm(); len(h) != 0 {
		t.Errorf("reading did harm: %q", h)
	}
	for _, path := range []string{
		"/tag_detach.php?bug_id=5&tag_id=0&tag_detach_token=x", "/logout_page.php", "/set_project.php?project_id=2", "/view_all_set.php?type=0",
		"/view_all_set.php?type=1&temporary=n", "/view_all_set.php?type=1",
	} {
		before := len(s.Harm())
		if c.get(path); len(s.Harm()) != before+1 {
			t.Errorf("%s did no harm", path)
		}
	}
	before := len(s.Harm())
	c.do(http.MethodPost, "/api/rest/issues/5/notes", "application/json", []byte(`{"text":"x"}`))
	c.do(http.MethodDelete, "/api/rest/issues/5", "", nil)
	if len(s.Harm()) != before+2 {
		t.Error("REST did no harm")
	}
}

func TestMissingAndClosed(t *testing.T) {
	_, c := signedIn(t)
	for path, want := range map[string]int{
		"/view.php?id=9999": 404, "/view.php?id=x": 404, "/view.php": 404, "/view.php?id=7": 403, "/nothing.php": 404, "/view_all_bug_page.php?filter=abc": 400,
	} {
		if a := c.get(path); a.status != want || !strings.Contains(a.body, "alert-danger") {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

func TestRecordsOfActions(t *testing.T) {
	for _, broken := range []string{
		``, `[]`, `{"actions":[{"requests":[{"method":"POST","url":":","contentType":"text/x","status":302,"fields":["a"]}]}]}`,
		`{"actions":[{"requests":[{"method":"POST","url":"/x","contentType":"","status":302,"fields":["a"]}]}]}`,
	} {
		if r, err := parseRecords([]byte(broken)); err == nil {
			t.Errorf("%s is read as %v", broken, r)
		}
	}
	// What MantisBT refused, what was no form, and what was sent by GET are no records.
	r, err := parseRecords([]byte(`{"actions":[{"name":"n","requests":[
		{"method":"GET","url":"/a","status":302,"fields":["a"]},{"method":"POST","url":"/b","contentType":"multipart/form-data; boundary=x","status":403,"fields":["a"]},
		{"method":"POST","url":"/c","contentType":"application/json","status":201},
		{"method":"POST","url":"http://h/d","contentType":"multipart/form-data; boundary=x","status":302,"fields":["a","action_type=assign","id=3"]}]}]}`))
	if err != nil || len(r) != 1 || r[0].Path != "/d" || r[0].Encoding != "multipart/form-data" || strings.Join(r[0].Fields, " ") != "a action_type id" || len(r[0].Fixed) != 1 {
		t.Errorf("records are %+v, %v", r, err)
	}
}
