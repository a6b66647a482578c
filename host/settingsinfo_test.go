package host

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// A person may have put a secret where none belongs: it isn't shown.
func TestSettingsAreShownWithoutSecrets(t *testing.T) {
	h := &Host{redact: redact.New("hunter2-of-ada")}
	r := abi.Release{Connectors: []abi.Connector{{ID: "t", Settings: []abi.Setting{
		{Name: "base_url", Type: abi.SettingURL, Required: true},
		{Name: "api_token", Type: abi.SettingString},
		{Name: "note", Type: abi.SettingString},
		{Name: "page_size", Type: abi.SettingInteger, Default: "50"},
		{Name: "project", Type: abi.SettingString},
	}}}}
	values := map[string]string{"base_url": "https://t.example", "api_token": "abc", "note": "it is hunter2-of-ada"}
	want := map[string]SettingInfo{
		"base_url":  {Value: "https://t.example"},
		"api_token": {Hidden: true},
		"page_size": {Value: "50", Default: true},
		"project":   {},
	}
	for _, s := range h.settingInfos(r, values, true) {
		w, known := want[s.Name]
		switch {
		case s.Name == "note":
			if !s.Hidden || s.Value == values["note"] {
				t.Errorf("a known secret: %+v", s)
			}
		case !known || s.Value != w.Value || s.Hidden != w.Hidden || s.Default != w.Default:
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
	for _, s := range h.settingInfos(r, values, false) {
		if s.Value != "" && !s.Default {
			t.Errorf("a value of what isn't installed: %+v", s)
		}
	}
}
