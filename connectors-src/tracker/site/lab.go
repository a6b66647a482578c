package site

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// A Behaviour is something that real pages do and that a host has to survive.
// It is shown at /lab/NAME, and on an issue's page with ?lab=NAME. These
// parameters steer it:
//
//	id     the issue that it writes to (12)
//	to     another origin that it reaches for, such as a Recorder's URL
//	after  milliseconds before it acts (300)
//	only   for "foreign": the one vector to try
type Behaviour struct {
	Name string
	What string
	Kind Kind
}

// Kind groups behaviours by what a test asserts.
type Kind string

// The kinds of behaviours.
const (
	KindWrite   Kind = "write"   // writes to issue id without being asked; some after a click
	KindForeign Kind = "foreign" // sends a request to the origin to; some after a click
	KindDialog  Kind = "dialog"  // opens a JavaScript dialog
	KindLoad    Kind = "load"    // loads late, or never to the end
	KindRead    Kind = "read"    // is hard to read right
	KindAct     Kind = "act"     // is hard to click right
)

// Behaviours lists them all. A test checks that each does something.
func Behaviours() []Behaviour {
	return []Behaviour{
		{"timeout", "setTimeout, then fetch POST to the API", KindWrite},
		{"interval", "setInterval, fetch POST each time", KindWrite},
		{"xhr", "XMLHttpRequest POST at once", KindWrite},
		{"fetchlater", "fetchLater POST, by a beacon on pagehide where the browser has none", KindWrite},
		{"beacon", "sendBeacon on pagehide", KindWrite},
		{"keepalive", "fetch POST with keepalive on pagehide", KindWrite},
		{"image", "an image whose GET closes the issue", KindWrite},
		{"prefetch", "a prefetched link whose GET closes the issue", KindWrite},
		{"iframe", "a hidden frame whose GET closes the issue", KindWrite},
		{"form-delete", "a form that posts itself with _method=delete", KindWrite},
		{"form-frame", "the same into a hidden frame", KindWrite},
		{"worker", "a dedicated worker that posts", KindWrite},
		{"worker-nested", "a worker that starts a worker that posts", KindWrite},
		{"worker-shared", "a shared worker that posts", KindWrite},
		{"worker-service", "a service worker that posts when it is installed", KindWrite},
		{"websocket", "a message on a WebSocket of the tracker", KindWrite},
		{"popup", "window.open of the xhr page at once; #popup-button and #popup-link do it after a click", KindWrite},

		{"foreign", "all that a page can request by itself, each at /v/VECTOR of the other origin; popup and form-popup where windows open without a click, preconnect and webrtc without a request", KindForeign},
		{"go-location", "location = to, after a while", KindForeign},
		{"go-refresh", "a meta refresh to the other origin", KindForeign},
		{"go-redirect", "location = /go?to=, which redirects", KindForeign},
		{"go-form", "a form that posts itself to the other origin", KindForeign},
		{"go-click", "links, a ping, a target=_blank and a form button that lead there after a click", KindForeign},
		{"websocket-foreign", "a WebSocket to the other origin, and a message on it", KindForeign},

		{"alert", "alert while loading", KindDialog},
		{"alert-late", "alert after a while", KindDialog},
		{"confirm", "confirm while loading; yes closes the issue", KindDialog},
		{"prompt", "prompt while loading; its text becomes a comment", KindDialog},
		{"beforeunload", "a question on leaving", KindDialog},

		{"hang-image", "an image that never comes: load never fires", KindLoad},
		{"hang-script", "a script in the middle that never comes: parsing stops there", KindLoad},
		{"spa", "the address and the content change without a navigation", KindLoad},
		{"busy", "five seconds of a busy main thread", KindLoad},

		{"hostile", "prototypes, JSON and fetch are overwritten before the table", KindRead},
		{"clobber", "a form whose fields are named like DOM properties", KindRead},
		{"shadow-open", "the table is in an open shadow root", KindRead},
		{"shadow-closed", "the table is in a closed shadow root", KindRead},
		{"frame", "the table is in a frame of the same origin", KindRead},
		{"unicode", "lone surrogates, U+FFFE and control characters in cells", KindRead},
		{"hidden", "rows that a person does not see", KindRead},

		{"covered", "a button under a banner", KindAct},
		{"ambiguous", "two buttons of one name", KindAct},
		{"moving", "a button that is replaced again and again", KindAct},
		{"disabled", "a button that is enabled after a while", KindAct},
	}
}

// labPage is one behaviour with its parameters.
type labPage struct {
	Behaviour
	ID    int
	To    string
	After int
	Only  string
	Rows  []Issue
}

func (s *Site) labRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /lab/{$}", func(w http.ResponseWriter, r *http.Request) {
		s.render(w, r, http.StatusOK, "labs", page{Title: "Behaviours", Labs: Behaviours()})
	})
	mux.HandleFunc("GET /lab/{name}", func(w http.ResponseWriter, r *http.Request) {
		lab, ok := s.lab(r.PathValue("name"), r.URL.Query())
		if !ok {
			s.fail(w, r, http.StatusNotFound, "Not found", "There is no such behaviour.")
			return
		}
		if r.URL.Query().Get("csp") == "1" {
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src "+s.AssetsURL())
		}
		s.render(w, r, http.StatusOK, "lab", page{Title: "Lab: " + lab.Name, Lab: lab})
	})
	for _, name := range []string{"lab.js", "vectors.js", "worker.js", "hostile.js", "late.js"} {
		mux.HandleFunc("GET /lab/"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			http.ServeFileFS(w, r, files, "static/"+name)
		})
	}
	mux.HandleFunc("GET /lab/frame.html", func(w http.ResponseWriter, r *http.Request) {
		s.render(w, r, http.StatusOK, "frame", page{Title: "Frame", Lab: &labPage{Rows: s.sample()}})
	})
}

// lab finds a behaviour and reads its parameters; odd ones take the default.
func (s *Site) lab(name string, q url.Values) (*labPage, bool) {
	all := Behaviours()
	i := slices.IndexFunc(all, func(b Behaviour) bool { return b.Name == name })
	if i < 0 {
		return nil, false
	}
	l := &labPage{Behaviour: all[i], ID: 12, After: 300, To: q.Get("to"), Only: q.Get("only"), Rows: s.sample()}
	if n, err := strconv.Atoi(q.Get("id")); err == nil && n > 0 {
		l.ID = n
	}
	if n, err := strconv.Atoi(q.Get("after")); err == nil && n >= 0 {
		l.After = n
	}
	return l, true
}

// sample is the small table that the reading behaviours show.
func (s *Site) sample() []Issue {
	return s.store.list(func(is *Issue) bool { return is.ID <= 3 })
}
