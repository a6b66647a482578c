package site

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	clientID       = "tracker"
	identityCookie = "id_session"
	codeLifetime   = time.Minute
)

// identity is the provider on its own origin: it knows passwords, keeps its own
// sessions, and hands out codes that the tracker redeems behind the browser.
type identity struct {
	mu       sync.Mutex
	sessions map[string]User // by cookie
	codes    map[string]issuedCode
}

type issuedCode struct {
	user    User
	expires time.Time
}

func newIdentity() *identity {
	i := &identity{}
	i.clear()
	return i
}

func (i *identity) clear() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sessions, i.codes = map[string]User{}, map[string]issuedCode{}
}

// redeem gives the user of a code, once.
func (i *identity) redeem(code string) (User, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c, ok := i.codes[code]
	delete(i.codes, code)
	return c.user, ok && time.Now().Before(c.expires)
}

func (i *identity) issue(u User) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	code := rand.Text()
	i.codes[code] = issuedCode{u, time.Now().Add(codeLifetime)}
	return code
}

func (i *identity) start(u User) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	token := rand.Text()
	i.sessions[token] = u
	return token
}

func (i *identity) userOf(r *http.Request) (User, bool) {
	c, err := r.Cookie(identityCookie)
	if err != nil {
		return User{}, false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	u, ok := i.sessions[c.Value]
	return u, ok
}

// An authorization is what the tracker asked for; the login form carries it.
type authorization struct {
	RedirectURI, State string
	Username           string // what was typed before
	Problem            string
}

func (s *Site) identityHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		a, ok := s.authorization(w, r, r.URL.Query())
		if !ok {
			return
		}
		if u, ok := s.idp.userOf(r); ok {
			s.postBack(w, r, a, u)
			return
		}
		s.render(w, r, http.StatusOK, "login", page{Title: "Sign in", Auth: a})
	})
	mux.HandleFunc("POST /login", s.handlePassword)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		s.render(w, r, http.StatusOK, "message", page{Title: "Identity", Text: "Sign in from the tracker."})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.render(w, r, http.StatusNotFound, "message", page{Title: "Not found", Text: "There is no such page."})
	})
	return mux
}

// authorization checks who asks: codes go to the tracker's callback alone.
func (s *Site) authorization(w http.ResponseWriter, r *http.Request, q url.Values) (authorization, bool) {
	a := authorization{RedirectURI: q.Get("redirect_uri"), State: q.Get("state")}
	if q.Get("client_id") != clientID || a.RedirectURI != s.AppURL()+callbackPath || a.State == "" {
		s.render(w, r, http.StatusBadRequest, "message", page{Title: "Bad request", Text: "This application is not known here."})
		return a, false
	}
	return a, true
}

func (s *Site) handlePassword(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		s.render(w, r, http.StatusBadRequest, "message", page{Title: "Bad request", Text: "The form could not be read."})
		return
	}
	a, ok := s.authorization(w, r, r.PostForm)
	if !ok {
		return
	}
	a.Username = r.PostForm.Get("username")
	for _, u := range Users() {
		if u.Password != "" && u.Login == a.Username && u.Password == r.PostForm.Get("password") {
			http.SetCookie(w, &http.Cookie{
				Name: identityCookie, Value: s.idp.start(u), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
			})
			s.postBack(w, r, a, u)
			return
		}
	}
	a.Problem = "User name or password is wrong."
	s.render(w, r, http.StatusOK, "login", page{Title: "Sign in", Auth: a})
}

// postBack answers with the form that posts itself to the tracker.
func (s *Site) postBack(w http.ResponseWriter, r *http.Request, a authorization, u User) {
	w.Header().Set("Cache-Control", "no-store")
	s.render(w, r, http.StatusOK, "postback", page{Title: "Signing in", Auth: a, Code: s.idp.issue(u)})
}
