package site_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

// login goes through the pages as a person would.
func login(b *browser, at response, user, password string) response {
	b.t.Helper()
	posted := b.submit(at, "login", map[string]string{"username": user, "password": password})
	if !posted.has("postback") {
		return posted
	}
	return b.submit(posted, "postback", nil)
}

func TestLoginByFormPost(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	asked := b.get("/issues?status=open&page=2")
	if got := asked.Request.URL; got.Host != strings.TrimPrefix(s.IdentityURL(), "http://") || got.Path != "/authorize" {
		t.Fatalf("signed out, /issues ends at %s", got)
	}
	in := login(b, asked, "alice", "Secret-alice-1")
	if in.StatusCode != http.StatusOK || in.Request.URL.String() != s.AppURL()+"/issues?status=open&page=2" {
		t.Fatalf("status %d at %s", in.StatusCode, in.Request.URL)
	}
	if u := byID(in.doc, "user"); u == nil || attr(u, "data-login") != "alice" {
		t.Error("the page does not say who is signed in")
	}
	var posted []site.Request
	for _, r := range s.Requests() {
		if r.Path() == "/auth/callback" {
			posted = append(posted, r)
		}
	}
	if len(posted) != 1 || posted[0].Method != http.MethodPost || !strings.Contains(posted[0].Body, "code=") {
		t.Errorf("callback received %+v", posted)
	}
	if strings.Contains(in.Request.URL.String(), "code=") {
		t.Error("the code stands in an address")
	}
}

func TestSessionCookie(t *testing.T) {
	c, err := start(t).SignIn("alice")
	if err != nil {
		t.Fatal(err)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %v", c)
	}
}

func TestLoginRefused(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ user, password string }{
		{"alice", "wrong"}, {"alice", ""}, {"", ""}, {"carol", ""}, {"mallory", "Secret-alice-1"}, {"Alice", "Secret-alice-1"},
	} {
		b := newBrowser(t, s)
		r := login(b, b.get("/issues"), c.user, c.password)
		if !r.has("login-problem") || !r.has("login") {
			t.Errorf("%q with %q: %s", c.user, c.password, r.title())
		}
		if r := b.get("/api/issues/1"); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q with %q: API answers %d", c.user, c.password, r.StatusCode)
		}
	}
}

func TestCallbackRefuses(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	values := postback(b.submit(b.get("/issues"), "login", map[string]string{"username": "alice", "password": "Secret-alice-1"}))
	refused := func(what string, by *browser, v url.Values) {
		t.Helper()
		if r := by.post("/auth/callback", v); r.StatusCode != http.StatusBadRequest || r.has("user") {
			t.Errorf("%s: status %d, %s", what, r.StatusCode, r.title())
		}
	}
	refused("no state", b, url.Values{"code": values["code"]})
	refused("invented state", b, url.Values{"code": values["code"], "state": {"ABC"}})
	if r := b.get("/auth/callback?" + values.Encode()); r.StatusCode == http.StatusOK {
		t.Error("the callback took a GET")
	}

	other := newBrowser(t, s)
	other.get("/issues") // begins a login of its own
	refused("another browser's state", other, values)
	refused("state that was used", b, values)

	// Signed in at the provider by now: only the form is left.
	refused("invented code", b, url.Values{"code": {"ABC"}, "state": postback(b.get("/issues"))["state"]})

	used := postback(b.get("/issues"))
	if r := b.post("/auth/callback", used); !r.has("issues") {
		t.Fatalf("status %d: %s", r.StatusCode, r.title())
	}
	s.ExpireApp()
	refused("code that was used", b, url.Values{"code": used["code"], "state": postback(b.get("/issues"))["state"]})
}

// postback reads the fields of the provider's form.
func postback(r response) url.Values {
	values := url.Values{}
	for _, in := range all(byID(r.doc, "postback"), "input") {
		values.Set(attr(in, "name"), attr(in, "value"))
	}
	return values
}

