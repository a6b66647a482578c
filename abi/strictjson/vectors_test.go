package strictjson_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// manifest is a definition as the vectors mean it.
type manifest struct {
	ID          string `json:"id"`
	Destructive bool   `json:"destructive"`
	Hidden      bool   `json:"-"`
	Token       string `json:"token"`
	Wasm        struct {
		Size uint64 `json:"size"`
	} `json:"wasm"`
	Matches []string          `json:"matches"`
	Tools   []tool            `json:"tools"`
	Labels  map[string]string `json:"labels"`
	Raw     json.RawMessage   `json:"raw"`
}

type tool struct {
	Name string `json:"name"`
}

// A trap is one document, the reason to refuse it and its well-formed twin.
type trap struct {
	Why    string            `json:"why"`
	JSON   *string           `json:"json"`
	Reason strictjson.Reason `json:"reason"`
	Free   bool              `json:"free"`
	Twin   string            `json:"twin"`
}

func vectorFile(tb testing.TB, name string, v any) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "test", "vectors", "json", name))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		tb.Fatal(err)
	}
}

// traps joins the two vector files and fails where one of them has no partner.
func traps(tb testing.TB) []trap {
	tb.Helper()
	var listed []struct{ JSON, Expect, Why string }
	vectorFile(tb, "manifest-traps.json", &listed)
	var all []trap
	vectorFile(tb, "twins.json", &all)
	docs := map[string]string{}
	for _, l := range listed {
		if l.Expect != "reject" {
			tb.Fatalf("%s: expect %q is not known to this test", l.Why, l.Expect)
		}
		docs[l.Why] = l.JSON
	}
	for i, tr := range all {
		doc, ok := docs[tr.Why]
		if ok == (tr.JSON != nil) {
			tb.Fatalf("%s: wants exactly one document", tr.Why)
		}
		if ok {
			all[i].JSON = &doc
			delete(docs, tr.Why)
		}
	}
	for why := range docs {
		tb.Errorf("%s: has no reason and no twin", why)
	}
	return all
}

func TestVectors(t *testing.T) {
	for _, tr := range traps(t) {
		t.Run(tr.Why, func(t *testing.T) {
			decode := func(doc string) error {
				if tr.Free {
					return strictjson.Check([]byte(doc))
				}
				return strictjson.Decode([]byte(doc), new(manifest))
			}
			if err := decode(*tr.JSON); !errors.Is(err, tr.Reason) {
				t.Errorf("%.80q: error %v, want the reason %s", *tr.JSON, err, tr.Reason)
			}
			if err := decode(tr.Twin); err != nil {
				t.Errorf("twin %.80q: %v", tr.Twin, err)
			}
		})
	}
}
