// Package site is the sample web application that the tracker connector is for:
// a small bug tracker that behaves as real ones do, the bad parts included.
// Nothing in it is a mock of the host's: it knows nothing of drawbridge, and a
// person can use it with any browser.
//
// It has three origins on 127.0.0.1, addressed by names under .localhost so that
// they differ in site and cookies:
//
//	http://tracker.localhost:PORT   the application
//	http://assets.localhost:PORT    its style sheet, script and image
//	http://id.localhost:PORT        signs in, and returns by a form that the
//	                                browser posts to /auth/callback (form_post)
//
// Each answers to its own name alone; another Host gets status 421. The data set
// is the same in every run (see Site.Truth), and lives in memory.
//
// # Users
//
// alice / Secret-alice-1 is a member and sees everything. bob / Secret-bob-1
// doesn't see issues 13 and 42 (status 403, title "Forbidden"), 27 and 54
// (status 200, title "Not allowed").
//
// # Pages
//
//	GET  /                           redirects to /issues
//	GET  /issues                     table#issues tr.issue[data-id], newest first, 25 a page;
//	                                 ?status= ?assignee=LOGIN|me ?page= ?size= (up to 100);
//	                                 a.next leads on; p#no-issues when nothing matches
//	GET  /issues/big                 3,000 rows
//	GET  /issues/{id}                #issue, #comments .comment; missing ids: 404, from
//	                                 9000 on 200 with the title "No such issue";
//	                                 ?late=1 comments come by XHR after load
//	                                 ?lab=NAME adds a behaviour, see below
//	POST /issues/{id}/comments       csrf, body (urlencoded): adds a comment
//	POST /issues/{id}                csrf, _method=patch (status, priority, assignee) or delete
//	GET  /issues/{id}/close          asks; with ?confirm=1 it closes the issue at once
//	GET  /projects                   table#projects tr.project[data-name], in the order of names
//	GET  /projects/{name}            #project[data-name], and its issues as /issues lists them;
//	                                 both answer 404 while Site.ProjectsOff says so
//	GET  /api/issues/{id}            JSON, for the session's cookie
//	POST /api/issues/{id}/comments   {"body": "…"}, for the session's cookie, no csrf
//	GET  /ws                         WebSocket: {"issue": 12, "body": "…"} adds a comment
//	GET  /auth/login?next=PATH       begins signing in
//	GET  /auth/logout                ends the session, by a plain link
//
// #user[data-login] is on every page of somebody who is signed in. Everybody else
// is redirected to the identity provider; with ?soft=1 they get status 200 and
// p#signed-out instead; the API answers 401. html[data-ready=true] appears when
// the script of the assets origin has run.
//
// # Traps
//
//	/hang               never answers, whatever the method
//	/slow?ms=N          answers after N milliseconds
//	/big?size=N         N bytes of text, 16 MiB by default
//	/go?to=URL&status=  redirects anywhere: 301, 302, 303, 307 or 308
//	/loop               redirects to itself
//	/status/{code}      a page with that status
//	/basic              401 with WWW-Authenticate: Basic (tracker / tracker)
//	/download/issues.csv an attachment
//
// # Behaviours
//
// /lab/ lists what pages do to whoever automates them: late and hidden writes,
// requests to other origins, dialogs, loads that never end, hostile scripts,
// things that are hard to read or click. Each is at /lab/NAME and, on a real page,
// at /issues/{id}?lab=NAME; Behaviours has the names and Behaviour the
// parameters. /lab/NAME?csp=1 forbids all scripts.
//
// # In tests
//
//	s := site.New(site.Options{})
//	if err := s.Start(t.Context()); err != nil { … }
//	cookie, err := s.SignIn("alice")
//	evil, err := site.NewRecorder(t.Context(), "evil.localhost")
//	// … drive a browser to s.AppURL()+"/lab/foreign?to="+evil.URL() …
//	// … assert on s.Truth(), s.Requests(), evil.Requests(), evil.Conns()
//	s.Stall(true) // from now on comments are taken and not answered
package site
