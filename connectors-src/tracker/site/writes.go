package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// handleComment is POST /issues/{id}/comments with csrf and body.
func (s *Site) handleComment(w http.ResponseWriter, r *http.Request, is Issue) {
	sess, _ := sessionOf(r)
	c, err := s.store.addComment(is.ID, sess.user.Login, r.PostForm.Get("body"))
	if err != nil {
		p := page{Title: "#" + strconv.Itoa(is.ID) + " " + is.Title, Issue: is, Draft: r.PostForm.Get("body")}
		p.Flash = "Comment not added: " + err.Error() + "."
		s.render(w, r, http.StatusUnprocessableEntity, "issue", p)
		return
	}
	if s.stalled.Load() {
		<-r.Context().Done()
		return
	}
	http.Redirect(w, r, fmt.Sprintf("/issues/%d?done=comment#comment-%d", is.ID, c.ID), http.StatusSeeOther)
}

// handleOverride is POST /issues/{id}, which by its _method field updates the
// issue or deletes it: the request line says neither.
func (s *Site) handleOverride(w http.ResponseWriter, r *http.Request, is Issue) {
	switch r.PostForm.Get("_method") {
	case "patch", "put":
		f := r.PostForm
		if err := s.store.update(is.ID, change{f.Get("status"), f.Get("priority"), f.Get("assignee")}); err != nil {
			s.fail(w, r, http.StatusUnprocessableEntity, "Not updated", err.Error()+".")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/issues/%d?done=update", is.ID), http.StatusSeeOther)
	case "delete":
		if err := s.store.remove(is.ID); err != nil {
			s.missing(w, r, is.ID)
			return
		}
		http.Redirect(w, r, "/issues", http.StatusSeeOther)
	default:
		w.Header().Set("Allow", "GET")
		s.fail(w, r, http.StatusMethodNotAllowed, "Method not allowed", "POST needs a _method here.")
	}
}

// handleClose is GET /issues/{id}/close: with confirm=1 a plain link writes.
func (s *Site) handleClose(w http.ResponseWriter, r *http.Request, is Issue) {
	if r.URL.Query().Get("confirm") != "1" {
		s.render(w, r, http.StatusOK, "close", page{Title: "Close issue", Issue: is})
		return
	}
	if err := s.store.update(is.ID, change{status: "closed"}); err != nil {
		s.missing(w, r, is.ID)
		return
	}
	http.Redirect(w, r, fmt.Sprintf("/issues/%d?done=close", is.ID), http.StatusSeeOther)
}

// api answers in JSON for the session's cookie alone: no token, no redirect.
func (s *Site) api(next func(http.ResponseWriter, *http.Request, session, Issue)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		sess, ok := sessionOf(r)
		if !ok {
			writeJSON(w, http.StatusUnauthorized, apiError{"not signed in"})
			return
		}
		id, err := strconv.Atoi(r.PathValue("id"))
		is, found := s.store.issue(id)
		switch {
		case err != nil || !found:
			writeJSON(w, http.StatusNotFound, apiError{errNoIssue.Error()})
		case !is.visibleTo(sess.user):
			writeJSON(w, http.StatusForbidden, apiError{"no permission"})
		default:
			next(w, r, sess, is)
		}
	}
}

type apiError struct {
	Error string `json:"error"`
}

func (s *Site) apiIssue(w http.ResponseWriter, _ *http.Request, _ session, is Issue) {
	writeJSON(w, http.StatusOK, is)
}

// apiComment is POST /api/issues/{id}/comments with {"body": "…"}, whatever the
// content type says: so a beacon or a plain text form can write as well.
func (s *Site) apiComment(w http.ResponseWriter, r *http.Request, sess session, is Issue) {
	var in struct {
		Body string `json:"body"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 4*MaxComment)).Decode(&in); err != nil {
		writeJSON(w, http.StatusBadRequest, apiError{"the body is not a JSON object with a body"})
		return
	}
	c, err := s.store.addComment(is.ID, sess.user.Login, in.Body)
	switch {
	case errors.Is(err, errNoIssue):
		writeJSON(w, http.StatusNotFound, apiError{err.Error()})
	case err != nil:
		writeJSON(w, http.StatusUnprocessableEntity, apiError{err.Error()})
	default:
		writeJSON(w, http.StatusCreated, c)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the caller has gone: nobody is left to tell
}
