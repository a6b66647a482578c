package e2e

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

type issueRow struct {
	ID       int      `json:"id"`
	Title    string   `json:"title"`
	Status   string   `json:"status"`
	Labels   []string `json:"labels"`
	Comments int      `json:"comments"`
}

type issueList struct {
	Total  int        `json:"total"`
	Issues []issueRow `json:"issues"`
}

func tracker(t *testing.T) *harness.World {
	t.Helper()
	w := harness.New(t, harness.Options{})
	w.Ready("connectors-src/tracker")
	w.Login("tracker", "alice")
	return w
}

func TestListEqualsTheTruth(t *testing.T) {
	w := tracker(t)
	got := harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 500})
	truth := w.Site.Truth().Issues
	if len(got.Issues) != len(truth) || got.Total != len(truth) {
		t.Fatalf("%d issues of %d, the tracker holds %d", len(got.Issues), got.Total, len(truth))
	}
	for i, row := range got.Issues {
		want := truth[len(truth)-1-i] // the list shows the newest first
		if row.ID != want.ID || row.Title != collapsed(want.Title) || row.Status != want.Status || row.Comments != len(want.Comments) {
			t.Errorf("row %d is %+v, want %+v", i, row, want)
		}
	}
}

// collapsed is text as a table cell shows it: white space runs are one space.
func collapsed(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestApprovedCommentIsWrittenOnce(t *testing.T) {
	w := tracker(t)
	const text = "Ünïcödé 🌉 <b>&amp;\nsecond line"
	before := comments(w, 12)
	res := w.CallApproved("tracker_add_comment", map[string]any{"id": 12, "body": text})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	after := comments(w, 12)
	if len(after) != len(before)+1 || after[len(after)-1].Body != text {
		t.Fatalf("comments before %d, after %d, last %q", len(before), len(after), after[len(after)-1].Body)
	}
}

func TestDeniedCommentIsNotWritten(t *testing.T) {
	w := tracker(t)
	before := comments(w, 12)
	w.CallDenied("tracker_add_comment", map[string]any{"id": 12, "body": "no"})
	if after := comments(w, 12); len(after) != len(before) {
		t.Fatalf("a denied comment was written: %+v", after[len(after)-1])
	}
}

func comments(w *harness.World, id int) []site.Comment {
	for _, is := range w.Site.Truth().Issues {
		if is.ID == id {
			return is.Comments
		}
	}
	w.T.Fatalf("no issue %d", id)
	return nil
}
