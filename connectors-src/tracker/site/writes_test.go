package site_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

func TestComment(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	before := issueOf(t, s, 12)
	const body = "Grüße, 田中 – \"q\" <b>&amp; 👩‍👩‍👧\n\n  indented\nend "
	r := b.submit(b.get("/issues/12"), "comment-form", map[string]string{"body": strings.ReplaceAll(body, "\n", "\r\n")})
	if r.StatusCode != http.StatusOK || text(byID(r.doc, "flash")) != "Comment added." {
		t.Fatalf("status %d: %s", r.StatusCode, r.title())
	}
	after := issueOf(t, s, 12)
	if len(after.Comments) != len(before.Comments)+1 {
		t.Fatalf("%d comments, had %d", len(after.Comments), len(before.Comments))
	}
	c := after.Comments[len(after.Comments)-1]
	if c.Body != body || c.Author != "alice" || !c.Created.Equal(after.Updated) {
		t.Errorf("comment %+v", c)
	}
	if got := text(one(t, byID(r.doc, fmt.Sprintf("comment-%d", c.ID)), "body")); got != body {
		t.Errorf("the page shows %q", got)
	}
}

// TestWritesRefused tries every write in ways that must change nothing.
func TestWritesRefused(t *testing.T) {
	s := start(t)
	before := mustJSON(t, s.Truth())
	alice, bob, nobody := signedIn(t, s, "alice"), signedIn(t, s, "bob"), newBrowser(t, s)
	token := func(b *browser) string {
		return attr(all(byID(b.get("/issues/1").doc, "comment-form"), "input")[0], "value")
	}
	aliceToken, bobToken := token(alice), token(bob)
	form := func(csrf string, kv ...string) url.Values {
		v := url.Values{"csrf": {csrf}}
		for pair := range slices.Chunk(kv, 2) {
			v.Set(pair[0], pair[1])
		}
		return v
	}
	long := strings.Repeat("x", site.MaxComment+1)
	for _, c := range []struct {
		what   string
		by     *browser
		path   string
		form   url.Values
		status int
	}{
		{"no token", alice, "/issues/12/comments", form("", "body", "x"), 403},
		{"another's token", alice, "/issues/12/comments", form(bobToken, "body", "x"), 403},
		{"empty comment", alice, "/issues/12/comments", form(aliceToken, "body", " \r\n"), 422},
		{"no body field", alice, "/issues/12/comments", form(aliceToken), 422},
		{"long comment", alice, "/issues/12/comments", form(aliceToken, "body", long), 422},
		{"huge form", alice, "/issues/12/comments", form(aliceToken, "body", strings.Repeat("x", 100_000)), 413},
		{"missing issue", alice, "/issues/61/comments", form(aliceToken, "body", "x"), 404},
		{"soft missing issue", alice, "/issues/9001/comments", form(aliceToken, "body", "x"), 200},
		{"forbidden issue", bob, "/issues/13/comments", form(bobToken, "body", "x"), 403},
		{"soft forbidden issue", bob, "/issues/27/comments", form(bobToken, "body", "x"), 200},
		{"signed out", nobody, "/issues/12/comments", form(aliceToken, "body", "x"), 200},
		{"delete without token", alice, "/issues/12", form("", "_method", "delete"), 403},
		{"delete a forbidden issue", bob, "/issues/42", form(bobToken, "_method", "delete"), 403},
		{"no method", alice, "/issues/12", form(aliceToken, "status", "closed"), 405},
		{"unknown method", alice, "/issues/12", form(aliceToken, "_method", "trace"), 405},
		{"unknown status", alice, "/issues/12", form(aliceToken, "_method", "patch", "status", "gone"), 422},
		{"unknown priority", alice, "/issues/12", form(aliceToken, "_method", "patch", "status", "closed", "priority", "x"), 422},
		{"unknown assignee", alice, "/issues/12", form(aliceToken, "_method", "patch", "assignee", "mallory"), 422},
	} {
		if r := c.by.post(c.path, c.form); r.StatusCode != c.status {
			t.Errorf("%s: status %d (%s), want %d", c.what, r.StatusCode, r.title(), c.status)
		}
		if mustJSON(t, s.Truth()) != before {
			t.Fatalf("%s: something was written", c.what)
		}
	}
	for _, get := range []string{"/issues/12/close", "/issues/12/close?confirm=0", "/issues/12/comments", "/issues/12?_method=delete"} {
		alice.get(get)
	}
	bob.get("/issues/13/close?confirm=1")
	nobody.get("/issues/12/close?confirm=1")
	nobody.get("/issues/12/close?confirm=1&soft=1")
	if mustJSON(t, s.Truth()) != before {
		t.Error("a GET that must not write did")
	}
}

