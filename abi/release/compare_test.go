package release_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

func TestCompare(t *testing.T) {
	if c := release.Compare(build(t), build(t), nil); len(c) != 0 {
		t.Errorf("the same release differs: %+v", c)
	}
	before := build(t)
	no, yes := false, true
	for name, c := range map[string]struct {
		edit func(r *abi.Release, c *abi.Connector)
		kind release.ChangeKind // of the change that holds says; empty: nothing changed
		says string
		asks bool
	}{
		"version and source":       {func(r *abi.Release, _ *abi.Connector) { r.Version, r.Source.Commit = "9.9.9", strings.Repeat("a", 40) }, "", "", false},
		"the plugin's title":       {func(r *abi.Release, _ *abi.Connector) { r.Title = "Other" }, release.Told, `now "Other"`, true},
		"the plugin's description": {func(r *abi.Release, _ *abi.Connector) { r.Description = "Send everything." }, release.Told, `now "Send everything."`, true},
		"category":                 {func(r *abi.Release, _ *abi.Connector) { r.Category = abi.CategoryTool }, release.Wider, "category tool", true},
		"a connector more": {func(r *abi.Release, c *abi.Connector) {
			n := *c
			n.ID = "second"
			r.Connectors = append(r.Connectors, n)
		}, release.Wider, "second: new: works as you", true},
		"a connector less": {func(r *abi.Release, _ *abi.Connector) { r.Connectors = nil }, release.Narrower, "is gone, with all its tools", false},
		"an origin": {func(_ *abi.Release, c *abi.Connector) {
			c.Origins = append(slices.Clone(c.Origins), "https://evil.example/*")
		}, release.Wider, "pages of https://evil.example/*", true},
		"an origin for another": {func(_ *abi.Release, c *abi.Connector) { c.Origins = []string{"https://evil.example/*"} }, release.Wider, "https://evil.example", true},
		"origins of a path":     {func(_ *abi.Release, c *abi.Connector) { c.Origins = []string{"{base_url}/app/*"} }, release.Narrower, "no longer: may open", false},
		"the base":              {func(_ *abi.Release, c *abi.Connector) { c.BaseURL = "https://evil.example" }, release.Wider, "works on https://evil.example", true},
		"no resources":          {func(_ *abi.Release, c *abi.Connector) { c.Resources = nil }, release.Narrower, "no longer: pages may load", false},
		"resources of all":      {func(_ *abi.Release, c *abi.Connector) { c.Resources = []string{"{cdn_url}/*"} }, release.Wider, "pages may load files from {cdn_url}/*", true},
		"a setting": {func(_ *abi.Release, c *abi.Connector) {
			c.Settings = append(slices.Clone(c.Settings), abi.Setting{Name: "new", Type: abi.SettingURL, Default: "https://evil.example"})
		}, release.Wider, "evil.example", true},
		"a setting's default": {func(_ *abi.Release, c *abi.Connector) {
			c.Settings = slices.Clone(c.Settings)
			c.Settings[0].Default = "https://evil.example"
		}, release.Told, "evil.example", true},
		"an identity provider": {func(_ *abi.Release, c *abi.Connector) {
			l := *c.Login
			l.Origins = append(slices.Clone(l.Origins), "https://evil.example")
			c.Login = &l
		}, release.Wider, "pass through https://evil.example", true},
		"no identity provider":  {func(_ *abi.Release, c *abi.Connector) { l := *c.Login; l.Origins = nil; c.Login = &l }, release.Narrower, "no longer: signing in may pass", false},
		"the sign-in page":      {func(_ *abi.Release, c *abi.Connector) { l := *c.Login; l.Path = "/elsewhere"; c.Login = &l }, release.Wider, "you sign in at /elsewhere", true},
		"no sign-in page":       {func(_ *abi.Release, c *abi.Connector) { c.Login = nil }, release.Narrower, "sign-in page", false},
		"signed in otherwise":   {func(_ *abi.Release, c *abi.Connector) { c.Pages.SignedIn = []abi.Condition{{Selector: "body"}} }, release.Told, `it holds "body"`, true},
		"the account otherwise": {func(_ *abi.Release, c *abi.Connector) { c.Account = &abi.Account{Selector: ".nobody"} }, release.Told, ".nobody", true},
		"a health page":         {func(_ *abi.Release, c *abi.Connector) { c.Health = &abi.Health{Path: "/logout"} }, release.Wider, "/logout", true},
		"connector's text":      {func(_ *abi.Release, c *abi.Connector) { c.Description = "Send everything." }, release.Told, `"Send everything."`, true},
		"activation":            {func(_ *abi.Release, c *abi.Connector) { c.Activation = abi.ActivationAlways }, release.Told, "always", true},
		"a tool more": {func(_ *abi.Release, c *abi.Connector) {
			n := c.Tools[0]
			n.Name = "more"
			c.Tools = append(slices.Clone(c.Tools), n)
		}, release.Wider, "helpdesk_more: new tool: reads only", true},
		"a tool less":      {func(_ *abi.Release, c *abi.Connector) { c.Tools = c.Tools[1:] }, release.Narrower, "helpdesk_list_tickets: is gone", false},
		"a tool renamed":   {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Name = "list_all" }, release.Wider, "helpdesk_list_all: new tool", true},
		"asks no longer":   {func(_ *abi.Release, c *abi.Connector) { c.Tools[2].Destructive, c.Tools[2].Writes = &no, nil }, release.Wider, "no longer asks you", true},
		"asks from now on": {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Destructive = &yes }, release.Narrower, "now asks you", false},
		"a capability": {func(_ *abi.Release, c *abi.Connector) {
			c.Tools[0].Capabilities = append(slices.Clone(c.Tools[0].Capabilities), abi.CapScreenshot)
		}, release.Wider, "PICTURES", true},
		"a capability less": {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Capabilities = c.Tools[0].Capabilities[1:] }, release.Narrower, "no longer", false},
		"a read": {func(_ *abi.Release, c *abi.Connector) {
			c.Tools[0].Reads = append(slices.Clone(c.Tools[0].Reads), abi.Request{Method: "GET", Path: "/delete"})
		}, release.Wider, "may read by GET /delete", true},
		"a read less":        {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Reads = c.Tools[0].Reads[1:] }, release.Narrower, "no longer: may read", false},
		"written more often": {func(_ *abi.Release, c *abi.Connector) { c.Tools[1].Writes[0].Max = 9 }, release.Wider, "up to 9 times", true},
		"written less often": {func(_ *abi.Release, c *abi.Connector) { c.Tools[1].Writes[0].Max = 1 }, release.Narrower, "less often", false},
		"written twice": {func(_ *abi.Release, c *abi.Connector) {
			w := c.Tools[1].Writes
			c.Tools[1].Writes = append(slices.Clone(w), w[0])
		}, release.Wider, "may WRITE", true},
		"an argument unbound": {func(_ *abi.Release, c *abi.Connector) {
			c.Tools[1].Writes[0].Params = []abi.Param{{Name: "id", Any: abi.ValueInt}}
		}, release.Wider, "where id is any whole number", true},
		"a question accepted":  {func(_ *abi.Release, c *abi.Connector) { c.Tools[2].Writes[0].Dialog = abi.DialogAccept }, release.Wider, "answered with yes", true},
		"a tool's description": {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Description = "Send everything." }, release.Told, `now "Send everything.", and was "`, true},
		"a tool's title":       {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Title = "Other" }, release.Told, `now "Other"`, true},
		"a schema":             {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Input = json.RawMessage(`{"type":"object"}`) }, release.Told, `properties.limit.maximum is gone, and was 500`, true},
		"a hint":               {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].Idempotent = !c.Tools[0].Idempotent }, release.Told, "hints", true},
		"a longer time":        {func(_ *abi.Release, c *abi.Connector) { c.Tools[0].TimeoutSec = 119 }, release.Told, "119", true},
		"a prompt": {func(_ *abi.Release, c *abi.Connector) {
			c.Prompts = append(slices.Clone(c.Prompts), abi.Prompt{Name: "p", Text: "Send everything."})
		}, release.Wider, "Send everything.", true},
		"no prompts": {func(_ *abi.Release, c *abi.Connector) { c.Prompts = nil }, release.Narrower, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			after := build(t)
			c.edit(&after, &after.Connectors[0])
			got := release.Compare(before, after, nil)
			if release.Asks(got) != c.asks {
				t.Errorf("asks: %v, want %v: %+v", !c.asks, c.asks, got)
			}
			if (c.kind == "" || name == "no prompts") && c.says == "" {
				if c.kind == "" && len(got) > 0 {
					t.Errorf("changes %+v", got)
				}
				return
			}
			if !slices.ContainsFunc(got, func(ch release.Change) bool { return ch.Kind == c.kind && strings.Contains(ch.String(), c.says) }) {
				t.Errorf("no %s change says %q: %+v", c.kind, c.says, got)
			}
		})
	}
}

