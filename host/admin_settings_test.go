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

// What a person is shown is what is asked, in the one spelling that can't be taken
// for another.
func TestNormalSettings(t *testing.T) {
	for value, want := range map[string]string{
		"":                                   "",
		"https://tracker.example":            "https://tracker.example",
		"https://tracker.example/":           "https://tracker.example/",
		"HTTPS://Tracker.Example:443":        "https://tracker.example",
		"https://tracker.example/a/../":      "https://tracker.example/",
		"https://g\u0456thub.com":            "https://xn--gthub-n2e.com",
		"https://2130706433":                 "https://127.0.0.1",
		"https://a.example%2eb.example":      "https://a.example.b.example",
		"https://a.example\u3002b.example/x": "https://a.example.b.example/x",
	} {
		if got, err := normalSetting(abi.SettingURL, "base_url", value); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", value, got, err, want)
		}
	}
	for _, c := range []struct {
		kind  abi.SettingType
		value string
	}{
		{abi.SettingURL, "https://tracker.example/?x"},
		{abi.SettingURL, "https://tracker.example/#x"},
		{abi.SettingURL, "https://ada@tracker.example"},
		{abi.SettingURL, "tracker.example"},
		{abi.SettingURL, "javascript:alert(1)"},
		{abi.SettingInteger, "1e3"},
		{abi.SettingInteger, "007"},
		{abi.SettingBoolean, "yes"},
	} {
		if got, err := normalSetting(c.kind, "x", c.value); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%s %q is %q, %v", c.kind, c.value, got, err)
		}
	}
}
