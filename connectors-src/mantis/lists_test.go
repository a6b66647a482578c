//go:build !wasip1

package main

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

// guarded puts a tool's lists and arguments into the guard that the host uses.
func guarded(t *testing.T, tool string, args any) *guard.Guard {
	t.Helper()
	c := sdktest.Manifest(t, "plugin.yaml", plugin()).Connectors[0]
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	all, err := origin.ParsePattern(base + "/*")
	if err != nil {
		t.Fatal(err)
	}
	spec := guard.Spec{Base: base, Origins: []origin.Pattern{all}, Args: raw}
	for _, r := range c.Resources {
		p, err := origin.ParsePattern(base + strings.TrimPrefix(r, "{base_url}"))
		if err != nil {
			t.Fatal(err)
		}
		spec.Resources = append(spec.Resources, p)
	}
	found := false
	for _, d := range c.Tools {
		if d.Name == tool {
			found, spec.Reads, spec.Writes = true, d.Reads, d.Writes
		}
	}
	if !found {
		t.Fatalf("no tool %q", tool)
	}
	g, err := guard.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func document(path string) guard.Observed {
	return guard.Observed{Method: "GET", URL: base + path, BodyComplete: true, Kind: guard.KindDocument}
}

func filterPath(t *testing.T, in searchInput) string {
	t.Helper()
	path, err := in.path()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// everyArg is for tools of which each takes its own.
func everyArg() map[string]any {
	return map[string]any{
		"id": 11, "text": "x", "handler_id": 3, "status_id": 80, "resolution_id": 20, "project_id": 2, "category_id": 1, "summary": "S", "description": "D",
	}
}

func toolNames() []string {
	return []string{"list_my_bugs", "search_bugs", "get_bug", "list_projects", "add_comment", "create_bug", "set_status", "assign"}
}

// TestEveryPathIsListed holds what the code asks for against plugin.yaml.
func TestEveryPathIsListed(t *testing.T) {
	mine := searchInput{Handler: "me"}
	for tool, paths := range map[string][]string{
		"list_my_bugs": {
			filterPath(t, searchInput{Handler: "me", Status: "open"}), filterPath(t, mine), filterPath(t, searchInput{Handler: "me", Status: "resolved"}),
			"/view_all_bug_page.php?filter=6b0d83ae7e254", pagePath("6b0d83ae7e254", 10),
		},
		"search_bugs": {
			filterPath(t, searchInput{}), filterPath(t, searchInput{Text: `a & "b" % ü`, Status: "closed", Handler: "5", Reporter: "me", ProjectID: 4, Order: "oldest"}),
			filterPath(t, searchInput{Order: "updated"}), pagePath("6b0d83ae7e254", 2),
		},
		"get_bug":       {bugPath(11)},
		"list_projects": {"/login_select_proj_page.php?ref=bug_report_page.php", "/bug_report_page.php?project_id=2"},
		"create_bug":    {"/bug_report_page.php?project_id=2", "/login_select_proj_page.php?ref=bug_report_page.php", "/view.php?id=77"},
		"add_comment":   {bugPath(11)}, "set_status": {bugPath(11)}, "assign": {bugPath(11)},
	} {
		g := guarded(t, tool, everyArg())
		for _, p := range paths {
			if err := g.Decide(document(p)); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
}

// TestNothingElseIsListed has what changes something by a link, and what reads
// past the arguments.
func TestNothingElseIsListed(t *testing.T) {
	filter := filterPath(t, searchInput{Handler: "me"})
	paths := []string{
		"/tag_detach.php?bug_id=11&tag_id=6&tag_detach_token=20261130zGjjaifZEGFbhjm_YyGYvaFqLPMVFPHv", "/bug_file_delete.php?file_id=2&bug_file_delete_token=20261130zGjjaifZEGFb",
		"/logout_page.php", "/set_project.php?project_id=2", "/view_all_set.php", "/view_all_set.php?type=0", "/view_all_set.php?type=2&sort_add=priority&dir_add=ASC",
		strings.Replace(filter, "temporary=y", "temporary=n", 1), strings.Replace(filter, "temporary=y&", "", 1), strings.Replace(filter, "new=true&", "", 1),
		filter + "&temporary=n", filter + "&set_project_id=0", filter + "&print=1", filter + ";temporary=n", strings.Replace(filter, "type=1", "type=3", 1),
		"/view_all_bug_page.php", "/view_all_bug_page.php?refresh=true", "/view_all_bug_page.php?filter=6b0d&set_project_id=1",
		"/permalink_page.php?filter=6b0d83ae7e254&permalink_token=20261130TwBUfPnDcW1lKV4Ry4xtm7FIZ8jmjFBj", "/query_store_page.php?filter=6b0d83ae7e254",
		"/view.php", "/view.php?id=12&x=1", "/view.php?id=11&id=12", "/view.php?id=11%3Bx=1", "/view.php?id=11&bugnote_view=1", "/bug_update_page.php?bug_id=11",
		"/bugnote_add.php?bug_id=11&bugnote_text=x", "/bug_update.php?bug_id=11&status=90", "/bug_report.php?summary=x", "/bug_change_status_page.php?id=11&new_status=90",
		"/api/rest/issues/11", "/api/soap/mantisconnect.php", "/file_download.php?file_id=1&type=bug", "/issues_rss.php?key=x", "/csv_export.php", "/plugin.php?page=x",
		"/login.php?username=a&password=b", "/account_page.php", "/manage_user_page.php", "/css/../bug_update.php", "//view.php?id=11", "/view.php/x?id=11", "/",
	}
	for _, tool := range toolNames() {
		g := guarded(t, tool, everyArg())
		for _, p := range paths {
			if g.Decide(document(p)) == nil {
				t.Errorf("%s lets %s through", tool, p)
			}
			asImage := document(p)
			asImage.Kind = guard.KindImage
			if g.Decide(asImage) == nil {
				t.Errorf("%s lets %s through as a picture", tool, p)
			}
		}
	}
}

// post is a form as a page sends it, with the tokens of a page.
func post(path string, fields ...string) guard.Observed {
	pairs := make([]string, len(fields))
	for i, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		pairs[i] = url.QueryEscape(name) + "=" + url.QueryEscape(value)
	}
	return guard.Observed{
		Method: "POST", URL: base + path, BodyComplete: true, Kind: guard.KindDocument, ContentType: "application/x-www-form-urlencoded",
		Body: []byte(strings.Join(pairs, "&")), Tokens: func(v string) bool { return strings.HasPrefix(v, "20261130") || v == "1768405140" },
	}
}

func statusFields(changes ...string) []string {
	return replaced([]string{
		"bug_id=11", "status=80", "last_updated=1768405140", "bug_update_token=20261130abc", "resolution=20", "duplicate_id=", "handler_id=3",
		"fixed_in_version=", "bugnote_text=", "action_type=change_status",
	}, changes)
}

func assignFields(changes ...string) []string {
	return replaced([]string{"bug_update_token=20261130abc", "last_updated=1768405140", "action_type=assign", "handler_id=3", "bug_id=11"}, changes)
}

// replaced changes a field of the same name, or adds it.
func replaced(fields, changes []string) []string {
	for _, c := range changes {
		name, _, _ := strings.Cut(c, "=")
		found := false
		for i, f := range fields {
			if strings.HasPrefix(f, name+"=") {
				fields[i], found = c, true
			}
		}
		if !found {
			fields = append(fields, c)
		}
	}
	return fields
}

// TestApprovedForms has the forms that an approval is for, and those with another
// value in one of their fields, or one field more.
func TestApprovedForms(t *testing.T) {
	for _, tt := range []struct {
		tool    string
		fields  func(...string) []string
		changes []string
	}{
		{"set_status", statusFields, []string{
			"bug_id=12", "status=90", "resolution=90", "duplicate_id=7", "bugnote_text=x", "action_type=close", "bug_update_token=made-up", "last_updated=1",
			"private=on", "handler_id=x", "summary=x", "time_tracking=1:00",
		}},
		{"assign", assignFields, []string{"bug_id=12", "handler_id=4", "action_type=change_status", "bug_update_token=made-up", "status=90", "bugnote_text=x"}},
	} {
		if err := guarded(t, tt.tool, everyArg()).Decide(post("/bug_update.php", tt.fields()...)); err != nil {
			t.Errorf("%s: %v", tt.tool, err)
		}
		for _, c := range tt.changes {
			if guarded(t, tt.tool, everyArg()).Decide(post("/bug_update.php", tt.fields(c)...)) == nil {
				t.Errorf("%s lets %s through", tt.tool, c)
			}
		}
		if guarded(t, tt.tool, everyArg()).Decide(post("/bug_update.php?status=90", tt.fields()...)) == nil {
			t.Errorf("%s lets a query through", tt.tool)
		}
	}
	g := guarded(t, "assign", everyArg())
	if err := g.Decide(post("/bug_update.php", assignFields()...)); err != nil {
		t.Fatal(err)
	}
	if g.Decide(post("/bug_update.php", assignFields()...)) == nil {
		t.Error("it goes out twice")
	}
}

// TestResources are what a page of MantisBT loads.
func TestResources(t *testing.T) {
	g := guarded(t, "get_bug", everyArg())
	for path, kind := range map[string]guard.Kind{
		"/css/default.css?cache_key=0cb6": guard.KindStylesheet, "/css/status_config.php?cache_key=e26e": guard.KindStylesheet, "/images/favicon.ico": guard.KindImage,
		"/javascript_config.php?cache_key=e26e": guard.KindScript, "/js/common.js": guard.KindScript, "/fonts/fontawesome-webfont.woff2?v=4.6.3": guard.KindFont,
	} {
		o := document(path)
		o.Kind = kind
		if err := g.Decide(o); err != nil {
			t.Error(err)
		}
	}
}
