package site

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Names of the three origins.
const (
	AppHost      = "tracker.localhost"
	AssetsHost   = "assets.localhost"
	IdentityHost = "id.localhost"
)

// Options choose the ports on 127.0.0.1; 0 takes a free one.
type Options struct {
	AppPort, AssetsPort, IdentityPort int
	Now                               func() time.Time // stamps comments and changes; time.Now if nil
}

// A Site is the tracker with its three origins. Make one with New, then Start
// it. Its methods may be called concurrently once Start has returned.
type Site struct {
	opts     Options
	store    *store
	log      *requestLog
	pages    *template.Template
	sessions *sessions
	idp      *identity

	app, assets, id *server // nil before Start
	stalled         atomic.Bool
	projectsOff     atomic.Bool
	closeOnce       sync.Once
	closeErr        error
}

// New makes a tracker with the whole data set. It does not listen yet.
func New(opts Options) *Site {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Site{
		opts:     opts,
		store:    newStore(opts.Now),
		log:      newRequestLog(),
		pages:    parsePages(),
		sessions: newSessions(),
		idp:      newIdentity(),
	}
}

// Start binds the three ports and serves until ctx ends or Close is called. If
// one port can't be had, nothing is left listening. A Site starts only once.
func (s *Site) Start(ctx context.Context) error {
	if s.app != nil {
		return errors.New("starting the site: it was started before")
	}
	var opened [3]*server
	for i, want := range []struct {
		host string
		port int
	}{{AppHost, s.opts.AppPort}, {AssetsHost, s.opts.AssetsPort}, {IdentityHost, s.opts.IdentityPort}} {
		srv, err := listen(ctx, want.host, want.port)
		if err != nil {
			for _, o := range opened[:i] {
				err = errors.Join(err, o.close())
			}
			return err
		}
		opened[i] = srv
	}
	s.app, s.assets, s.id = opened[0], opened[1], opened[2]
	handlers := []http.Handler{s.appHandler(), s.assetsHandler(), s.identityHandler()}
	for i, srv := range opened {
		srv.serve(ctx, s.log.record(srv.host, srv.onlyHost(handlers[i])), nil)
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return nil
}

// Close stops all three servers and ends every open request. It may be called
// more than once.
func (s *Site) Close() error {
	s.closeOnce.Do(func() {
		for _, srv := range []*server{s.app, s.assets, s.id} {
			if srv != nil {
				s.closeErr = errors.Join(s.closeErr, srv.close())
			}
		}
	})
	return s.closeErr
}

// AppURL is the tracker's origin, such as "http://tracker.localhost:8421".
func (s *Site) AppURL() string { return s.app.url() }

// AssetsURL is the origin of its style sheet, script and image.
func (s *Site) AssetsURL() string { return s.assets.url() }

// IdentityURL is the origin that signs users in.
func (s *Site) IdentityURL() string { return s.id.url() }

// Truth returns the data as it is now.
func (s *Site) Truth() Truth { return s.store.truth() }

// Expire ends every login on the server's side, the identity provider's too:
// the next page asks for a password.
func (s *Site) Expire() {
	s.sessions.clear()
	s.idp.clear()
}

// ExpireApp ends the tracker's sessions only: the identity provider still knows
// the user, so that the next navigation signs in again without a question.
func (s *Site) ExpireApp() { s.sessions.clear() }

// Stall makes the tracker take comments from its form and not answer, as behind a
// proxy that loses answers. Stall(false) ends that for later comments.
func (s *Site) Stall(on bool) { s.stalled.Store(on) }

// ProjectsOff switches the projects' pages off, as the administrator of a real
// tracker may: they answer 404. ProjectsOff(false) switches them on again.
func (s *Site) ProjectsOff(off bool) { s.projectsOff.Store(off) }

// Reset brings back the data set, ends every login and forgets all requests.
func (s *Site) Reset() {
	s.store.reset()
	s.Expire()
	s.log.clear()
}

// Requests returns what the three servers received, oldest first. Only the
// last 10,000 are kept.
func (s *Site) Requests() []Request { return s.log.list() }

// Wait returns the first request that match accepts, whether it was received
// already or comes before ctx ends.
func (s *Site) Wait(ctx context.Context, match func(Request) bool) (Request, error) {
	return s.log.wait(ctx, match)
}

// SignIn makes a session for a user without the login pages, and returns its
// cookie for AppURL. It is for tests that are not about logging in.
func (s *Site) SignIn(login string) (*http.Cookie, error) {
	for _, u := range Users() {
		if u.Login == login {
			return s.sessions.cookie(s.sessions.start(u)), nil
		}
	}
	return nil, errors.New("signing in: no user " + login)
}
