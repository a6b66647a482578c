package release_test

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// A person who is asked reads words, and every field that is another.
func TestCompareInPlainWords(t *testing.T) {
	was := abi.Release{Connectors: []abi.Connector{{
		ID: "tracker", BaseURL: "https://tracker.example",
		Settings: []abi.Setting{{Name: "team", Type: abi.SettingString, Title: "Team"}},
		Prompts:  []abi.Prompt{{Name: "day", Title: "My day", Description: "d", Text: "List {who}"}},
		Tools: []abi.Tool{{Name: "list", Input: []byte(
			`{"type":"object","properties":{"n":{"type":"integer","maximum":5},"old":{"type":"boolean"}},"required":["n"]}`)}},
	}}}
	is := abi.Release{Connectors: []abi.Connector{{
		ID: "tracker", BaseURL: "https://tracker.example",
		Settings: []abi.Setting{
			{Name: "team", Type: abi.SettingString, Title: "Your team, or true", Required: true},
			{Name: "project", Type: abi.SettingString, Title: "Project"},
		},
		Prompts: []abi.Prompt{{Name: "day", Title: "My day", Description: "d", Text: "List {who}", Arguments: []abi.PromptArgument{{Name: "who", Description: "w", OneOf: []string{"me", "all of us"}}}}},
		Tools: []abi.Tool{{Name: "list", Input: []byte(
			`{"type":["object"],"properties":{"n":{"type":"integer","maximum":50},"say":{}},"required":["n","say"]}`)}},
	}}}
	var lines []string
	for _, c := range release.Compare(was, is, nil) {
		lines = append(lines, c.Who+": "+c.Text)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		`tracker: new: the setting project: title Project, type string`,
		`tracker: the setting team is another: required is new: true; title is now "Your team, or true", and was Team`,
		`tracker: the prompt day is another: arguments.1.description is new: w; arguments.1.name is new: who; arguments.1.one_of is new: me, "all of us"`,
		`the schema of its arguments: properties.n.maximum is now 50, and was 5; properties.old.type is gone, and was boolean; ` +
			`properties.say is new: anything; required is now n, say, and was n`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.ContainsAny(all, "{}[]") && strings.Contains(all, `{"`) || t.Failed() {
		t.Errorf("got\n%s", all)
	}
}
