package release_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// Connectors that name the same setting get the same value: one must not have a
// default of its own, which nobody is shown.
func TestSettingsThatConnectorsShare(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*abi.Setting)
		ok   bool
	}{
		"the same":             {func(*abi.Setting) {}, true},
		"another title":        {func(s *abi.Setting) { s.Title = "Other" }, true},
		"another default":      {func(s *abi.Setting) { s.Default = "https://other.example" }, false},
		"another type":         {func(s *abi.Setting) { s.Type, s.Default = abi.SettingString, "" }, false},
		"required in one only": {func(s *abi.Setting) { s.Required = !s.Required }, false},
	} {
		r := manifest(t)
		data, err := json.Marshal(r.Connectors[0])
		if err != nil {
			t.Fatal(err)
		}
		var second abi.Connector
		if err := json.Unmarshal(bytes.ReplaceAll(data, []byte(`"helpdesk"`), []byte(`"second"`)), &second); err != nil {
			t.Fatal(err)
		}
		c.edit(&second.Settings[0])
		r.Connectors = append(r.Connectors, second)
		err = release.Validate(r)
		if said := err != nil && strings.Contains(err.Error(), "is another setting"); said == c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
