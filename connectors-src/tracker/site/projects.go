package site

import (
	"net/http"
	"slices"
	"strings"
)

// A Project is what all issues of one component are to somebody who may see them.
type Project struct {
	Name   string
	Issues []Issue // newest first
	Open   int     // neither resolved, closed nor rejected
	People int     // who are assigned to one of them
}

// projectsOf lists u's projects by name.
func (s *Site) projectsOf(u User) []Project {
	byName := map[string]*Project{}
	people := map[string]map[string]bool{}
	for _, is := range s.visible(u) {
		p, ok := byName[is.Component]
		if !ok {
			p = &Project{Name: is.Component}
			byName[is.Component], people[is.Component] = p, map[string]bool{}
		}
		p.Issues = append(p.Issues, is)
		if !slices.Contains([]string{"resolved", "closed", "rejected"}, is.Status) {
			p.Open++
		}
		if is.Assignee != "" {
			people[is.Component][is.Assignee] = true
		}
	}
	list := make([]Project, 0, len(byName))
	for name, p := range byName {
		p.People = len(people[name])
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Project) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// whileOn answers as if the page were not there while the projects are off.
func (s *Site) whileOn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.projectsOff.Load() {
			s.render(w, r, http.StatusNotFound, "missing", page{Title: "Not found", Text: "The administrator has switched projects off."})
			return
		}
		next(w, r)
	}
}

func (s *Site) handleProjects(w http.ResponseWriter, r *http.Request) {
	sess, _ := sessionOf(r)
	s.render(w, r, http.StatusOK, "projects", page{Title: "Projects", Projects: s.projectsOf(sess.user)})
}

func (s *Site) handleProject(w http.ResponseWriter, r *http.Request) {
	sess, _ := sessionOf(r)
	for _, p := range s.projectsOf(sess.user) {
		if p.Name == r.PathValue("name") {
			s.render(w, r, http.StatusOK, "project", page{Title: p.Name, Project: p})
			return
		}
	}
	s.render(w, r, http.StatusNotFound, "missing", page{Title: "Not found", Text: "There is no such project."})
}
