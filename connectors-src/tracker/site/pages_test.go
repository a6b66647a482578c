package site_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

// TestStatusAndTitle holds what every kind of page looks like.
func TestStatusAndTitle(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		user, path string
		status     int
		title, has string
	}{
		{"alice", "/", 200, "Issues", "issues"},
		{"alice", "/issues", 200, "Issues", "issues"},
		{"alice", "/issues?status=rejected", 200, "Issues", "no-issues"},
		{"alice", "/issues?page=99", 200, "Issues", "no-issues"},
		{"alice", "/issues?page=0", 400, "Bad request", "message"},
		{"alice", "/issues?page=-1", 400, "Bad request", "message"},
		{"alice", "/issues?page=two", 400, "Bad request", "message"},
		{"alice", "/issues?size=101", 400, "Bad request", "message"},
		{"alice", "/issues?status=weird", 400, "Bad request", "message"},
		{"alice", "/issues/1", 200, "#1 " + issueOf(t, s, 1).Title, "issue"},
		{"alice", "/issues/13", 200, "#13 " + issueOf(t, s, 13).Title, "issue"},
		{"bob", "/issues/13", 403, "Forbidden", "forbidden"},
		{"bob", "/issues/42", 403, "Forbidden", "forbidden"},
		{"bob", "/issues/27", 200, "Not allowed", "forbidden"},
		{"bob", "/issues/54", 200, "Not allowed", "forbidden"},
		{"bob", "/issues/13?lab=alert", 403, "Forbidden", "forbidden"},
		{"alice", "/issues/61", 404, "Not found", "missing"},
		{"alice", "/issues/0", 404, "Not found", "missing"},
		{"alice", "/issues/-5", 404, "Not found", "missing"},
		{"alice", "/issues/abc", 404, "Not found", "missing"},
		{"alice", "/issues/8999", 404, "Not found", "missing"},
		{"alice", "/issues/9000", 200, "No such issue", "missing"},
		{"alice", "/issues/12/close", 200, "Close issue", "close-confirm"},
		{"alice", "/issues/12?lab=nothing", 404, "Not found", "message"},
		{"alice", "/lab/nothing", 404, "Not found", "message"},
		{"alice", "/lab/", 200, "Behaviours", "labs"},
		{"alice", "/nowhere", 404, "Not found", "message"},
		{"", "/issues?soft=1", 200, "Please sign in", "signed-out"},
		{"", "/issues/12?soft=1", 200, "Please sign in", "signed-out"},
		{"", "/issues/9999?soft=1", 200, "Please sign in", "signed-out"},
		{"", "/issues", 200, "Sign in · Identity", "login"},
		{"", "/issues/big", 200, "Sign in · Identity", "login"},
		{"", "/download/issues.csv", 200, "Sign in · Identity", "login"},
	} {
		t.Run(c.user+" "+c.path, func(t *testing.T) {
			b := newBrowser(t, s)
			if c.user != "" {
				b = signedIn(t, s, c.user)
			}
			r := b.get(c.path)
			if r.StatusCode != c.status || strings.TrimSpace(r.title()) != strings.TrimSpace(c.title) || !r.has(c.has) {
				t.Errorf("status %d, title %q, #%s there: %v; want %d, %q", r.StatusCode, r.title(), c.has, r.has(c.has), c.status, c.title)
			}
			if got := r.has("user"); got != (c.user != "") {
				t.Errorf("#user there: %v", got)
			}
		})
	}
}

// rowOf reads a table row as a connector does.
func rowOf(t *testing.T, tr *html.Node) site.Issue {
	t.Helper()
	id, err := strconv.Atoi(attr(tr, "data-id"))
	if err != nil {
		t.Fatal(err)
	}
	cell := func(class string) *html.Node { return one(t, tr, class) }
	is := site.Issue{
		ID: id, Title: text(cell("title")), Status: text(cell("status")), Priority: text(cell("priority")),
		Component: text(cell("component")), Labels: []string{}, Assignee: attr(cell("assignee"), "data-login"),
		Reporter: attr(cell("reporter"), "data-login"), Created: timeOf(t, cell("created")), Updated: timeOf(t, cell("updated")),
	}
	for _, l := range all(cell("labels"), "span", "label") {
		is.Labels = append(is.Labels, text(l))
	}
	if due := cell("due"); len(all(due, "time")) > 0 {
		d := timeOf(t, due)
		is.Due = &d
	}
	return is
}

