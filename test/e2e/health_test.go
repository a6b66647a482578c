package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/health"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

func suite(t *testing.T) *harness.World {
	t.Helper()
	w := harness.New(t, harness.Options{})
	w.Ready("connectors-src/tracker-suite")
	w.Login("trackerissues", "alice")
	return w
}

type none = map[string]any

func wantHealth(w *harness.World, issues, projects health.State) {
	w.T.Helper()
	for _, c := range w.Host.Health(w.T.Context()) {
		if c.Connector == "tracker" {
			continue
		}
		want := map[string]health.State{"trackerissues": issues, "trackerprojects": projects}[c.Connector]
		if c.State != want || (c.Error != nil) != (want == health.AuthExpired || want == health.Failing) {
			w.T.Errorf("%s is %s (%+v), want %s", c.Connector, c.State, c.Error, want)
		}
	}
}

// reached counts the requests for a path that the tracker has received.
func reached(w *harness.World, target string) int {
	n := 0
	for _, r := range w.Site.Requests() {
		if r.Target == target {
			n++
		}
	}
	return n
}

func TestExpiryPausesBothAndLoginResumesBoth(t *testing.T) {
	w := suite(t)
	harness.Result[none](w, "trackerissues_list", none{})
	harness.Result[none](w, "trackerprojects_list", none{})
	wantHealth(w, health.OK, health.OK)
	w.Site.Expire()
	w.WantCode(abi.ErrAuthExpired, "trackerissues_list", none{})
	wantHealth(w, health.AuthExpired, health.AuthExpired)
	seen, _ := w.Host.Connectors(t.Context(), someone("ann"))
	for _, c := range seen {
		if c.Health.Status != "auth_expired" || c.Health.Hint != "drawbridge login "+c.ID || c.Health.At.IsZero() {
			t.Errorf("clients see %s as %+v", c.ID, c.Health)
		}
	}

	// The other one's calls are answered by a look at its page, and not tried.
	if err := w.WantCode(abi.ErrAuthExpired, "trackerprojects_list", none{}); err.Hint != "drawbridge login trackerprojects" {
		t.Errorf("the hint is %q", err.Hint)
	}
	w.WantCode(abi.ErrAuthExpired, "trackerprojects_get", none{"name": "Web"})
	if n := reached(w, "/projects/Web"); n != 0 {
		t.Errorf("%d requests of a paused connector's call reached the tracker", n)
	}

	w.Login("trackerprojects", "alice")
	wantHealth(w, health.OK, health.OK)
	harness.Result[none](w, "trackerissues_list", none{})
	harness.Result[none](w, "trackerprojects_get", none{"name": "Web"})
}

func TestFailedCheckPausesOneOnly(t *testing.T) {
	w := suite(t)
	w.Site.ProjectsOff(true)
	if _, err := w.Host.CheckHealth(t.Context(), "trackerprojects"); !errors.Is(err, abi.ErrSelectorDrift) {
		t.Fatalf("the check says %v", err)
	}
	wantHealth(w, health.OK, health.Failing)
	harness.Result[none](w, "trackerissues_list", none{})
	if err := w.WantCode(abi.ErrSelectorDrift, "trackerprojects_list", none{}); err.Hint != "drawbridge check trackerprojects" {
		t.Errorf("the hint is %q", err.Hint)
	}
	w.Site.ProjectsOff(false)
	list, err := w.Host.CheckHealth(t.Context(), "")
	if err != nil || len(list) != 2 {
		t.Fatalf("the checks say %+v, %v", list, err)
	}
	wantHealth(w, health.OK, health.OK)
	harness.Result[none](w, "trackerprojects_list", none{})
}

// TestPausedDestructiveCallIsNotTried: nobody is asked, nothing is sent, and the
// login that follows does not make up for it.
func TestPausedDestructiveCallIsNotTried(t *testing.T) {
	w := tracker(t)
	before := len(comments(w, 12))
	w.Site.Expire()
	w.WantCode(abi.ErrAuthExpired, "tracker_list", none{})
	args := none{"id": 12, "body": "text"}
	w.WantCode(abi.ErrAuthExpired, "tracker_add_comment", args)
	if n := reached(w, "/issues/12"); n != 0 || len(w.Gate.Pending()) != 0 {
		t.Errorf("%d requests and %d questions for a paused call", n, len(w.Gate.Pending()))
	}
	w.Login("tracker", "alice")
	if n := len(comments(w, 12)); n != before {
		t.Errorf("%d comments were written by a call that was answered already", n-before)
	}
	if res := w.CallApproved("tracker_add_comment", args); res.Err != nil {
		t.Fatal(res.Err)
	}
	if n := len(comments(w, 12)); n != before+1 {
		t.Errorf("%d comments were written, want one", n-before)
	}
}

// TestLoginElsewhereResumes: the tracker knows the browser again by another plugin's
// login, and nobody has told the suite's connectors.
func TestLoginElsewhereResumes(t *testing.T) {
	w := suite(t)
	w.Ready("connectors-src/tracker")
	w.Site.Expire()
	w.WantCode(abi.ErrAuthExpired, "trackerissues_list", none{})
	w.Login("tracker", "alice")
	harness.Result[none](w, "trackerprojects_list", none{})
	harness.Result[none](w, "trackerissues_list", none{})
	wantHealth(w, health.OK, health.OK)
}

// TestOtherCategoriesAreInstalledAndNotRun: any kind can be installed, and only
// connectors have tools and health.
func TestOtherCategoriesAreInstalledAndNotRun(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	w.ReadyWith(tinyManifest("good"), tinyModule("good"))
	module := wasmtest.Guest(nil)
	module.Funcs[1].Body = [][]byte{wasmtest.Output(`{"v":1,"tools":[]}`), wasmtest.I32(0)}
	want := []string{"good connector: ready"}
	for _, category := range []abi.Category{abi.CategoryPipelineNode, abi.CategoryMCPServer, abi.CategoryTool, abi.CategoryOther} {
		name := "kind-" + string(category)
		text, err := json.Marshal(none{"name": name, "version": "1.0.0", "category": category, "title": "Some " + name, "description": "It is listed."})
		if err != nil {
			t.Fatal(err)
		}
		w.ReadyWith(text, module.Bytes())
		want = append(want, fmt.Sprintf("%s %s: "+host.StateListed, name, category))
	}
	list, err := w.Host.Plugins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		got = append(got, fmt.Sprintf("%s %s: %s", strings.TrimPrefix(p.Name, harness.Namespace+"/"), p.Category, p.State))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("plugins are %q, want %q", got, want)
	}
	if tools, known := w.Host.Tools(t.Context(), someone("ann")), w.Host.Health(t.Context()); len(tools) != 1 || len(known) != 1 {
		t.Errorf("tools are %+v and health is %+v, want those of the one connector", tools, known)
	}
}
