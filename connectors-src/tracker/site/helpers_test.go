package site_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

func start(t *testing.T) *site.Site {
	t.Helper()
	s := site.New(site.Options{Now: func() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the site: %v", err)
		}
	})
	return s
}

// soon is how long a test waits for what must come.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// A browser is an HTTP client with cookies that posts the forms it is told to.
type browser struct {
	t      *testing.T
	site   *site.Site
	client *http.Client
}

func newBrowser(t *testing.T, s *site.Site) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := site.Transport()
	t.Cleanup(tr.CloseIdleConnections)
	return &browser{t, s, &http.Client{Transport: tr, Jar: jar, Timeout: 10 * time.Second}}
}

// signedIn skips the login pages.
func signedIn(t *testing.T, s *site.Site, login string) *browser {
	t.Helper()
	b := newBrowser(t, s)
	c, err := s.SignIn(login)
	if err != nil {
		t.Fatal(err)
	}
	b.client.Jar.SetCookies(mustURL(t, s.AppURL()), []*http.Cookie{c})
	return b
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A response is an answer whose body was read.
type response struct {
	*http.Response
	body string
	doc  *html.Node // empty unless the answer is HTML
}

func (b *browser) do(req *http.Request) response {
	b.t.Helper()
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	page := ""
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		page = string(body)
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		b.t.Fatal(err)
	}
	return response{resp, string(body), doc}
}

// get and post take a path of the tracker, or a whole URL.
func (b *browser) get(target string) response { return b.send(http.MethodGet, target, "", "") }

func (b *browser) post(target string, form url.Values) response {
	return b.send(http.MethodPost, target, "application/x-www-form-urlencoded", form.Encode())
}

func (b *browser) send(method, target, contentType, body string) response {
	b.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = b.site.AppURL() + target
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return b.do(req)
}

// submit posts the form with that id as it stands, with some fields changed.
func (b *browser) submit(r response, id string, fields map[string]string) response {
	b.t.Helper()
	form := byID(r.doc, id)
	if form == nil {
		b.t.Fatalf("no form %q on %s:\n%s", id, r.Request.URL, r.body)
	}
	values := url.Values{}
	for _, in := range all(form, "input") {
		values.Set(attr(in, "name"), attr(in, "value"))
	}
	for k, v := range fields {
		values.Set(k, v)
	}
	action, err := r.Request.URL.Parse(attr(form, "action"))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.post(action.String(), values)
}

func (r response) title() string {
	if t := all(r.doc, "title"); len(t) > 0 {
		return strings.TrimSuffix(text(t[0]), " · Tracker")
	}
	return ""
}

func (r response) has(id string) bool { return byID(r.doc, id) != nil }

// all finds elements by tag and, if given, one class.
func all(n *html.Node, tag string, class ...string) []*html.Node {
	var found []*html.Node
	for d := range n.Descendants() {
		if d.Type != html.ElementNode || (tag != "" && d.Data != tag) {
			continue
		}
		if len(class) == 0 || slices.Contains(strings.Fields(attr(d, "class")), class[0]) {
			found = append(found, d)
		}
	}
	return found
}

// one finds the only element with a class.
func one(t *testing.T, n *html.Node, class string) *html.Node {
	t.Helper()
	found := all(n, "", class)
	if len(found) != 1 {
		t.Fatalf("%d elements with class %q, want 1", len(found), class)
	}
	return found[0]
}

func byID(n *html.Node, id string) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && attr(d, "id") == id {
			return d
		}
	}
	return nil
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is textContent.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func issueOf(t *testing.T, s *site.Site, id int) site.Issue {
	t.Helper()
	for _, is := range s.Truth().Issues {
		if is.ID == id {
			return is
		}
	}
	t.Fatalf("no issue %d", id)
	return site.Issue{}
}