func timeOf(t *testing.T, n *html.Node) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, attr(all(n, "time")[0], "datetime"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// listed follows next links from path and returns all rows and page sizes.
func listed(b *browser, path string) (rows []*html.Node, sizes []int) {
	b.t.Helper()
	for range 100 {
		r := b.get(path)
		found := all(r.doc, "tr", "issue")
		rows, sizes = append(rows, found...), append(sizes, len(found))
		next := all(r.doc, "a", "next")
		if len(next) == 0 {
			return rows, sizes
		}
		path = attr(next[0], "href")
	}
	b.t.Fatal("the list never ends")
	return nil, nil
}

func TestListEqualsTruth(t *testing.T) {
	s := start(t)
	truth := s.Truth()
	for _, c := range []struct {
		user, path string
		sizes      []int
		keep       func(site.Issue) bool
	}{
		{"alice", "/issues", []int{25, 25, 10}, func(site.Issue) bool { return true }},
		{"alice", "/issues?size=50", []int{50, 10}, func(site.Issue) bool { return true }},
		{"bob", "/issues", []int{25, 25, 6}, func(is site.Issue) bool { return is.Access == site.AccessAll }},
		{"alice", "/issues?status=open", nil, func(is site.Issue) bool { return is.Status == "open" }},
		{"alice", "/issues?assignee=me", nil, func(is site.Issue) bool { return is.Assignee == "alice" }},
		{"alice", "/issues?assignee=jun&status=new&size=3", nil, func(is site.Issue) bool { return is.Assignee == "jun" && is.Status == "new" }},
	} {
		t.Run(c.user+" "+c.path, func(t *testing.T) {
			rows, sizes := listed(signedIn(t, s, c.user), c.path)
			if c.sizes != nil && !slices.Equal(sizes, c.sizes) {
				t.Errorf("pages of %v rows, want %v", sizes, c.sizes)
			}
			var want []site.Issue
			for _, is := range slices.Backward(truth.Issues) {
				if c.keep(is) {
					want = append(want, is)
				}
			}
			if len(rows) != len(want) || len(want) == 0 {
				t.Fatalf("%d rows, want %d", len(rows), len(want))
			}
			for i, tr := range rows {
				w := want[i]
				if got := text(one(t, tr, "comments")); got != strconv.Itoa(len(w.Comments)) {
					t.Errorf("issue %d: %s comments, want %d", w.ID, got, len(w.Comments))
				}
				w.Body, w.Access, w.Comments = "", "", nil
				if got := mustJSON(t, rowOf(t, tr)); got != mustJSON(t, w) {
					t.Errorf("row %d:\n got %s\nwant %s", i, got, mustJSON(t, w))
				}
			}
		})
	}
}

func TestListSaysItsTotal(t *testing.T) {
	s := start(t)
	r := signedIn(t, s, "bob").get("/issues?page=2")
	if got := attr(byID(r.doc, "count"), "data-total"); got != strconv.Itoa(site.IssueCount-4) {
		t.Errorf("total %q", got)
	}
	if prev := all(r.doc, "a", "prev"); len(prev) != 1 || attr(prev[0], "href") != "/issues?page=1" {
		t.Errorf("prev links: %d", len(prev))
	}
}

func TestDetailEqualsTruth(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	for _, want := range s.Truth().Issues {
		r := b.get(fmt.Sprintf("/issues/%d", want.ID))
		issue := byID(r.doc, "issue")
		got := rowOf(t, issue)
		got.Access, got.Comments = want.Access, []site.Comment{}
		got.Body = text(one(t, issue, "body"))
		for _, c := range all(byID(r.doc, "comments"), "article", "comment") {
			id, err := strconv.Atoi(attr(c, "data-id"))
			if err != nil {
				t.Fatal(err)
			}
			got.Comments = append(got.Comments, site.Comment{
				ID: id, Author: attr(one(t, c, "author"), "data-login"), Created: timeOf(t, c), Body: text(one(t, c, "body")),
			})
		}
		if mustJSON(t, got) != mustJSON(t, want) {
			t.Errorf("issue %d:\n got %s\nwant %s", want.ID, mustJSON(t, got), mustJSON(t, want))
		}
		if r.has("no-comments") != (len(want.Comments) == 0) {
			t.Errorf("issue %d: empty state is wrong", want.ID)
		}
	}
}

// TestDataIsTricky keeps the data worth testing against.
func TestDataIsTricky(t *testing.T) {
	all := mustJSON(t, start(t).Truth())
	for _, want := range []string{"👩🏽‍💻", "\u202e", "à", "שגיאה", "日本語", `\u003cb\u003e`, `\"double\"`, `"   Leading`, `kept   "`, `\u2028`, "\u00a0", `\t`, `"body":""`} {
		if !strings.Contains(all, strings.ReplaceAll(want, "à", "a\u0301")) {
			t.Errorf("no %q in the data", want)
		}
	}
}

func TestLateComments(t *testing.T) {
	s := start(t)
	r := signedIn(t, s, "alice").get("/issues/12?late=1")
	section := byID(r.doc, "comments")
	if attr(section, "data-state") != "loading" || len(all(section, "article", "comment")) != 0 {
		t.Error("the comments are there before their time")
	}
	if !strings.Contains(r.body, `src="/lab/late.js"`) {
		t.Error("nothing loads the comments")
	}
	users := text(byID(r.doc, "late-users"))
	for _, u := range site.Users() {
		if !strings.Contains(users, `"login":"`+u.Login+`"`) {
			t.Errorf("late users %s lack %s", users, u.Login)
		}
	}
	if strings.Contains(r.body, "Secret-") {
		t.Error("the page holds passwords")
	}
}

func TestBigList(t *testing.T) {
	s := start(t)
	body := signedIn(t, s, "bob").get("/issues/big").body
	if n := strings.Count(body, `<tr class="issue" data-id=`); n != 3000 || !strings.Contains(body, `data-id="3000"`) {
		t.Errorf("%d rows", n)
	}
	if strings.Contains(body, ">"+issueOf(t, s, 13).Title+"<") || !strings.Contains(body, ">"+issueOf(t, s, 14).Title+"<") {
		t.Error("bob sees the title of issue 13, or not that of 14")
	}
}

func TestPagesOfASessionAreNotStored(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	for _, path := range []string{"/issues", "/issues/1", "/api/issues/1"} {
		if got := b.get(path).Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
	}
}
