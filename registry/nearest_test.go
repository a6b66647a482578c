package registry

import (
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestDidYouMean(t *testing.T) {
	of := []string{"acme/tracker", "acme/wiki", "team:corp/mantis"}
	for name, want := range map[string]string{
		"acme/trakcer":     "acme/tracker",
		"tracer":           "acme/tracker",
		"mantus":           "team:corp/mantis",
		"corp/mantus":      "team:corp/mantis",
		"acme/wikis":       "acme/wiki",
		"wik":              "acme/wiki",
		"":                 "",
		"a":                "",
		"zebra":            "",
		"acme/tracker-two": "",
	} {
		got := didYouMean(name, of)
		if want == "" && got != "" || want != "" && !strings.Contains(got, `did you mean "`+want+`"?`) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := didYouMean(strings.Repeat("x", 1<<20), of); got != "" {
		t.Errorf("a long name: %q", got)
	}
}

// A name that nearly fits is told, and never taken.
func TestMisspelledNames(t *testing.T) {
	f := newFixture(t)
	wrong := Ref{Namespace: "acme", Name: "traker"}
	_, completed := f.client.Complete(t.Context(), Ref{Name: "traker"})
	_, installed := f.install(wrong)
	_, added := f.client.Registry("mian")
	f.mustInstall(tracker)
	for what, err := range map[string]error{
		"a short name": completed, "a full name": installed, "what is installed": f.client.Uninstall("acme/traker"),
		"a maintainer's": f.m.Yank(t.Context(), f.keys, wrong, "1.0.0", "broken"),
	} {
		if !errors.Is(err, abi.ErrNotFound) || !strings.Contains(err.Error(), `did you mean "`) || !strings.Contains(err.Error(), `acme/tracker"?`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !errors.Is(added, abi.ErrNotFound) || !strings.Contains(added.Error(), `did you mean "main"?`) {
		t.Errorf("a registry: %v", added)
	}
	f.wantActive("1.0.0")
}
