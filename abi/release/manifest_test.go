package release_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// Each case changes one thing in testdata/plugin.yaml and names what has to be
// said about it.
func TestParseManifestRefuses(t *testing.T) {
	const hostile = "\u202e"
	tests := []struct {
		name, old, changed string
		want               string
	}{
		// YAML that has no single meaning in JSON.
		{"alias", `maintainers: [`, `maintainers: [*x, `, "unknown anchor"},
		{"anchor", `title: Helpdesk`, `title: &x Helpdesk`, "line 5: $.title: anchor \"x\""},
		{"anchor and alias", `license: Apache-2.0 OR MIT`, "license: &l MIT\nhomepage: *l", "anchor"},
		{"merge key", `    account: {`, "    account: {<<: {a: b}, ", "key \"<<\" is not a plain string"},
		{"tag", `title: Helpdesk`, `title: !!str Helpdesk`, "tags are not accepted"},
		{"local tag", `title: Helpdesk`, `title: !x Helpdesk`, "tags are not accepted"},
		{"key twice", `title: Helpdesk`, "title: Helpdesk\ntitle: Helpdesk", `key "title" stands there twice`},
		{"number as key", `      idempotent: true`, "      1: true", "is not a plain string"},
		{"list as key", `title: Helpdesk`, "? [a]\n: b\ntitle: Helpdesk", "is not a plain string"},
		{"null", `title: Helpdesk`, `title:`, "line 5: $.title: no value"},
		{"tilde", `title: Helpdesk`, `title: ~`, "$.title: no value"},
		{"version as number", `version: 1.4.0-beta.2`, `version: 1.4`, "line 3: $.version"},
		{"octal", `timeout_sec: 90`, `timeout_sec: 0o17`, "is a number in YAML and not in JSON"},
		{"hexadecimal", `timeout_sec: 90`, `timeout_sec: 0x5a`, "is a number in YAML and not in JSON"},
		{"underscore", `timeout_sec: 90`, `timeout_sec: 9_0`, "is a number in YAML and not in JSON"},
		{"infinity", `maximum: 500`, `maximum: .inf`, "is a number in YAML and not in JSON"},
		{"date", `license: Apache-2.0 OR MIT`, `license: 2026-01-01`, "!!timestamp; put it in quotes"},
		{"boolean spelled YES", `idempotent: true`, `idempotent: yes`, "idempotent"},
		{"boolean spelled True", `idempotent: true`, `idempotent: True`, "write true or false"},
		{"two documents", `name: helpdesk-suite`, "a: b\n---\nname: helpdesk-suite", "more than one document"},
		{"list at top", `name: helpdesk-suite`, "- x\n...\n", ""},
		{"unknown key", `title: Helpdesk`, "tittle: x\ntitle: Helpdesk", "line 5: $"},
		{"folded key", `title: Helpdesk`, "Title: x\ntitle: Helpdesk", "$"},

		// The plugin.
		{"upper-case name", `name: helpdesk-suite`, `name: Helpdesk`, "$.name"},
		{"long name", `name: helpdesk-suite`, `name: a` + strings.Repeat("b", 41), "$.name"},
		{"name with a path", `name: helpdesk-suite`, `name: ../x`, "$.name"},
		{"leading v", `version: 1.4.0-beta.2`, `version: v1.4.0`, "$.version"},
		{"leading zero", `version: 1.4.0-beta.2`, `version: 1.04.0`, "$.version"},
		{"category", `category: connector`, `category: plugin`, "$.category"},
		{"connectors in a node", `category: connector`, `category: pipeline-node`, "$.connectors: only a plugin"},
		{"homepage by http", `homepage: https:`, `homepage: http:`, "$.homepage"},
		{"homepage runs a script", `homepage: https://helpdesk.example/connectors`, `homepage: "javascript:alert(1)"`, "$.homepage"},
		{"commit is a branch", `commit: 0123456789abcdef0123456789abcdef01234567`, `commit: main`, "$.source.commit"},
		{"repository with a password", `repo: https://git`, `repo: https://a:b@git`, "$.source.repo"},

		// Text that reaches people and models.
		{"direction override", `title: Helpdesk`, `title: "Help` + hostile + `desk"`, "$.title"},
		{"zero width", `description: Lists tickets`, `description: Lists` + "\u200b" + ` tickets`, "U+200B"},
		{"tag characters", `description: Lists tickets`, `description: Lists` + "\U000e0041" + ` tickets`, "U+E0041"},
		{"variation selectors", `description: Lists tickets`, `description: Lists` + "\U000e0101" + ` tickets`, "U+E0101"},
		{"blank letter", `description: Lists tickets`, `description: Lists` + "\u3164" + ` tickets`, "U+3164"},
		{"soft hyphen", `description: Lists tickets`, `description: Lists` + "\u00ad" + ` tickets`, "U+00AD"},
		{"private use", `description: Lists tickets`, `description: Lists` + "\ue000" + ` tickets`, "U+E000"},
		{"instruction as a tag", `description: Lists tickets`, `description: <IMPORTANT> Lists tickets`, `markup at "<I"`},
		{"comment", `description: Lists tickets`, `description: <!-- x --> Lists tickets`, "markup"},
		{"entity", `description: Lists tickets`, `description: "&lt;IMPORTANT" #`, "markup"},
		{"image", `description: Lists tickets`, `description: "![x](https://evil.example)" #`, "markup"},
		{"long description", `description: Lists tickets`, `description: ` + strings.Repeat("long ", 210), "longer than 1024 bytes"},
		{"hidden in a schema", `description: Name of the queue`, `description: Name` + "\u2060", "input.properties.queue.description"},
		{"instruction in an enum", `enum: [open, closed]`, `enum: [open, "<IMPORTANT>"]`, "input.properties.state.enum[1]"},
		{"instruction as a property", `queue: {type: string,`, "\"<SYSTEM>\": {type: string}\n            queue: {type: string,", "the key"},
		{"two lines of title", `title: List tickets`, `title: "List\ntickets"`, "more than one line"},

		// The connector.
		{"id with underscore", `id: helpdesk`, `id: help_desk`, "$.connectors[0].id"},
		{"setting twice", `{name: team,`, `{name: closed,`, "$.connectors[0].settings[4].name"},
		{"secret setting", `type: boolean`, `type: secret`, "settings[3].type"},
		{"default of another type", `default: "50"`, `default: "fifty"`, "settings[2].default"},
		{"default is no URL", `default: "https://cdn.example"`, `default: "ftp://cdn.example"`, "settings[1].default"},
		{"base URL of an unknown setting", `base_url: "{base_url}"`, `base_url: "{url}"`, "$.connectors[0].base_url: no setting is called {url}"},
		{"base URL of another type", `base_url: "{base_url}"`, `base_url: "{team}"`, "{team} is not of type url"},
		{"base URL outside origins", `base_url: "{base_url}"`, `base_url: "https://elsewhere.example"`, "not covered by origins"},
		{"base URL with a query", `base_url: "{base_url}"`, `base_url: "https://a.helpdesk.example/?x"`, "$.connectors[0].base_url"},
		{"no origins", `origins: ["{base_url}/*", "https://*.helpdesk.example/*"]`, `origins: []`, "$.connectors[0].origins: missing"},
		{"all origins", `"https://*.helpdesk.example/*"`, `"*://*/*"`, "$.connectors[0].origins[1]"},
		{"all hosts", `"https://*.helpdesk.example/*"`, `"https://*/*"`, "$.connectors[0].origins[1]"},
		{"file origin", `"https://*.helpdesk.example/*"`, `"file:///*"`, "$.connectors[0].origins[1]"},
		{"user in an origin", `"https://*.helpdesk.example/*"`, `"https://a@evil.example/*"`, "$.connectors[0].origins[1]"},
		{"star inside a label", `"https://*.helpdesk.example/*"`, `"https://a*.helpdesk.example/*"`, "$.connectors[0].origins[1]"},
		{"resource without a path", `"{cdn_url}/static/*"`, `"{cdn_url}"`, "resources[0]"},
		{"resource of another type", `"{cdn_url}/static/*"`, `"{team}/static/*"`, "{team} is not of type url"},
		{"login path", `path: /login` + "\n", `path: https://id.example/login` + "\n", "login.path"},
		{"login origin with a path", `["https://id.example", "{cdn_url}"]`, `["https://id.example/x"]`, "login.origins[0]"},
		{"callback method", `{method: POST, path: /login/callback}`, `{method: PUT, path: /login/callback}`, "callback.method"},
		{"callback without provider", `      origins: ["https://id.example", "{cdn_url}"]` + "\n", "", "login.callback"},
		{"empty selector", `password: "#password"`, `password: " "`, "login.form.password"},
		{"empty selector of the button between", `password: "#password"`, `password: "#password", next: " "`, "login.form.next"},
		{"no signed-in condition", "        - {selector: \"nav .account\", absent: \".banner-signed-out\"}\n", "        []\n", "pages.signed_in: missing"},
		{"empty condition", `{status: 404}`, `{}`, "pages.missing[0]"},
		{"impossible status", `{status: 404}`, `{status: 4040}`, "pages.missing[0].status"},
		{"event handler as attribute", `attr: data-login`, `attr: "a b"`, "account.attr"},
		{"health path", `path: /dashboard`, `path: //evil.example/`, "health.path"},
		{"health path climbs", `path: /dashboard`, `path: /a/%2e./b`, "health.path"},
		{"tab", `tab: own`, `tab: any`, ".tab"},
		{"activation", `activation: when-open`, `activation: never`, ".activation"},

		// Its tools.
		{"tool name", `name: list_tickets`, `name: list-tickets`, "tools[0].name"},
		{"two underscores", `name: list_tickets`, `name: list__tickets`, "tools[0].name"},
		{"tool twice", "name: close\n", "name: answer\n", "tools[2].name"},
		{"long tool name", "name: close\n", `name: ` + strings.Repeat("a", 38) + "\n", "longer than 46 bytes"},
		{"no description", `description: Closes a ticket.`, `description: ""`, "tools[2].description: missing"},
		{"timeout", `timeout_sec: 90`, `timeout_sec: 121`, "tools[0].timeout_sec"},
		{"small result", `timeout_sec: 90`, `max_result: 39999`, "tools[0].max_result"},
		{"large result", `timeout_sec: 90`, `max_result: 500001`, "tools[0].max_result"},
		{"unknown capability", `[read, progress]`, `[read, eval]`, "tools[0].capabilities[1]"},
		{"capability twice", `[read, progress]`, `[read, read]`, "tools[0].capabilities[1]"},
		{"reads and no way to read", `[read, progress]`, `[progress]`, "tools[0].capabilities"},
		{"screenshot and nowhere to show it", `[read, progress]`, `[read, screenshot]`, "tools[0].output"},
		{"writes and no way to write", `capabilities: [fetch, act, read]`, `capabilities: [read]`, "tools[1].capabilities"},
		{"writes of a reading tool", `destructive: true`, `destructive: false`, "tools[1].writes: a tool with writes is destructive"},
		{"destructive without writes", `destructive: false`, `destructive: true`, "tools[0].writes: missing"},
		{"destructive by default", "        destructive: false\n", "", "tools[0].writes: missing"},

		// Where arguments take their values from.
		{"values of an unknown argument", `[{arg: id, from`, `[{arg: ticket, from`, `no property "ticket"`},
		{"values twice", `values: [{`, `values: [{arg: id, from: {tool: my_tickets, column: tickets.id}}, {`, "tools[2].values[1].arg"},
		{"values of an unknown tool", `{tool: my_tickets, column: tickets.id}}]`, `{tool: nosuch, column: tickets.id}}]`, `no tool "nosuch"`},
		{"values of a tool that writes", `{tool: my_tickets, column: tickets.id}}]`, `{tool: answer, column: tickets.id}}]`, "changes data"},
		{"values of a tool with arguments", `{tool: my_tickets, column: tickets.id}}]`, `{tool: list_tickets, column: tickets.id}}]`, "needs arguments"},
		{"values of no list", `{tool: my_tickets, column: tickets.id}}]`, `{tool: my_tickets, column: total.id}}]`, "no list of that name"},
		{"values of no field", `{tool: my_tickets, column: tickets.id}}]`, `{tool: my_tickets, column: tickets.nosuch}}]`, "no plain value"},
		{"values of lists", `{tool: my_tickets, column: tickets.id}}]`, `{tool: my_tickets, column: tickets.tags}}]`, "no plain value"},
		{"column without a field", `{tool: my_tickets, column: tickets.id}}]`, `{tool: my_tickets, column: tickets}}]`, "not of the form"},
		{"column with a path", `{tool: my_tickets, column: tickets.id}}]`, `{tool: my_tickets, column: tickets.id.x}}]`, "not of the form"},

		// Its prompts.
		{"prompt named as a tool", `name: triage`, `name: answer`, "prompts[0].name"},
		{"prompt name", `name: triage`, `name: Triage`, "prompts[0].name"},
		{"long prompt name", `name: triage`, `name: ` + strings.Repeat("a", 38), "longer than 46 bytes"},
		{"instruction in a prompt", `Read ticket {id} and`, `<SYSTEM> Read ticket {id} and`, "prompts[0].text: holds markup"},
		{"hidden in a prompt", `Read ticket {id} and`, `Read` + "\u200b" + ` ticket {id} and`, "prompts[0].text: holds the character U+200B"},
		{"long prompt", `Read ticket {id} and`, strings.Repeat("Read {id} ", 420), "prompts[0].text: longer than 4096 bytes"},
		{"unknown placeholder", `Propose a {tone}`, `Propose a {mood}`, "no argument is called {mood}"},
		{"argument that is not used", `Propose a {tone}`, `Propose an`, "the text has no {tone}"},
		{"open brace in a prompt", `Propose a {tone}`, `Propose a {tone`, "is not a name"},
		{"closed brace in a prompt", `Propose a {tone}`, `Propose a tone}`, "a brace is not opened"},
		{"spaces in braces", `Propose a {tone}`, `Propose a { tone }`, "is not a name"},
		{"argument twice", `{name: tone,`, `{name: id,`, "arguments[1].name"},
		{"argument name", `{name: tone,`, `{name: "to ne",`, "arguments[1].name"},
		{"value twice", `one_of: [short, friendly]`, `one_of: [short, short]`, "one_of[1]"},
		{"hidden in a value", `one_of: [short, friendly]`, `one_of: [short, "a\u202eb"]`, "one_of[1]"},
		{"value of two lines", `one_of: [short, friendly]`, `one_of: [short, "a\nb"]`, "more than one line"},
		{"one_of and from", `one_of: [short, friendly]`, `one_of: [short], from: {tool: my_tickets, column: tickets.id}`, "not both"},
		{"prompt's values of a tool that writes", `{tool: my_tickets, column: tickets.id}}` + "\n          -", `{tool: close, column: tickets.id}}` + "\n          -", "changes data"},

		// Their requests.
		{"lower-case method", `- method: GET`, `- method: get`, "reads[0].method"},
		{"method unknown", `method: DELETE`, `method: PURGE`, "writes[0].method"},
		{"reads by DELETE", "- method: POST\n            path: /api/search", "- method: DELETE\n            path: /api/search", "reads[1].method"},
		{"origin not granted", `origin: "https://api.helpdesk.example"`, `origin: "https://api.evil.example"`, "reads[1].origin"},
		{"origin of a setting not granted", `origin: "{base_url}"`, `origin: "{cdn_url}"`, "writes[0].origin"},
		{"star in a path", `path: /tickets` + "\n", `path: /tickets/*` + "\n", "reads[0].path"},
		{"encoded separator", `path: /tickets` + "\n", `path: /tickets%2fx` + "\n", "reads[0].path"},
		{"semicolon", `path: /tickets` + "\n", `path: /tickets;x` + "\n", "reads[0].path"},
		{"query in a path", `path: /tickets` + "\n", `path: /tickets?x` + "\n", "reads[0].path"},
		{"dot segment", `path: /tickets` + "\n", `path: /a/../tickets` + "\n", "reads[0].path"},
		{"parameter not given", `params: [{name: id, arg: id}], origin`, `origin`, "writes[0].params: missing: {id}"},
		{"parameter not in the path", `"/api/tickets/{id}"`, `"/api/tickets"`, "the path has no {id}"},
		{"parameter twice in a path", `"/api/tickets/{id}"`, `"/api/{id}/{id}"`, "stands there twice"},
		{"open brace", `"/api/tickets/{id}"`, `"/api/tickets/{id"`, "a brace is not closed"},
		{"adjacent parameters", `"/api/tickets/{id}"`, `"/api/{a}{id}"`, "nothing between"},
		{"argument unknown", `{name: queue, arg: queue,`, `{name: queue, arg: ticket,`, `no property "ticket"`},
		{"argument in a name unknown", `"{id}-body"`, `"{ticket}-body"`, `no property "ticket"`},
		{"argument is an object", `id: {type: integer}}, required`, `id: {type: object}}, required`, "has to be of type string"},
		{"argument of any type", `id: {type: integer}}, required`, `id: {}}, required`, "has to be of type string"},
		{"two kinds", `{name: draft, empty: true}`, `{name: draft, empty: true, const: x}`, "exactly one of"},
		{"no kind", `{name: draft, empty: true}`, `{name: draft}`, "exactly one of"},
		{"kind switched off", `{name: draft, empty: true}`, `{name: draft, empty: false}`, "exactly one of"},
		{"any number, required", `{name: draft, empty: true}`, `{name: "draft{#}", empty: true}`, "a field with {#} is optional"},
		{"any number, any value", `{name: draft, empty: true}`, `{name: "draft{#}", any: int, optional: true}`, "either const or empty"},
		{"any number, the argument", `{name: draft, empty: true}`, `{name: "draft{#}", arg: id, optional: true}`, "either const or empty"},
		{"any number twice", `{name: draft, empty: true}`, `{name: "draft{#}-{#}", empty: true, optional: true}`, "not a name"},
		{"any number beside an argument", `{name: draft, empty: true}`, `{name: "draft{id}{#}", empty: true, optional: true}`, "nothing between"},
		{"any number in a query", `{name: state, arg: state, optional: true}`, `{name: "state{#}", const: x, optional: true}`, "of a field only"},
		{"any number in a path", `"/api/tickets/{id}"`, `"/api/tickets/{#}"`, "{#} is not a name"},
		{"field twice", `{name: draft, empty: true}`, `{name: csrf, empty: true}`, "fields[2].name"},
		{"transform unknown", `transform: html`, `transform: upper`, "fields[1].transform"},
		{"transform of a constant", `const: "1", optional`, `const: "1", transform: html, optional`, "only an argument"},
		{"type unknown", `any: int,`, `any: date,`, ".any"},
		{"negative length", `max_len: 4,`, `max_len: -4,`, "max_len"},
		{"token in a path", `params: [{name: id, arg: id}], origin`, `params: [{name: id, token: true}], origin`, "neither token, empty nor optional"},
		{"any text in a written path", `params: [{name: id, arg: id}], origin`, `params: [{name: id, any: text}], origin`, "too wide"},
		{"constant climbs", `params: [{name: id, arg: id}], origin`, `params: [{name: id, const: ..}], origin`, "not a path segment"},
		{"fields without encoding", "            encoding: multipart\n", "", "writes[0].encoding"},
		{"encoding unknown", `encoding: multipart`, `encoding: text`, "writes[0].encoding"},
		{"body of GET", "- method: POST\n            path: /api/search", "- method: GET\n            path: /api/search", "a GET request has no body"},
		{"reads counted", "path: /tickets\n", "path: /tickets\n            max: 3\n", "reads[0].max"},
		{"writes without end", `max: 2`, `max: 1000`, "writes[0].max"},
		{"dialog unknown", `dialog: accept`, `dialog: ok`, "writes[0].dialog"},
		{"dialog of a read", "path: /tickets\n", "path: /tickets\n            dialog: accept\n", "reads[0].dialog"},
	}
	valid := string(read(t, "plugin.yaml"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(valid, tt.old, tt.changed, 1)
			if text == valid {
				t.Fatal("the test changes nothing")
			}
			_, err := release.ParseManifest([]byte(text))
			if !errors.Is(err, abi.ErrInvalidArgs) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is\n%v\nwant %q", err, tt.want)
			}
		})
	}
}

