package site_test

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBehaviours checks that each name on the list has its page and its code.
func TestBehaviours(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	script := readFile(t, "static/lab.js")
	index := b.get("/lab/").body
	names := map[string]bool{}
	for _, bh := range site.Behaviours() {
		if names[bh.Name] {
			t.Errorf("%s is listed twice", bh.Name)
		}
		names[bh.Name] = true
		if !strings.Contains(script, `    "`+bh.Name+`": () =>`) {
			t.Errorf("lab.js has no function for %s", bh.Name)
		}
		if !strings.Contains(index, `href="/lab/`+bh.Name+`"`) || bh.What == "" {
			t.Errorf("/lab/ does not explain %s", bh.Name)
		}
		for _, path := range []string{"/lab/" + bh.Name, "/issues/7?lab=" + bh.Name} {
			r := b.get(path)
			if r.StatusCode != http.StatusOK || attr(byID(r.doc, "lab"), "data-name") != bh.Name || r.has("lab-script") == (bh.Name == "hostile") {
				t.Errorf("%s: status %d", path, r.StatusCode)
			}
		}
	}
	for line := range strings.Lines(script) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, `    "`), `": () =>`); ok && strings.HasPrefix(line, `    "`) && !names[name] {
			t.Errorf("lab.js has a function for %q, which is not listed", name)
		}
	}
}

func TestBehaviourParameters(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	q := url.Values{"id": {"31"}, "to": {`http://evil.localhost:1/"><script>`}, "after": {"5"}, "only": {"beacon"}}
	script := byID(b.get("/lab/foreign?"+q.Encode()).doc, "lab-script")
	for name, want := range map[string]string{"data-id": "31", "data-to": q.Get("to"), "data-after": "5", "data-vector": "beacon"} {
		if got := attr(script, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	script = byID(b.get("/lab/foreign?id=x&after=-1").doc, "lab-script")
	if attr(script, "data-id") != "12" || attr(script, "data-after") != "300" {
		t.Errorf("odd parameters give id %s, after %s", attr(script, "data-id"), attr(script, "data-after"))
	}
	click := b.get("/lab/go-click?to=" + url.QueryEscape("http://evil.localhost:1"))
	for id, want := range map[string]string{
		"link": "http://evil.localhost:1/v/link", "redirecting": "/go?to=http%3a%2f%2fevil.localhost%3a1/v/redirecting",
	} {
		if got := attr(byID(click.doc, id), "href"); got != want {
			t.Errorf("#%s leads to %q, want %q", id, got, want)
		}
	}
	del := byID(b.get("/lab/form-delete?id=9").doc, "auto")
	if attr(del, "action") != "/issues/9" || attr(all(del, "input")[1], "value") == "" {
		t.Error("the form that deletes has no token or another address")
	}
}

func TestReadingBehavioursHoldTheTable(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	want := issueOf(t, s, 2).Title
	for _, path := range []string{"/lab/hostile", "/lab/clobber", "/lab/shadow-open", "/lab/shadow-closed", "/lab/hidden", "/lab/frame.html"} {
		rows := 0
		for _, tr := range all(b.get(path).doc, "tr", "lab-row") {
			if text(one(t, tr, "title")) == want {
				rows++
			}
		}
		if rows != 1 {
			t.Errorf("%s shows issue 2 %d times", path, rows)
		}
	}
	if len(all(b.get("/lab/frame").doc, "tr", "lab-row")) != 0 {
		t.Error("the table is outside its frame")
	}
}

func TestLabScriptsAndPolicy(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	for _, name := range []string{"lab.js", "vectors.js", "worker.js", "hostile.js", "late.js"} {
		if r := b.get("/lab/" + name); r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Content-Type"), "javascript") {
			t.Errorf("%s: status %d, type %q", name, r.StatusCode, r.Header.Get("Content-Type"))
		}
	}
	if got := b.get("/lab/timeout?csp=1").Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'") {
		t.Errorf("policy %q", got)
	}
	if got := b.get("/lab/timeout").Header.Get("Content-Security-Policy"); got != "" {
		t.Errorf("policy %q without csp=1", got)
	}
}