// Whatever changes in a release that the one list of changes doesn't know is a
// reason to ask: every member of a connector and of a tool is changed once.
func TestCompareMissesNothing(t *testing.T) {
	var doc map[string]any
	before := build(t)
	data, err := json.Marshal(before.Connectors[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	changed := 0
	var walk func(v any, path string)
	check := func(path string) {
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		after := before
		var con abi.Connector
		if json.Unmarshal(data, &con) != nil {
			return // the member has no such form
		}
		after.Connectors = []abi.Connector{con}
		changed++
		if got := release.Compare(before, after, nil); len(got) == 0 {
			t.Errorf("a change of %s is not seen", path)
		}
	}
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			for key, old := range v {
				if s, ok := old.(string); ok {
					v[key] = s + "x"
				} else if n, ok := old.(float64); ok {
					v[key] = n + 1
				} else if b, ok := old.(bool); ok {
					v[key] = !b
				} else {
					walk(old, path+"."+key)
					continue
				}
				check(path + "." + key)
				v[key] = old
			}
		case []any:
			for i, old := range v {
				if s, ok := old.(string); ok {
					v[i] = s + "x"
					check(path)
					v[i] = old
				} else {
					walk(old, path)
				}
			}
		}
	}
	walk(doc, "connector")
	if changed < 50 {
		t.Errorf("only %d members were changed", changed)
	}
}
