package site_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
)

func TestProjectsEqualTruth(t *testing.T) {
	s := start(t)
	issues, open := map[string]int{}, map[string]int{}
	for _, is := range s.Truth().Issues {
		issues[is.Component]++
		if !slices.Contains([]string{"resolved", "closed", "rejected"}, is.Status) {
			open[is.Component]++
		}
	}
	b := signedIn(t, s, "alice")
	rows := all(b.get("/projects").doc, "tr", "project")
	if len(rows) != len(issues) || len(rows) < 3 {
		t.Fatalf("%d projects, want %d", len(rows), len(issues))
	}
	for _, tr := range rows {
		name := attr(tr, "data-name")
		if got, want := text(one(t, tr, "issues")), strconv.Itoa(issues[name]); got != want {
			t.Errorf("%s has %s issues, want %s", name, got, want)
		}
		if got, want := text(one(t, tr, "open")), strconv.Itoa(open[name]); got != want {
			t.Errorf("%s has %s open issues, want %s", name, got, want)
		}
		for _, is := range all(b.get("/projects/"+name).doc, "tr", "issue") {
			if got := rowOf(t, is); got.Component != name {
				t.Errorf("the project %s shows an issue of %s", name, got.Component)
			}
		}
	}
}

func TestProjectsNeedALogin(t *testing.T) {
	s := start(t)
	if r := newBrowser(t, s).get("/projects"); r.has("projects") || r.has("user") {
		t.Error("projects are shown to anybody")
	}
}

func TestProjectsSwitchedOff(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	s.ProjectsOff(true)
	for _, path := range []string{"/projects", "/projects/Web"} {
		if r := b.get(path); r.StatusCode != http.StatusNotFound || !r.has("missing") || !r.has("user") {
			t.Errorf("%s answers %d", path, r.StatusCode)
		}
	}
	s.ProjectsOff(false)
	if r := b.get("/projects"); !r.has("projects") {
		t.Error("they are not back")
	}
	if r := b.get("/projects/Nothing"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a project that is not there answers %d", r.StatusCode)
	}
}
