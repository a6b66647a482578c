package site

import (
	"context"
	"net/http"
	"strconv"
)

// FirstSoftID is the first issue id whose "missing" page comes with status 200.
const FirstSoftID = 9000

// appHandler is the tracker's route table. Behaviours for tests are in lab.go
// and traps.go.
func (s *Site) appHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/issues", http.StatusFound))
	mux.HandleFunc("GET /auth/login", s.handleLogin)
	mux.HandleFunc("POST "+callbackPath, s.callback)
	mux.HandleFunc("GET /auth/logout", s.handleLogout)

	mux.HandleFunc("GET /issues", s.signedIn(s.handleList))
	mux.HandleFunc("GET /issues/big", s.signedIn(s.handleBigList))
	mux.HandleFunc("GET /issues/{id}", s.signedIn(s.onIssue(s.handleIssue)))
	mux.HandleFunc("POST /issues/{id}", s.signedIn(s.form(s.onIssue(s.handleOverride))))
	mux.HandleFunc("POST /issues/{id}/comments", s.signedIn(s.form(s.onIssue(s.handleComment))))
	mux.HandleFunc("GET /issues/{id}/close", s.signedIn(s.onIssue(s.handleClose)))

	mux.HandleFunc("GET /projects", s.signedIn(s.whileOn(s.handleProjects)))
	mux.HandleFunc("GET /projects/{name}", s.signedIn(s.whileOn(s.handleProject)))

	mux.HandleFunc("GET /api/issues/{id}", s.api(s.apiIssue))
	mux.HandleFunc("POST /api/issues/{id}/comments", s.api(s.apiComment))

	s.labRoutes(mux)
	s.trapRoutes(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, "Not found", "There is no such page.")
	})
	return s.withSession(mux)
}

type sessionKey struct{}

// withSession finds the session of a request's cookie, if there is one.
func (s *Site) withSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sess, ok := s.sessions.of(r); ok {
			r = r.WithContext(context.WithValue(r.Context(), sessionKey{}, sess))
		}
		next.ServeHTTP(w, r)
	})
}

func sessionOf(r *http.Request) (session, bool) {
	sess, ok := r.Context().Value(sessionKey{}).(session)
	return sess, ok
}

// signedIn sends everybody else to the identity provider; with ?soft=1 it shows
// a page with status 200 instead, as many applications do.
func (s *Site) signedIn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := sessionOf(r); ok {
			w.Header().Set("Cache-Control", "no-store")
			next(w, r)
			return
		}
		target := r.URL.RequestURI()
		if r.Method != http.MethodGet {
			target = r.URL.Path
		}
		if r.URL.Query().Get("soft") == "1" {
			s.render(w, r, http.StatusOK, "signedout", page{Title: "Please sign in", Next: target})
			return
		}
		s.startLogin(w, r, pendingLogin{next: localPath(target)})
	}
}

// form parses a posted form and checks its token.
func (s *Site) form(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 4*MaxComment)
		if err := r.ParseForm(); err != nil {
			s.fail(w, r, http.StatusRequestEntityTooLarge, "Too large", "The form is too large or broken.")
			return
		}
		if sess, _ := sessionOf(r); r.PostForm.Get("csrf") != sess.csrf {
			s.fail(w, r, http.StatusForbidden, "Form expired", "This form has expired or came from another site. Please load the page again.")
			return
		}
		next(w, r)
	}
}

type issueHandler func(http.ResponseWriter, *http.Request, Issue)

// onIssue finds the path's issue and answers for a missing or restricted one.
func (s *Site) onIssue(next issueHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		is, ok := s.store.issue(id)
		if err != nil || !ok {
			s.missing(w, r, id)
			return
		}
		sess, _ := sessionOf(r)
		switch {
		case is.visibleTo(sess.user):
			next(w, r, is)
		case is.Access == AccessMembersSoft:
			s.render(w, r, http.StatusOK, "forbidden", page{Title: "Not allowed", Text: "You are not allowed to see this issue."})
		default:
			s.render(w, r, http.StatusForbidden, "forbidden", page{Title: "Forbidden", Text: "You have no permission to view this issue."})
		}
	}
}

func (s *Site) missing(w http.ResponseWriter, r *http.Request, id int) {
	if id >= FirstSoftID {
		s.render(w, r, http.StatusOK, "missing", page{Title: "No such issue", Text: "The issue you asked for does not exist."})
		return
	}
	s.render(w, r, http.StatusNotFound, "missing", page{Title: "Not found", Text: "The issue you asked for does not exist."})
}

// fail shows a page that only says what went wrong.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	s.render(w, r, status, "message", page{Title: title, Text: text})
}
