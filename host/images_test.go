package host

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestAlbumNamesWhatAResultShows(t *testing.T) {
	a := album{taken: []Image{{Handle: "image:A"}, {Handle: "image:B"}, {Handle: "image:C"}}}
	for result, want := range map[string]string{
		`{}`:              "",
		`{"a":"image:B"}`: "image:B ",
		`{"b":["image:C","image:C"],"a":[{"x":"image:A"}]}`: "image:A image:C ",
		`{"a":"see image:A","image:B":1}`:                   "", // a name is the whole value
		`{"a":"IMAGE:A","b":"image:D"}`:                     "",
		`{"a":`:                                             "",
	} {
		got := ""
		for _, img := range a.named(json.RawMessage(result)) {
			got += string(img.Handle) + " "
		}
		if got != want {
			t.Errorf("%s shows %q, want %q", result, got, want)
		}
	}
}

func TestShotsAreKeptForTheirClient(t *testing.T) {
	h := &Host{}
	for i := range keptShots + 1 {
		h.shots.keep("ann", fmt.Sprint("call-", i), &Image{Handle: abi.ImageHandle(fmt.Sprint(i))})
	}
	h.shots.keep("bob", "call-none", nil)
	for _, c := range []struct{ who, call, want string }{
		{"ann", "call-1", "1"},
		{"ann", fmt.Sprint("call-", keptShots), fmt.Sprint(keptShots)},
		{"ann", "call-0", ""},
		{"bob", "call-1", ""},
		{"bob", "call-none", ""},
		{"ann", "", ""},
	} {
		img, err := h.Screenshot(t.Context(), Principal{ID: c.who}, c.call)
		if string(img.Handle) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s asks for %s: %q, %v", c.who, c.call, img.Handle, err)
		}
	}
}