func TestCallbackWithoutItsCookieTriesOnceMore(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	posted := b.submit(b.get("/issues/7"), "login", map[string]string{"username": "alice", "password": "Secret-alice-1"})
	jar := b.client.Jar
	jar.SetCookies(mustURL(t, s.AppURL()+"/auth/"), []*http.Cookie{{Name: "tracker_login", Path: "/auth", MaxAge: -1}})

	second := b.submit(posted, "postback", nil)
	if !second.has("postback") {
		t.Fatalf("the login was not begun again: %s", second.title())
	}
	jar.SetCookies(mustURL(t, s.AppURL()+"/auth/"), []*http.Cookie{{Name: "tracker_login", Path: "/auth", MaxAge: -1}})
	if r := b.submit(second, "postback", nil); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a browser without cookies goes round in circles: %d %s", r.StatusCode, r.title())
	}

	third := b.get("/issues/7")
	if r := b.submit(third, "postback", nil); r.Request.URL.Path != "/issues/7" || !r.has("issue") {
		t.Errorf("ended at %s", r.Request.URL)
	}
}

func TestProviderServesItsClientAlone(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	good := url.Values{"client_id": {"tracker"}, "redirect_uri": {s.AppURL() + "/auth/callback"}, "state": {"s"}}
	if r := b.get(s.IdentityURL() + "/authorize?" + good.Encode()); !r.has("login") {
		t.Fatalf("good request: %d %s", r.StatusCode, r.title())
	}
	for name, v := range map[string]string{
		"redirect_uri": "http://evil.localhost/auth/callback", "client_id": "other", "state": "",
	} {
		bad := url.Values{"username": {"alice"}, "password": {"Secret-alice-1"}}
		for k := range good {
			bad[k] = good[k]
		}
		bad[name] = []string{v}
		if r := b.get(s.IdentityURL() + "/authorize?" + bad.Encode()); r.StatusCode != http.StatusBadRequest {
			t.Errorf("authorize with %s=%q: status %d", name, v, r.StatusCode)
		}
		if r := b.post(s.IdentityURL()+"/login", bad); r.StatusCode != http.StatusBadRequest || r.has("postback") {
			t.Errorf("login with %s=%q: status %d", name, v, r.StatusCode)
		}
	}
}

func TestExpire(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	login(b, b.get("/issues"), "alice", "Secret-alice-1")

	s.ExpireApp()
	silent := b.get("/issues/3")
	if !silent.has("postback") || silent.has("login") {
		t.Fatalf("after ExpireApp the provider shows %q", silent.title())
	}
	if r := b.submit(silent, "postback", nil); !r.has("issue") {
		t.Errorf("silent renewal ended at %s", r.Request.URL)
	}

	s.Expire()
	if r := b.get("/issues/3"); !r.has("login") {
		t.Errorf("after Expire: %s", r.title())
	}
	if r := b.get("/issues/3?soft=1"); r.StatusCode != http.StatusOK || !r.has("signed-out") || r.title() != "Please sign in" {
		t.Errorf("soft page: %d %s", r.StatusCode, r.title())
	}
	if r := b.get("/api/issues/3"); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("API: %d", r.StatusCode)
	}
}

func TestLogoutByLink(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	if r := b.get("/auth/logout"); !r.has("signed-out") {
		t.Errorf("logout shows %s", r.title())
	}
	if r := b.get("/api/issues/3"); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("still signed in: %d", r.StatusCode)
	}
}

func TestNextStaysOnTheSite(t *testing.T) {
	s := start(t)
	for _, next := range []string{"//evil.localhost/", "http://evil.localhost/", `/\evil.localhost`, "", "issues", "/\t/evil.localhost"} {
		b := newBrowser(t, s)
		in := login(b, b.get("/auth/login?next="+url.QueryEscape(next)), "alice", "Secret-alice-1")
		if in.Request.URL.String() != s.AppURL()+"/issues" {
			t.Errorf("next=%q leads to %s", next, in.Request.URL)
		}
	}
}
