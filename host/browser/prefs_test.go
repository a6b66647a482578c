package browser_test

import (
	"encoding/json"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

func TestWithoutPreloading(t *testing.T) {
	for name, tc := range map[string]struct{ old, other string }{
		"none":          {``, ``},
		"no JSON":       {`{"net":`, ``},
		"another type":  {`[1]`, ``},
		"null":          {`null`, ``},
		"net is a list": {`{"net":[]}`, ``},
		"switched on":   {`{"net":{"network_prediction_options":0}}`, ``},
		"others stay":   {`{"a":{"b":[1.0]},"net":{"x":true}}`, `{"b":[1.0]}`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := browser.WithoutPreloading([]byte(tc.old))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				A   json.RawMessage
				Net struct {
					X    bool
					Mode int `json:"network_prediction_options"`
				}
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if got.Net.Mode != 2 || string(got.A) != tc.other || got.Net.X != (tc.other != "") {
				t.Errorf("%s became %s", tc.old, text)
			}
		})
	}
}