func TestRefusedCommentKeepsItsText(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	long := "\nfirst line empty" + strings.Repeat("x", site.MaxComment)
	r := b.submit(b.get("/issues/12"), "comment-form", map[string]string{"body": long})
	if got := text(byID(r.doc, "comment-body")); got != long {
		t.Errorf("the form holds %d bytes, want %d", len(got), len(long))
	}
}

func TestMethodOverride(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	r := b.submit(b.get("/issues/12"), "update-form", map[string]string{"status": "waiting", "priority": "urgent", "assignee": "jun"})
	if text(byID(r.doc, "flash")) != "Issue updated." {
		t.Fatalf("status %d: %s", r.StatusCode, r.title())
	}
	if is := issueOf(t, s, 12); is.Status != "waiting" || is.Priority != "urgent" || is.Assignee != "jun" {
		t.Errorf("issue %+v", is)
	}
	r = b.submit(b.get("/issues/12"), "delete-form", nil)
	if !r.has("issues") || len(s.Truth().Issues) != site.IssueCount-1 {
		t.Errorf("delete ended at %s", r.Request.URL)
	}
	if r := b.get("/issues/12"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a deleted issue answers %d", r.StatusCode)
	}
}

func TestGETThatDestroys(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "bob")
	link := byID(b.get("/issues/5").doc, "close")
	if r := b.get(attr(link, "href")); text(byID(r.doc, "flash")) != "Issue closed." {
		t.Errorf("status %d: %s", r.StatusCode, r.title())
	}
	if is := issueOf(t, s, 5); is.Status != "closed" {
		t.Errorf("status %q", is.Status)
	}
}

func TestAPI(t *testing.T) {
	s := start(t)
	alice := signedIn(t, s, "alice")
	r := alice.get("/api/issues/12")
	var got site.Issue
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		t.Fatal(err)
	}
	if mustJSON(t, got) != mustJSON(t, issueOf(t, s, 12)) {
		t.Errorf("the API's issue differs:\n%s", r.body)
	}
	r = alice.send(http.MethodPost, "/api/issues/12/comments", "text/plain", `{"body":"by the API\r\nsecond"}`)
	c := issueOf(t, s, 12).Comments
	if r.StatusCode != http.StatusCreated || c[len(c)-1].Body != "by the API\nsecond" {
		t.Errorf("status %d, %s", r.StatusCode, r.body)
	}
}

func TestAPIRefuses(t *testing.T) {
	s := start(t)
	before := mustJSON(t, s.Truth())
	alice, bob, nobody := signedIn(t, s, "alice"), signedIn(t, s, "bob"), newBrowser(t, s)
	for _, c := range []struct {
		by     *browser
		method string
		path   string
		body   string
		status int
	}{
		{nobody, "GET", "/api/issues/12", "", 401},
		{nobody, "POST", "/api/issues/12/comments", `{"body":"x"}`, 401},
		{bob, "GET", "/api/issues/13", "", 403},
		{bob, "GET", "/api/issues/27", "", 403},
		{bob, "POST", "/api/issues/27/comments", `{"body":"x"}`, 403},
		{alice, "GET", "/api/issues/61", "", 404},
		{alice, "GET", "/api/issues/9001", "", 404},
		{alice, "GET", "/api/issues/x", "", 404},
		{alice, "POST", "/api/issues/12/comments", ``, 400},
		{alice, "POST", "/api/issues/12/comments", `body=x`, 400},
		{alice, "POST", "/api/issues/12/comments", `{"text":"x"}`, 422},
		{alice, "POST", "/api/issues/12/comments", `{"body":"` + strings.Repeat("x", site.MaxComment+1) + `"}`, 422},
		{alice, "DELETE", "/api/issues/12", "", 404},
	} {
		if r := c.by.send(c.method, c.path, "application/json", c.body); r.StatusCode != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, r.StatusCode, c.status)
		}
	}
	if mustJSON(t, s.Truth()) != before {
		t.Error("something was written")
	}
}

func TestStalledCommentIsTakenAndNotAnswered(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	form := b.get("/issues/12")
	before := len(issueOf(t, s, 12).Comments)
	s.Stall(true)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.AppURL()+"/issues/12/comments",
		strings.NewReader(url.Values{"csrf": {attr(all(byID(form.doc, "comment-form"), "input")[0], "value")}, "body": {"held"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	failed := make(chan error, 1)
	go func() {
		r, err := b.client.Do(req)
		if err == nil {
			err = errors.Join(errors.New("it was answered"), r.Body.Close())
		}
		failed <- err
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := soon(t); len(issueOf(t, s, 12).Comments) == before; {
		select {
		case <-tick.C:
		case <-limit.Done():
			t.Fatal("the comment was not taken")
		}
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
}
