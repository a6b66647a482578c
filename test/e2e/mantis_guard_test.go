package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// readsOnly runs a module that does what it is told under the reads of every tool
// that reads. It has the bug's page with its tokens; nothing of what it then tries
// reaches the server.
func (w *mantisWorld) readsOnly(t *testing.T) {
	w.installMantisPuppet(t)
	before, refused := len(w.site.Taken()), len(w.site.Refused())
	attacks := mantisAttacks()
	names := slices.Sorted(maps.Keys(attacks))
	var calls []object
	for _, name := range names {
		calls = append(calls, object{"read": []abi.Step{{Op: abi.OpNavigate, Path: "/view.php?id=5"}}}, attacks[name])
	}
	out := harness.Result[struct{ Answers []struct{ Error any } }](w.World, "puppet_look", object{"id": 5, "tolerate": true, "calls": calls})
	if len(out.Answers) != len(calls) {
		t.Fatalf("%d answers to %d calls", len(out.Answers), len(calls))
	}
	for i, name := range names {
		if opened := out.Answers[2*i].Error; opened != nil {
			t.Errorf("%s: the bug's page: %v", name, opened)
		}
		if why := fmt.Sprint(out.Answers[2*i+1].Error); !strings.Contains(why, "is refused: ") {
			t.Errorf("%s: %s, want a refusal", name, why)
		}
	}
	if len(w.site.Taken()) != before || len(w.site.Refused()) != refused {
		t.Errorf("reached the server: %+v, %q", w.site.Taken()[before:], w.site.Refused()[refused:])
	}
}

func mantisAttacks() map[string]object {
	open := func(path string) object { return object{"read": []abi.Step{{Op: abi.OpNavigate, Path: path}}} }
	send := func(method, path string, body *abi.FetchBody) object {
		return object{"fetch": abi.FetchRequest{V: abi.Version, Method: method, Path: path, Body: body}}
	}
	form := func(enc abi.Encoding, fields ...abi.Field) *abi.FetchBody {
		return &abi.FetchBody{Encoding: enc, Fields: fields}
	}
	note := []abi.Field{
		{Name: "bugnote_add_token", Token: "#bugnoteadd input[name=bugnote_add_token]"},
		{Name: "bug_id", Value: "5"},
		{Name: "bugnote_text", Value: "x"},
		{Name: "max_file_size", Value: "5242880"},
	}
	click := func(selector string) object {
		return object{"act": []abi.Step{{Op: abi.OpClick, Selector: selector, Wait: "#never"}}}
	}
	return map[string]object{
		"a note":                    send("POST", "/bugnote_add.php", form(abi.EncodingMultipart, note...)),
		"a note by REST":            send("POST", "/api/rest/issues/5/notes", &abi.FetchBody{Encoding: abi.EncodingJSON, JSON: json.RawMessage(`{"text":"x"}`)}),
		"deletion by REST":          send("DELETE", "/api/rest/issues/5", nil),
		"an upload of another form": send("POST", "/bug_file_add.php", form(abi.EncodingMultipart, note...)),
		"the form, clicked":         click("#bugnoteadd input[type=submit]"),
		"assignment, clicked":       click(`form[action="bug_update.php"] input[type=submit]`),
		"status, clicked":           click(`form[action="bug_change_status_page.php"]:has(select) input[type=submit]`),
		"a tag's link, clicked":     click(`a[href*="tag_detach.php"][href*="tag_id=0"]`),
		"a tag's address":           open("/tag_detach.php?bug_id=5&tag_id=0&tag_detach_token=20261130ABC"),
		"sign out":                  open("/logout_page.php"),
		"another project":           open("/set_project.php?project_id=2"),
		"the user's filter":         open("/view_all_set.php?type=1&temporary=n&new=true&view_type=advanced&project_id%5B%5D=0&hide_status=-2&per_page=50&sort=id&dir=DESC"),
		"a filter without a word":   open("/view_all_set.php?type=1&new=true&view_type=advanced&project_id%5B%5D=0&hide_status=-2&per_page=50&sort=id&dir=DESC"),
		"twice temporary":           open("/view_all_set.php?type=1&temporary=y&temporary=n&new=true&view_type=advanced&project_id%5B%5D=0&hide_status=-2&per_page=50&sort=id&dir=DESC"),
		"a reset filter":            open("/view_all_set.php?type=0"),
		"another bug":               open("/view.php?id=6"),
		"a file":                    open("/file_download.php?file_id=01&type=bug"),
	}
}

// installMantisPuppet signs the puppet with the connector's own lists.
func (w *mantisWorld) installMantisPuppet(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), mantisSource, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := release.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	m.Name, m.Title = "puppet", "Puppet"
	c := &m.Connectors[0]
	c.ID, c.Title = "puppet", "Puppet"
	var look, touch abi.Tool
	for _, tool := range c.Tools {
		if tool.IsDestructive() {
			touch.Reads, touch.Writes = tool.Reads, tool.Writes
		} else {
			look.Reads = append(look.Reads, tool.Reads...)
		}
	}
	c.Tools = []abi.Tool{mantisPuppetTool("look", false, look), mantisPuppetTool("touch", true, touch)}
	manifest, err := json.Marshal(m) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	w.install(manifest, harness.Module(t, "test/e2e/puppet"))
}

func mantisPuppetTool(name string, destructive bool, lists abi.Tool) abi.Tool {
	return abi.Tool{
		Name: name, Title: name, Description: "Does what it is told.", Destructive: &destructive, Reads: lists.Reads, Writes: lists.Writes,
		Capabilities: []abi.Capability{abi.CapAct, abi.CapFetch, abi.CapProgress, abi.CapRead, abi.CapScreenshot},
		Input: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"},"handler_id":{"type":"integer"},"project_id":{"type":"integer"},` +
			`"tolerate":{"type":"boolean"},"calls":{"type":"array","items":{"type":"object"}}},"additionalProperties":false}`),
		Output: json.RawMessage(`{"type":"object","properties":{"answers":{"type":"array"},"shot":{"type":"string","format":"image"}},"additionalProperties":false}`),
	}
}
