package control

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a command says of its surroundings arrives whole, or not at all.
func TestSurroundings(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		want   Surroundings
	}{
		"some":        {`{"DISPLAY":":0","SSH_AUTH_SOCK":"/run/a é"}`, Surroundings{"DISPLAY": ":0", "SSH_AUTH_SOCK": "/run/a é"}},
		"none":        {``, nil},
		"no object":   {`["DISPLAY"]`, nil},
		"no text":     {`{"DISPLAY":1}`, nil},
		"twice":       {`{"DISPLAY":":0","DISPLAY":":1"}`, nil},
		"cut short":   {`{"DISPLAY":":0"`, nil},
		"with a tail": {`{"DISPLAY":":0"} {}`, nil},
		"too long":    {`{"DISPLAY":"` + strings.Repeat("x", maxSurroundings) + `"}`, nil},
	} {
		h := http.Header{}
		h.Set(headerSurroundings, c.header)
		if got := surroundings(h); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	h := http.Header{}
	Surroundings{"DISPLAY": strings.Repeat("x", maxSurroundings)}.put(h)
	Surroundings{}.put(h)
	if len(h) != 0 {
		t.Errorf("a header of %d bytes was sent", len(h.Get(headerSurroundings)))
	}
}

// What is said goes along with the request to the method, and only to a server
// that asks for it.
func TestAround(t *testing.T) {
	type key struct{}
	var got Surroundings
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = r.Context().Value(key{}).(Surroundings) })
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	Surroundings{"DISPLAY": ":7"}.put(req.Header)
	s := &Server{}
	s.around(next).ServeHTTP(httptest.NewRecorder(), req)
	if got != nil {
		t.Errorf("read without being asked for: %v", got)
	}
	s.Around = func(ctx context.Context, env Surroundings) context.Context { return context.WithValue(ctx, key{}, env) }
	s.around(next).ServeHTTP(httptest.NewRecorder(), req)
	if got["DISPLAY"] != ":7" {
		t.Errorf("got %v", got)
	}
}

func FuzzSurroundings(f *testing.F) {
	f.Add(`{"DISPLAY":":0"}`)
	f.Add(`{"a":"\ud800","":""}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := surroundings(http.Header{headerSurroundings: {text}})
		h := http.Header{}
		s.put(h)
		if again := surroundings(h); len(h) > 0 && !maps.Equal(again, s) {
			t.Errorf("%q is %q, and then %q", text, s, again)
		}
	})
}
