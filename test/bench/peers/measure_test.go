package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestEveryServerHasEveryCase(t *testing.T) {
	m := &meter{servers: []*server{fake(t, "good"), fake(t, "partial"), fake(t, "refuses"), fake(t, "ends")}, reads: 2, loads: 1, progress: io.Discard}
	if err := m.run(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	r := &report{}
	r.fill(m)
	for _, s := range r.Servers {
		for _, tt := range []struct {
			name, tool string
			samples    int
		}{
			{caseTools, "", 2},
			{caseFirst, "", 2},
			{caseRead, "script", 4},
			{caseRead, "snapshot", 4},
			{caseLoad, "script", 2},
			{caseLoad, "snapshot", 2},
			{caseServer, "", 2},
			{caseBrowser, "", 2},
		} {
			got, ok := r.find(tt.name, s.Key, tt.tool)
			if !ok || len(got.Samples) != tt.samples {
				t.Errorf("%s: %s %s has %d samples, want %d", s.Name, tt.name, tt.tool, len(got.Samples), tt.samples)
			}
		}
	}
	for _, tt := range []struct{ server, name, tool, want string }{
		{"good", caseTools, "", ""},
		{"good", caseFirst, "", ""},
		{"good", caseRead, "snapshot", ""},
		{"good", caseServer, "", "no browser"},
		{"partial", caseTools, "", ""},
		{"partial", caseLoad, "script", "1 of the page's 600 fields"},
		{"refuses", caseTools, "", ""},
		{"refuses", caseFirst, "", "go: the tool failed: no such tool"},
		{"refuses", caseRead, "script", "script: the tool failed: no such tool"},
		{"ends", caseTools, "", "no browser | here"},
		{"ends", caseRead, "script", "no browser | here"},
		{"ends", caseBrowser, "", "no browser | here"},
	} {
		got, _ := r.find(tt.name, tt.server, tt.tool)
		switch {
		case tt.want == "" && got.Failed > 0:
			t.Errorf("%s: %s %s failed: %s", tt.server, tt.name, tt.tool, got.Error)
		case tt.want != "" && (got.Failed != len(got.Samples) || !strings.Contains(got.Error, tt.want)):
			t.Errorf("%s: %s %s: %d failed with %q, want all with %q", tt.server, tt.name, tt.tool, got.Failed, got.Error, tt.want)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &meter{servers: []*server{fake(t, "good")}, reads: 1, loads: 1, progress: io.Discard}
	if err := m.run(ctx, 100); err == nil || m.round > 4 {
		t.Errorf("run = %v after %d rounds", err, m.round)
	}
}

func TestTurned(t *testing.T) {
	for n, want := range []string{"abc", "bca", "cab", "abc"} {
		if got := strings.Join(turned([]string{"a", "b", "c"}, n), ""); got != want {
			t.Errorf("turned(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	if err := complete(pageText()); err != nil {
		t.Error(err)
	}
	if err := complete(""); err == nil || !strings.Contains(err.Error(), "600 of the page's 600") {
		t.Errorf("of nothing: %v", err)
	}
}

func TestLoadGoesToThePage(t *testing.T) {
	for _, tt := range []struct {
		w    way
		want []string
	}{
		{way{tool: "read", open: &call{tool: "go"}}, []string{"go", "read"}},
		{way{tool: "list", loadArgs: map[string]any{"load": true}}, []string{"list"}},
	} {
		var got []string
		for _, c := range tt.w.load() {
			got = append(got, c.tool)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("load of %q = %q, want %q", tt.w.tool, got, tt.want)
		}
	}
	if args := (way{tool: "list", loadArgs: map[string]any{"load": true}}).load()[0].args; args["load"] != true {
		t.Errorf("args = %v", args)
	}
}