func TestParseManifestLimits(t *testing.T) {
	tests := map[string]string{
		"too large":       strings.Repeat("# comment\n", abi.MaxMetadata/10+1),
		"empty":           "",
		"comment only":    "# nothing\n",
		"too deep":        "name: " + strings.Repeat("[", 100) + strings.Repeat("]", 100),
		"very deep":       "name: " + strings.Repeat("[", 200_000),
		"deep by indent":  strings.Repeat("- ", 20_000) + "x",
		"not UTF-8":       "name: \xff\xfe",
		"NUL":             "name: a\x00b",
		"aliases growing": "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
		"alias to itself": "a: &a [*a]\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := release.ParseManifest([]byte(text)); !errors.Is(err, abi.ErrInvalidArgs) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// One look names every problem, each with its line.
func TestParseManifestNamesAllProblems(t *testing.T) {
	text := strings.NewReplacer("name: close\n", "name: Close\n", "id: helpdesk", "id: h_d", "max: 2", "max: -1").Replace(string(read(t, "plugin.yaml")))
	_, err := release.ParseManifest([]byte(text))
	problems, ok := errors.AsType[release.Problems](err)
	if !ok || len(problems) != 3 {
		t.Fatalf("error is %v, want three problems", err)
	}
	lines := strings.Split(text, "\n")
	for i, want := range []string{"id: h_d", "max: -1", "name: Close"} {
		if line := problems[i].Line; line < 1 || !strings.Contains(lines[line-1], want) {
			t.Errorf("%v: line %d does not hold %q", problems[i], line, want)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	text := strings.Replace(string(read(t, "plugin.yaml")), "maintainers: [", "maintainers: ["+strings.Repeat("\"\", ", 1000), 1)
	_, err := release.ParseManifest([]byte(text))
	if problems, ok := errors.AsType[release.Problems](err); !ok || len(problems) > 50 {
		t.Errorf("%d problems", len(problems))
	}
}
