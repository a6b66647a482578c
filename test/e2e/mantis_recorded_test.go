package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	"github.com/drawbridge-mcp/drawbridge/test/site/mantis"
	"github.com/drawbridge-mcp/drawbridge/test/sites/mantiscompare"
)

func mantisTruth(t *testing.T, base string) *mantiscompare.Truth {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(harness.Corpus(t, "sites/truth"), "mantis.json"))
	if err != nil {
		t.Fatal(err)
	}
	truth, err := mantiscompare.ParseTruth(data, base)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// holds reports differences.
func holds(t *testing.T, what string, differences []string) {
	t.Helper()
	for _, d := range differences {
		t.Errorf("%s: %s", what, d)
	}
}

func (w *mantisWorld) read(tool string, args object) []byte {
	w.T.Helper()
	res := w.Call(tool, args)
	if res.Err != nil {
		w.T.Fatalf("%s: %s: %v", tool, res.Err.Code, res.Err)
	}
	return res.Structured
}

// unrecorded is the one bug whose row stands on neither of the recorded lists: the
// first ends before it, and it is closed, which the second hides.
const unrecorded = 71

// TestMantisRecorded reads the pages that were recorded from a MantisBT 2.28.4, and
// sends its forms to a replay that takes what was recorded and nothing else.
func TestMantisRecorded(t *testing.T) {
	pages, err := mantis.Recorded(harness.Corpus(t, "sites/captures/mantis"))
	w := newMantis(t, pages, err)
	truth := mantisTruth(t, w.url)
	recorded := func(b *mantiscompare.Bug) bool { return b.ID != unrecorded }
	t.Run("lists", func(t *testing.T) {
		ids := truth.IDs(recorded)
		holds(t, "first page", truth.List(w.read("mantis_search_bugs", object{"order": "oldest"}), ids[:50], len(ids)))
		holds(t, "both pages", truth.List(w.read("mantis_search_bugs", object{"order": "oldest", "limit": 500}), ids, len(ids)))
		mine := truth.Newest(func(b *mantiscompare.Bug) bool { return b.Handler == "mlindqvist" && b.IsOpen() })
		holds(t, "mine", truth.List(w.read("mantis_list_my_bugs", object{}), mine, len(mine)))
		changed := lastChanged(truth)
		holds(t, "last changed", truth.List(w.read("mantis_search_bugs", object{"order": "updated", "status": "open", "limit": 25}), changed[:25], len(changed)))
	})
	t.Run("bugs", func(t *testing.T) {
		for id, history := range recordedHistory() {
			holds(t, "get_bug", truth.Detail(w.read("mantis_get_bug", object{"id": id}), id, history))
		}
		w.WantCode(abi.ErrNotFound, "mantis_get_bug", object{"id": 99999})
	})
	t.Run("projects", func(t *testing.T) {
		all := harness.Result[mantisProjects](w.World, "mantis_list_projects", object{})
		if len(all.Projects) != 4 || all.Projects[3].Name != "Web Portal" || all.Projects[3].ID != 2 {
			t.Errorf("projects are %+v", all)
		}
	})
	t.Run("writes", w.recordedWrites)
	w.site.Expire()
	w.WantCode(abi.ErrAuthExpired, "mantis_get_bug", object{"id": 11})
	if harm := w.site.Harm(); len(harm) > 0 {
		t.Errorf("went through: %q", harm)
	}
}

// lastChanged are the open bugs in the order of their last change. The recording
// has the first 50 of those that are not closed.
func lastChanged(truth *mantiscompare.Truth) []int {
	ids := truth.Newest((*mantiscompare.Bug).IsOpen)
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(truth.Bug(b).Updated, truth.Bug(a).Updated) })
	return ids
}

// recordedHistory is what the recorded pages show: the bugs had been imported.
func recordedHistory() map[int][]mantiscompare.Change {
	entry := func(field, change string) mantiscompare.Change {
		return mantiscompare.Change{Date: "2026-11-30T14:09", User: "administrator", Field: field, Change: change}
	}
	return map[int][]mantiscompare.Change{
		4:  {entry("New Issue", ""), entry("Assigned To", "=> mlindqvist"), entry("File Added: Bericht Größe 4.csv", "")},
		11: {entry("New Issue", ""), entry("Status", "new => assigned"), entry("Assigned To", "=> rosullivan")},
		19: {
			entry("New Issue", ""), entry("Assigned To", "=> rosullivan"),
			entry("Tag Attached: a11y", ""), entry("Tag Attached: ux", ""), entry("Tag Attached: i18n", ""),
		},
	}
}

