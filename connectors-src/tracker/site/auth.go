package site

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

const (
	sessionCookie = "tracker_session"
	loginCookie   = "tracker_login" // holds the state of the login under way
	callbackPath  = "/auth/callback"
)

// A session is one browser that is signed in.
type session struct {
	token string
	csrf  string // stands in every form of this session
	user  User
}

// A pendingLogin is a login that was begun at the tracker and not finished.
type pendingLogin struct {
	next    string // path to go to afterwards
	retried bool   // the browser came back once without its cookie
}

// sessions are the tracker's own: the identity provider keeps others.
type sessions struct {
	mu      sync.Mutex
	byToken map[string]session
	pending map[string]pendingLogin // by state
}

func newSessions() *sessions {
	s := &sessions{}
	s.clear()
	return s
}

func (s *sessions) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byToken, s.pending = map[string]session{}, map[string]pendingLogin{}
}

func (s *sessions) start(u User) session {
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := session{token: rand.Text(), csrf: rand.Text(), user: u}
	s.byToken[sess.token] = sess
	return sess
}

func (s *sessions) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byToken, token)
}

func (s *sessions) of(r *http.Request) (session, bool) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sess, ok := s.byToken[c.Value]
	return sess, ok
}

func (s *sessions) cookie(sess session) *http.Cookie {
	return &http.Cookie{Name: sessionCookie, Value: sess.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// begin notes a login and returns its state.
func (s *sessions) begin(p pendingLogin) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) > 1000 {
		clear(s.pending)
	}
	state := rand.Text()
	s.pending[state] = p
	return state
}

// finish takes a begun login: a state is good once.
func (s *sessions) finish(state string) (pendingLogin, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pending[state]
	delete(s.pending, state)
	return p, ok
}

// startLogin sends the browser to the identity provider, which answers with a
// form that posts itself to the callback.
func (s *Site) startLogin(w http.ResponseWriter, r *http.Request, p pendingLogin) {
	state := s.sessions.begin(p)
	// No SameSite attribute: browsers then send the cookie with the provider's
	// cross-site POST for two minutes only, which callback allows for.
	http.SetCookie(w, &http.Cookie{Name: loginCookie, Value: state, Path: "/auth", HttpOnly: true, MaxAge: 600})
	q := url.Values{
		"client_id": {clientID}, "redirect_uri": {s.AppURL() + callbackPath},
		"response_type": {"code"}, "response_mode": {"form_post"}, "state": {state},
	}
	http.Redirect(w, r, s.IdentityURL()+"/authorize?"+q.Encode(), http.StatusFound)
}

// callback receives the identity provider's form. The state must be the one of
// this browser's cookie; a login that took so long that the cookie was withheld
// is begun once more, which needs no password.
func (s *Site) callback(w http.ResponseWriter, r *http.Request) {
	state := r.PostFormValue("state")
	p, ok := s.sessions.finish(state)
	if !ok {
		s.fail(w, r, http.StatusBadRequest, "Sign-in failed", "This sign-in was used or has expired. Please start again.")
		return
	}
	c, err := r.Cookie(loginCookie)
	switch {
	case err != nil && !p.retried:
		s.startLogin(w, r, pendingLogin{next: p.next, retried: true})
		return
	case err != nil || subtle.ConstantTimeCompare([]byte(c.Value), []byte(state)) != 1:
		s.fail(w, r, http.StatusBadRequest, "Sign-in failed", "This sign-in was begun in another browser.")
		return
	}
	u, ok := s.idp.redeem(r.PostFormValue("code"))
	if !ok {
		s.fail(w, r, http.StatusBadRequest, "Sign-in failed", "The identity provider's code was used or has expired.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: loginCookie, Path: "/auth", MaxAge: -1})
	http.SetCookie(w, s.sessions.cookie(s.sessions.start(u)))
	http.Redirect(w, r, p.next, http.StatusSeeOther)
}

func (s *Site) handleLogin(w http.ResponseWriter, r *http.Request) {
	s.startLogin(w, r, pendingLogin{next: localPath(r.FormValue("next"))})
}

// handleLogout ends the session by a plain GET, as many real sites do.
func (s *Site) handleLogout(w http.ResponseWriter, r *http.Request) {
	if sess, ok := s.sessions.of(r); ok {
		s.sessions.end(sess.token)
	}
	s.render(w, r, http.StatusOK, "signedout", page{Title: "Signed out", Next: "/issues"})
}

// localPath keeps a path of this site, and nothing that leads elsewhere.
func localPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") {
		return "/issues"
	}
	return next
}
