package host

import (
	"errors"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// What is missing is asked for in one go, with a command that keeps what was given.
func TestMissingSettings(t *testing.T) {
	rel := abi.Release{Namespace: "acme", Name: "tracker", Connectors: []abi.Connector{
		{ID: "tracker", Settings: []abi.Setting{
			{Name: "base_url", Title: "Address", Required: true}, {Name: "login_url", Title: "Who signs in", Required: true}, {Name: "lang", Title: "Language"},
		}},
		{ID: "wiki", Settings: []abi.Setting{{Name: "login_url", Title: "Who signs in", Required: true}, {Name: "wiki_url", Title: "Wiki", Required: true}}},
	}}
	given := map[string]string{"base_url": "https://a.example"}
	err := missingSettings(rel, given, map[string]string{"base_url": "https://a.example", "lang": ""})
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Code != abi.ErrInvalidArgs || e.Msg != `these have no value: "login_url" (Who signs in), "wiki_url" (Wiki)` ||
		e.Hint != "drawbridge install acme/tracker --set base_url=https://a.example --set login_url=… --set wiki_url=…" {
		t.Errorf("got %v, with the hint %q", err, e.Hint)
	}
	all := map[string]string{"base_url": "https://a.example", "login_url": "https://b.example", "wiki_url": "https://c.example"}
	if err := missingSettings(rel, given, all); err != nil {
		t.Errorf("nothing is missing: %v", err)
	}
}