func (w *mantisWorld) recordedWrites(t *testing.T) {
	w.approved("mantis_add_comment", object{"id": 11, "text": mantisWords})
	if n := w.bug(11).Notes; len(n) != 35 || n[34].Text != mantisWords || n[34].ID != 246 {
		t.Errorf("%d notes, the last is %+v", len(n), n[len(n)-1])
	}
	w.approved("mantis_assign", object{"id": 11, "handler_id": 2, "handler": "admin-dev"})
	if b := w.bug(11); *b.Handler != "admin-dev" {
		t.Errorf("bug is %+v", b)
	}
	w.NewClient()
	// What the form for this status would send is on no record.
	if res := w.CallApproved("mantis_set_status", object{"id": 11, "status_id": 20, "status": "feedback"}); res.Err == nil || res.Err.Code != abi.ErrOutcomeUnknown {
		t.Errorf("feedback: %v, want %s", res.Err, abi.ErrOutcomeUnknown)
	}
	w.approved("mantis_set_status", object{"id": 11, "status_id": 80, "status": "resolved", "resolution_id": 20, "resolution": "fixed"})
	if b := w.bug(11); b.Status != "resolved" || *b.Handler != "admin-dev" || b.Choices.Comment {
		t.Errorf("bug is %+v", b)
	}
	w.NewClient()
	// The recording has no form for a new bug.
	args := object{"project_id": 2, "project": "Web Portal", "category_id": 1, "category": "General", "summary": "x", "description": "x"}
	if res := w.CallApproved("mantis_create_bug", args); res.Err == nil || res.Err.Code != abi.ErrForbidden {
		t.Errorf("create: %v, want %s", res.Err, abi.ErrForbidden)
	}
	var done []string
	for _, wr := range w.site.Taken() {
		done = append(done, wr.Action)
	}
	if want := []string{"add note", "assign", "set status resolved"}; !slices.Equal(done, want) {
		t.Errorf("taken: %q, want %q", done, want)
	}
	if r := w.site.Refused(); len(r) != 1 || !strings.HasPrefix(r[0], "POST /bug_update.php: the fields are bug_id status last_updated bug_update_token handler_id") {
		t.Errorf("refused: %q", r)
	}
}

// TestMantisLive reads and writes a MantisBT that holds the same data as the truth,
// nothing written since. It is for whoever has one: nothing starts it.
func TestMantisLive(t *testing.T) {
	url := os.Getenv("DRAWBRIDGE_MANTIS_URL")
	if url == "" {
		t.Skip("not asked to run against a MantisBT: DRAWBRIDGE_MANTIS_URL says where it is")
	}
	w := mantisAt(t, url)
	w.login("mlindqvist", "Secret-mlindqvist-1")
	truth := mantisTruth(t, url)
	every := truth.IDs(func(*mantiscompare.Bug) bool { return true })
	holds(t, "all", truth.List(w.read("mantis_search_bugs", object{"order": "oldest", "limit": 500}), every, len(every)))
	mine := truth.Newest(func(b *mantiscompare.Bug) bool { return b.Handler == "mlindqvist" && b.IsOpen() })
	holds(t, "mine", truth.List(w.read("mantis_list_my_bugs", object{}), mine, len(mine)))
	changed := lastChanged(truth)
	holds(t, "last changed", truth.List(w.read("mantis_search_bugs", object{"order": "updated", "status": "open"}), changed, len(changed)))
	found := truth.Newest(func(b *mantiscompare.Bug) bool { return b.Project == "Billing" && b.Status == "feedback" })
	holds(t, "a project", truth.List(w.read("mantis_search_bugs", object{"project_id": 1, "status": "feedback"}), found, len(found)))
	for _, id := range every {
		holds(t, "get_bug", truth.Detail(w.read("mantis_get_bug", object{"id": id}), id, nil))
	}
	w.WantCode(abi.ErrNotFound, "mantis_get_bug", object{"id": 99999})
	w.liveWrites(t)
	other := mantisAt(t, url)
	other.WantCode(abi.ErrAuthExpired, "mantis_get_bug", object{"id": 9})
	other.login("wchen", "Secret-wchen-1") // a reporter, who may not see what is private
	other.WantCode(abi.ErrForbidden, "mantis_get_bug", object{"id": 9})
}

func (w *mantisWorld) liveWrites(t *testing.T) {
	t.Helper()
	const text = "First\n\n    indented & <i>not</i> \"quoted\"\n~12"
	w.approved("mantis_add_comment", object{"id": 3, "text": text})
	if n := w.bug(3).Notes; n[len(n)-1].Author != "mlindqvist" || !strings.Contains(n[len(n)-1].Text, "    indented & not \"quoted\"\n0000004:0000012") {
		t.Errorf("the note is %+v", n[len(n)-1])
	}
	w.approved("mantis_assign", object{"id": 5, "handler_id": 4, "handler": "jtanaka"})
	if b := w.bug(5); *b.Handler != "jtanaka" || b.Status != "assigned" {
		t.Errorf("bug 5 is %+v", b)
	}
	w.approved("mantis_set_status", object{"id": 10, "status_id": 20, "status": "feedback"})
	if b := w.bug(10); b.Status != "feedback" || b.Handler != nil {
		t.Errorf("bug 10 is %+v", b)
	}
	w.approved("mantis_set_status", object{"id": 3, "status_id": 80, "status": "resolved", "resolution_id": 90, "resolution": "won't fix"})
	if b := w.bug(3); b.Status != "resolved" || b.Resolution != "won't fix" || *b.Handler != "mlindqvist" || b.Choices.Comment {
		t.Errorf("bug 3 is %+v", b)
	}
	created := w.approved("mantis_create_bug", object{
		"project_id": 2, "project": "Web Portal", "category_id": 1, "category": "General", "summary": "Größe & <angle>", "description": "a\n  b", "steps_to_reproduce": "1. c",
	})
	if b := harness.Result[mantisBug](w.World, "mantis_get_bug", object{"id": created["id"]}); b.Summary != "Größe & <angle>" || b.Description != "a\n  b" || b.Steps != "1. c" {
		t.Errorf("the new bug is %+v", b)
	}
	// The form for a new bug has made its project the current one.
	if l := harness.Result[mantisList](w.World, "mantis_search_bugs", object{"limit": 1}); l.Total != 77 {
		t.Errorf("afterwards a list has %d bugs", l.Total)
	}
}
