package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	"github.com/drawbridge-mcp/drawbridge/test/site/mantis"
)

const mantisSource = "connectors-src/mantis"

type object = map[string]any

// A mantisWorld is a world with the MantisBT connector, and a replay that it works on.
type mantisWorld struct {
	*harness.World
	site *mantis.Site
	url  string
}

func newMantis(t *testing.T, pages *mantis.Pages, err error) *mantisWorld {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s := mantis.New(pages)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w := mantisAt(t, s.URL())
	w.site = s
	w.login(pages.Users[0].Login, pages.Users[0].Password)
	return w
}

func mantisAt(t *testing.T, url string) *mantisWorld {
	t.Helper()
	w := &mantisWorld{World: harness.New(t, harness.Options{NoSite: true}), url: url}
	manifest, err := os.ReadFile(filepath.Join(harness.Root(), mantisSource, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.install(manifest, harness.Module(t, mantisSource))
	return w
}

func (w *mantisWorld) install(manifest, wasm []byte) {
	w.T.Helper()
	rel := w.Publish(manifest, wasm)
	known, err := w.Registry.Registries()
	if err == nil && len(known) == 0 {
		err = w.AddRegistry()
	} else if err == nil {
		_, err = w.Registry.Refresh(w.T.Context(), harness.RegistryID)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	settings := map[string]string{"base_url": w.url}
	if _, err := w.Host.Install(w.T.Context(), harness.Namespace+"/"+rel.Name, settings, w.Agree, func(string) {}); err != nil {
		w.T.Fatal(err)
	}
}

func (w *mantisWorld) login(name, password string) {
	w.T.Helper()
	in, err := w.Host.Login(w.T.Context(), "mantis", &host.FormLogin{Username: name, Password: password})
	if err != nil || in.Account != name {
		w.T.Fatalf("signed in as %q: %v", in.Account, err)
	}
}

type mantisList struct {
	Total int `json:"total"`
	Bugs  []struct {
		ID      int     `json:"id"`
		Summary string  `json:"summary"`
		Status  string  `json:"status"`
		Handler *string `json:"handler"`
	} `json:"bugs"`
}

func (l mantisList) ids() []int {
	out := make([]int, 0, len(l.Bugs))
	for _, b := range l.Bugs {
		out = append(out, b.ID)
	}
	return out
}

// newest are the numbers of the small set's bugs that match, newest first.
func newest(match func(mantis.Bug) bool) []int {
	out := []int{}
	for _, b := range slices.Backward(mantis.Bugs()) {
		if match(b) {
			out = append(out, b.ID)
		}
	}
	return out
}

func anyBug(mantis.Bug) bool { return true }

// TestMantis goes through everything that the connector does, on the small set.
func TestMantis(t *testing.T) {
	pages, err := mantis.Own()
	w := newMantis(t, pages, err)
	t.Run("lists", w.lists)
	t.Run("reads", w.reads)
	t.Run("projects", w.projects)
	t.Run("asks", w.asks)
	t.Run("writes", w.writes)
	t.Run("refuses", w.refuses)
	t.Run("reading writes nothing", w.readsOnly)
	t.Run("signed out", w.signedOut)
	t.Run("no password field", w.noPasswordField)
	if harm := w.site.Harm(); len(harm) > 0 {
		t.Errorf("went through: %q", harm)
	}
}

func (w *mantisWorld) lists(t *testing.T) {
	open := func(b mantis.Bug) bool { return b.Status != "resolved" }
	tests := []struct {
		name, tool string
		args       object
		match      func(mantis.Bug) bool
		limit      int
	}{
		{"two pages", "mantis_search_bugs", object{"limit": 500}, anyBug, 500},
		{"one page", "mantis_search_bugs", object{}, anyBug, 50},
		{"into the second", "mantis_search_bugs", object{"limit": 51}, anyBug, 51},
		{"mine", "mantis_list_my_bugs", object{}, func(b mantis.Bug) bool { return b.Handler == "ada" && open(b) }, 50},
		{"mine, resolved", "mantis_list_my_bugs", object{"status": "resolved"}, func(b mantis.Bug) bool { return b.Handler == "ada" && !open(b) }, 50},
		{"nobody's", "mantis_search_bugs", object{"handler": "nobody"}, func(b mantis.Bug) bool { return b.Handler == "" }, 50},
		{"a project", "mantis_search_bugs", object{"project_id": 2, "status": "open"}, func(b mantis.Bug) bool { return b.Project == "Lighthouse" && open(b) }, 50},
		{"markup", "mantis_search_bugs", object{"text": `<b>bold</b> tide table & its "quotes" \`}, func(b mantis.Bug) bool { return strings.Contains(b.Summary, "<b>") }, 50},
		{"percent", "mantis_search_bugs", object{"text": "100% {{braces}} ${dollar}"}, func(b mantis.Bug) bool { return strings.Contains(b.Summary, "100%") }, 50},
		{"nothing", "mantis_search_bugs", object{"text": "no such words"}, func(mantis.Bug) bool { return false }, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := harness.Result[mantisList](w.World, tt.tool, tt.args)
			want := newest(tt.match)
			if got.Total != len(want) || !slices.Equal(got.ids(), want[:min(len(want), tt.limit)]) {
				t.Errorf("%d: %v, want %d: %v", got.Total, got.ids(), len(want), want)
			}
			for _, b := range got.Bugs {
				if want := mantis.Bugs()[b.ID-1]; b.Summary != strings.TrimSpace(want.Summary) || b.Status != want.Status {
					t.Errorf("bug %d is %+v", b.ID, b)
				}
			}
		})
	}
}

type mantisBug struct {
	Summary     string   `json:"summary"`
	Description string   `json:"description"`
	Steps       string   `json:"steps_to_reproduce"`
	Status      string   `json:"status"`
	Resolution  string   `json:"resolution"`
	Handler     *string  `json:"handler"`
	Tags        []string `json:"tags"`
	Attachments []struct {
		Name string `json:"name"`
	} `json:"attachments"`
	Notes []struct {
		ID      int    `json:"id"`
		Author  string `json:"author"`
		Private bool   `json:"private"`
		Text    string `json:"text"`
	} `json:"notes"`
	History []struct{ Date, User, Field, Change string } `json:"history"`
	Choices *struct {
		Comment            bool
		Statuses, Handlers []struct {
			ID   int
			Name string
		}
	} `json:"choices"`
}

func (w *mantisWorld) bug(id int) mantisBug {
	w.T.Helper()
	return harness.Result[mantisBug](w.World, "mantis_get_bug", object{"id": id, "choices": true})
}

func (w *mantisWorld) reads(t *testing.T) {
	want, got := mantis.Bugs()[mantis.OwnFull-1], w.bug(mantis.OwnFull)
	if got.Summary != want.Summary || got.Description != want.Description || got.Steps != want.Steps || !slices.Equal(got.Tags, want.Tags) {
		t.Errorf("bug is %+v", got)
	}
	if len(got.Attachments) != 2 || got.Attachments[0].Name != want.Files[0] || got.Attachments[1].Name != want.Files[1] {
		t.Errorf("attachments are %+v", got.Attachments)
	}
	if len(got.Notes) != len(want.Notes) {
		t.Fatalf("notes are %+v", got.Notes)
	}
	for i, n := range got.Notes {
		if o := want.Notes[i]; n.ID != o.ID || n.Author != o.Author || n.Private != o.Private || n.Text != o.Text {
			t.Errorf("note is %+v, want %+v", n, o)
		}
	}
	if h := got.History; len(h) != 2 || h[1].Change != "=> ada" || h[0].Field != "New Issue" {
		t.Errorf("history is %+v", h)
	}
	if c := got.Choices; c == nil || !c.Comment || len(c.Statuses) != 7 || len(c.Handlers) != 4 || c.Handlers[0].Name != "nobody" {
		t.Errorf("choices are %+v", c)
	}
	if c := w.bug(mantis.OwnDone).Choices; c == nil || c.Comment || len(c.Statuses) != 0 || len(c.Handlers) != 0 {
		t.Errorf("a resolved bug offers %+v", c)
	}
	w.WantCode(abi.ErrNotFound, "mantis_get_bug", object{"id": 9999})
	w.WantCode(abi.ErrForbidden, "mantis_get_bug", object{"id": mantis.OwnClosed})
}

type mantisProjects struct {
	Projects, Categories []struct {
		ID   int
		Name string
	}
}

func (w *mantisWorld) projects(t *testing.T) {
	all := harness.Result[mantisProjects](w.World, "mantis_list_projects", object{})
	if len(all.Projects) != 2 || all.Projects[1].Name != "Lighthouse" || len(all.Categories) != 0 {
		t.Errorf("projects are %+v", all)
	}
	one := harness.Result[mantisProjects](w.World, "mantis_list_projects", object{"project_id": 2})
	if len(one.Projects) != 1 || one.Projects[0].Name != "Lighthouse" || len(one.Categories) != 2 || one.Categories[1].Name != "lamp" {
		t.Errorf("categories are %+v", one)
	}
	w.WantCode(abi.ErrNotFound, "mantis_list_projects", object{"project_id": 77})
}

// asks shows that nothing goes out that nobody has approved.
func (w *mantisWorld) asks(t *testing.T) {
	for tool, args := range destructive() {
		w.CallDenied(tool, args)
	}
	if n := w.site.Taken(); len(n) != 0 {
		t.Errorf("taken: %+v", n)
	}
}

func destructive() map[string]object {
	return map[string]object{
		"mantis_add_comment": {"id": 1, "text": "x"},
		"mantis_create_bug":  {"project_id": 2, "project": "Lighthouse", "category_id": 21, "category": "lamp", "summary": "x", "description": "x"},
		"mantis_set_status":  {"id": 1, "status_id": 20, "status": "feedback"},
		"mantis_assign":      {"id": 1, "handler_id": 3, "handler": "bo"},
	}
}

const mantisWords = "Fähre: naïve café, שלום, 你好, e\u0301 and 👩‍👩‍👧‍👦\n\n    indented & <b>bold?</b> \"quoted\" 'single' \\ %41 + a=b;c=d\n&amp; ~12 #12"

func (w *mantisWorld) approved(tool string, args object) object {
	w.T.Helper()
	w.NewClient()
	res := w.CallApproved(tool, args)
	if res.Err != nil {
		w.T.Fatalf("%s: %s: %v", tool, res.Err.Code, res.Err)
	}
	var out object
	if err := json.Unmarshal(res.Structured, &out); err != nil {
		w.T.Fatal(err)
	}
	return out
}

func (w *mantisWorld) writes(t *testing.T) {
	noted := w.approved("mantis_add_comment", object{"id": 1, "text": mantisWords})
	if n := w.bug(1).Notes; len(n) != 1 || n[0].Text != mantisWords || noted["note"] != float64(n[0].ID) {
		t.Errorf("notes are %+v, the result is %v", n, noted)
	}
	assigned := w.approved("mantis_assign", object{"id": mantis.OwnFree, "handler_id": 3, "handler": "bo"})
	if b := w.bug(mantis.OwnFree); *b.Handler != "bo" || b.Status != "assigned" || assigned["handler"] != "bo" {
		t.Errorf("bug is %+v, the result is %v", b, assigned)
	}
	w.approved("mantis_set_status", object{"id": 14, "status_id": 20, "status": "feedback"})
	if b := w.bug(14); b.Status != "feedback" || b.Handler != nil {
		t.Errorf("bug is %s for %v: nobody had it", b.Status, b.Handler)
	}
	w.approved("mantis_set_status", object{"id": 3, "status_id": 80, "status": "resolved", "resolution_id": 90, "resolution": "won't fix"})
	if b := w.bug(3); b.Status != "resolved" || b.Resolution != "won't fix" || *b.Handler != "ada" {
		t.Errorf("bug is %+v", b)
	}
	created := w.approved("mantis_create_bug", object{
		"project_id": 2, "project": "Lighthouse", "category_id": 21, "category": "lamp", "summary": "Lamp & <b>", "description": mantisWords, "steps_to_reproduce": "1. Wait",
	})
	if b := harness.Result[mantisBug](w.World, "mantis_get_bug", object{"id": created["id"]}); b.Summary != "Lamp & <b>" || b.Description != mantisWords || b.Steps != "1. Wait" {
		t.Errorf("the new bug is %+v", b)
	}
	// The form for a new bug has made its project the current one.
	if l := harness.Result[mantisList](w.World, "mantis_search_bugs", object{"limit": 1}); l.Total != len(mantis.Bugs()) {
		t.Errorf("afterwards a list has %d bugs", l.Total)
	}
	var done []string
	for _, wr := range w.site.Taken() {
		done = append(done, wr.Action)
	}
	if want := []string{"add note", "assign", "set status feedback", "set status resolved", "create"}; !slices.Equal(done, want) {
		t.Errorf("taken: %q, want %q", done, want)
	}
	if r := w.site.Refused(); len(r) != 0 {
		t.Errorf("refused: %q", r)
	}
}

// refuses has what is approved and not carried out.
func (w *mantisWorld) refuses(t *testing.T) {
	before := len(w.site.Taken())
	tests := []struct {
		name, tool string
		args       object
		code       abi.Code
	}{
		{"a bug that may not be seen", "mantis_assign", object{"id": mantis.OwnClosed, "handler_id": 3, "handler": "bo"}, abi.ErrForbidden},
		{"a resolved bug", "mantis_add_comment", object{"id": mantis.OwnDone, "text": "x"}, abi.ErrForbidden},
		{"another name for the number", "mantis_assign", object{"id": 1, "handler_id": 3, "handler": "ada"}, abi.ErrInvalidArgs},
		{"no resolution", "mantis_set_status", object{"id": 1, "status_id": 80, "status": "resolved"}, abi.ErrInvalidArgs},
		{"another project", "mantis_create_bug", object{"project_id": 1, "project": "Lighthouse", "category_id": 1, "category": "General", "summary": "x", "description": "x"}, abi.ErrInvalidArgs},
	}
	for _, tt := range tests {
		w.NewClient()
		if res := w.CallApproved(tt.tool, tt.args); res.Err == nil || res.Err.Code != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, res.Err, tt.code)
		}
	}
	if after := w.site.Taken(); len(after) != before {
		t.Errorf("taken: %+v", after[before:])
	}
}

func (w *mantisWorld) signedOut(t *testing.T) {
	w.site.Expire()
	calls := destructive()
	calls["mantis_list_my_bugs"], calls["mantis_get_bug"] = object{}, object{"id": 1}
	before := len(w.site.Taken())
	for tool, args := range calls {
		w.NewClient()
		res := w.CallApproved(tool, args)
		if res.Err == nil || res.Err.Code != abi.ErrAuthExpired || res.Err.Hint != "drawbridge login mantis" {
			t.Errorf("%s: %v, want %s", tool, res.Err, abi.ErrAuthExpired)
		}
	}
	w.site.LetGuestsIn()
	w.WantCode(abi.ErrAuthExpired, "mantis_get_bug", object{"id": 1})
	if len(w.site.Taken()) != before {
		t.Error("something was taken")
	}
}

// noPasswordField: a password is typed into a field that hides it, or not at all.
func (w *mantisWorld) noPasswordField(t *testing.T) {
	w.site.Expire()
	w.site.ShowPasswords()
	_, err := w.Host.Login(t.Context(), "mantis", &host.FormLogin{Username: "ada", Password: "Secret-ada-1"})
	if !errors.Is(err, abi.ErrCapabilityDenied) {
		t.Errorf("%v, want %s", err, abi.ErrCapabilityDenied)
	}
	w.WantCode(abi.ErrAuthExpired, "mantis_get_bug", object{"id": 1})
}
