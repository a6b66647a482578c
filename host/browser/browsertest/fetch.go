package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

func testFetch(t *testing.T, s Subject) {
	site := NewSite(t)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	site.Handle("/page", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "s1", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'")
		_, _ = fmt.Fprint(w, `<title>page</title><meta name=csrf content=meta-token-123><body><input type=hidden name=t value=hidden-token-456><input class=two value=a><input class=two value=b><input id=pw type=password value=s>`+hostile)
	})
	site.Handle("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		c, _ := r.Cookie("sid")
		_, _ = fmt.Fprint(w, r.Method, "|", r.Header.Get("Accept"), "|", r.Header.Get("Content-Type"), "|", c, "|", r.Header.Get("Origin"))
	})
	site.Handle("/latin", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
		_, _ = w.Write([]byte{'a', 0xe9})
	})
	site.Handle("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("x", abi.MaxBody+1)) })
	site.Handle("/basic", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		http.Error(w, "who", http.StatusUnauthorized)
	})
	site.Handle("/hang", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	site.Handle("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	p := open(t, s, refuseHits)
	visit(t, p, site.URL("app", "/page"))
	get := func(url string) (browser.Response, error) {
		return p.Fetch(deadline(t), browser.Fetch{Method: "GET", URL: url})
	}
	t.Run("answers", func(t *testing.T) {
		r, err := p.Fetch(deadline(t), browser.Fetch{Method: "POST", URL: site.URL("app", "/echo"), Accept: "text/x", ContentType: "text/y", Body: []byte("a\x00\xff")})
		want := "POST|text/x|text/y|sid=s1|" + site.Origin("app")
		if err != nil || string(r.Body) != want || r.Status != 200 || r.ContentType != "text/plain; charset=utf-8" {
			t.Errorf("Fetch = %+v %q, %v, want %q", r, r.Body, err, want)
		}
		if hits := site.Hits(); hits[len(hits)-1].Body != "a\x00\xff" {
			t.Errorf("the body arrived as %q", hits[len(hits)-1].Body)
		}
		if r, err := get(site.URL("app", "/latin")); err != nil || string(r.Body) != "aé" {
			t.Errorf("latin-1: %q, %v", r.Body, err)
		}
		if r, err := get(site.URL("app", "/missing")); err != nil || r.Status != 404 {
			t.Errorf("404: %+v, %v", r, err)
		}
		if r, err := get(site.URL("app", "/to?u=/echo")); err != nil || r.URL != site.URL("app", "/echo") {
			t.Errorf("redirect: %+v, %v", r, err)
		}
		if r, err := get(site.URL("app", "/basic")); err != nil || r.Status != 401 {
			t.Errorf("basic: %+v, %v", r, err)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		site.Forget()
		for _, url := range []string{site.URL("other", "/echo"), site.URL("app", "/hit/1"), site.URL("app", "/to?u=/hit/2")} {
			_, err := get(url)
			wantCode(t, err, abi.ErrOriginDenied)
		}
		_, err := get(site.URL("app", "/to?u="+site.URL("other", "/echo")))
		wantCode(t, err, abi.ErrTimeout) // the page's own rules forbid it
		for _, h := range site.Hits() {
			if h.Host != "app" || strings.HasPrefix(h.Path, "/hit/") {
				t.Errorf("a refused request reached the server: %s %s%s", h.Method, h.Host, h.Path)
			}
		}
		_, err = get(site.URL("app", "/big"))
		wantCode(t, err, abi.ErrLimitExceeded)
		_, err = p.Fetch(deadline(t), browser.Fetch{Method: "POST", URL: site.URL("app", "/echo"), Body: make([]byte, abi.MaxBody+1)})
		wantCode(t, err, abi.ErrLimitExceeded)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = p.Fetch(short, browser.Fetch{Method: "GET", URL: site.URL("app", "/hang")})
		wantCode(t, err, abi.ErrTimeout)
		if r, err := get(site.URL("app", "/echo")); err != nil || r.Status != 200 {
			t.Errorf("after all that: %+v, %v", r, err)
		}
	})
	t.Run("same-site", func(t *testing.T) {
		// Origins of one site share a renderer, and must not share a policy.
		for _, name := range []string{"x.app", "y.app", "x.app", "other", "y.app"} {
			visit(t, p, site.URL(name, "/page"))
			if r, err := get(site.URL(name, "/echo")); err != nil || r.Status != 200 {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
	})
	t.Run("values", func(t *testing.T) { testValues(t, s, site) })
}

func testValues(t *testing.T, s Subject, site *Site) {
	known := map[string]bool{}
	p := open(t, s, func(r browser.Request) error {
		if r.Method == http.MethodPost {
			for _, v := range []string{"meta-token-123", "hidden-token-456", "a", "made-up-token"} {
				known[v] = r.Tokens(v)
			}
		}
		return nil
	})
	visit(t, p, site.URL("app", "/page"))
	got, err := p.Values(deadline(t), []string{"meta[name=csrf]", "[name=t]"})
	if err != nil || fmt.Sprint(got) != "[meta-token-123 hidden-token-456]" {
		t.Errorf("Values = %v, %v", got, err)
	}
	for sel, code := range map[string]abi.Code{"#gone": abi.ErrSelectorDrift, ".two": abi.ErrTargetAmbiguous, "#pw": abi.ErrCapabilityDenied, "title": abi.ErrSelectorDrift} {
		_, err := p.Values(deadline(t), []string{sel})
		wantCode(t, err, code)
	}
	if _, err := p.Fetch(deadline(t), browser.Fetch{Method: "POST", URL: site.URL("app", "/echo"), Body: []byte{}}); err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"meta-token-123": true, "hidden-token-456": true, "a": false, "made-up-token": false}; fmt.Sprint(known) != fmt.Sprint(want) {
		t.Errorf("Tokens said %v, want %v", known, want)
	}
}
