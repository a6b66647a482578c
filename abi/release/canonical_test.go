package release_test

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

func TestCanonicalJSON(t *testing.T) {
	for doc, want := range map[string]string{
		`{ "b" : 1.0, "a" : [ 1e2, "\u00fc\u2028<&" ] }`:  `{"a":[100,"ü` + "\u2028" + `<&"],"b":1}`,
		`{"\u20ac":1,"\r":2,"\ud83d\ude00":3,"\u0080":4}`: "{\"\\r\":2,\"\u0080\":4,\"€\":1,\"😀\":3}",
		`[]`: `[]`,
	} {
		got, err := release.CanonicalJSON([]byte(doc))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s (%v), want %s", doc, got, err, want)
		}
	}
}
