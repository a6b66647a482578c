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

// trackerPages is a manifest's conditions as a real tracker has them.
func trackerPages(site *Site) abi.Pages {
	return abi.Pages{
		SignedIn:  []abi.Condition{{Selector: "#user", Absent: "#maintenance"}},
		SignedOut: []abi.Condition{{Selector: "form#login"}, {Origin: site.Origin("idp")}, {Path: "/login/*"}, {Title: "Login required"}, {Status: 401}},
		Forbidden: []abi.Condition{{Status: 403}, {Selector: ".error", Text: "No permission"}},
		Missing:   []abi.Condition{{Status: 404}, {Text: "Could not load ticket"}},
	}
}

func testNavigate(t *testing.T, s Subject) {
	t.Run("classes", func(t *testing.T) { testClasses(t, s) })
	t.Run("errors", func(t *testing.T) { testNavigateErrors(t, s) })
	t.Run("late", func(t *testing.T) { testLate(t, s) })
	t.Run("referrer", func(t *testing.T) { testReferrer(t, s) })
}

func testClasses(t *testing.T, s Subject) {
	site := NewSite(t)
	status := func(path string, code int, body string) {
		site.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		})
	}
	site.HTML("/in", `<title>Tickets</title><body><p id=user>ada`)
	site.HTML("/out", `<title>x</title><body><form id=login></form>`)
	site.HTML("/both", `<title>x</title><body><p id=user>ada<form id=login></form>`)
	site.HTML("/title", `<title>Wiki - Login required</title><body><p id=user>x`)
	site.HTML("/text", `<body><p class=error>Sorry.<p class=error>  No
 permission here`)
	site.HTML("/soft404", `<body><p id=user>ada<p>Could not load   ticket 9`)
	site.HTML("/login/step2", `<body>password`)
	site.HTML("/late", `<body><script>setTimeout(()=>document.body.innerHTML="<p id=user>",300)</script>`)
	site.HTML("/late-title", `<title>Wait</title><body><script>setTimeout(()=>document.title="Login required",300)</script>`)
	site.HTML("/meta", `<meta http-equiv=refresh content="0;url=/in"><body>moment`)
	site.HTML("/hop", `<body><script>location="http://idp.localhost:{port}/idp"</script>`)
	site.HTML("/idp", `<body>sign in`)
	site.HTML("/renew", `<body><script>location="http://idp.localhost:{port}/postback"</script>`)
	site.HTML("/postback", `<body>taking you back<form method=post action="http://app.localhost:{port}/callback"></form><script>setTimeout(()=>document.forms[0].submit(),300)</script>`)
	site.Handle("/callback", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/in", http.StatusSeeOther) })
	status("/403", 403, `<body><p id=user>ada`)
	status("/404", 404, `<body><p id=user>ada`)
	status("/401", 401, `<body>`)
	site.Handle("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/404", http.StatusFound) })
	p := open(t, s, allow)
	for _, c := range []struct {
		path   string
		class  browser.Class
		status int
		url    string
	}{
		{"/in", browser.SignedIn, 200, ""},
		{"/out", browser.SignedOut, 200, ""},
		{"/both", browser.SignedOut, 200, ""},
		{"/title", browser.SignedOut, 200, ""},
		{"/text", browser.Forbidden, 200, ""},
		{"/soft404", browser.Missing, 200, ""},
		{"/login/step2", browser.SignedOut, 200, ""},
		{"/late", browser.SignedIn, 200, ""},
		{"/late-title", browser.SignedOut, 200, ""},
		{"/meta", browser.SignedIn, 200, "/in"},
		{"/hop", browser.SignedOut, 200, ""},
		{"/renew", browser.SignedIn, 200, "/in"},
		{"/403", browser.Forbidden, 403, ""},
		{"/404", browser.Missing, 404, ""},
		{"/401", browser.SignedOut, 401, ""},
		{"/redirect", browser.Missing, 404, "/404"},
		{"/in#part", browser.SignedIn, 200, ""},
	} {
		v, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", c.path), Pages: trackerPages(site)})
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if v.Class != c.class || v.Status != c.status {
			t.Errorf("%s: class %s, status %d, want %s, %d", c.path, v.Class, v.Status, c.class, c.status)
		}
		if c.url != "" && v.Info.URL != site.URL("app", c.url) {
			t.Errorf("%s: ended at %q", c.path, v.Info.URL)
		}
	}
	v, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", "/in"), Pages: trackerPages(site)})
	if err != nil || v.Info.Title != "Tickets" {
		t.Errorf("Navigate = %+v, %v", v, err)
	}
}

func testNavigateErrors(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/strange", `<title>Something</title><body>else`)
	site.HTML("/in", `<body><p id=user>ada`)
	site.Handle("/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	site.Handle("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=x.zip")
		_, _ = fmt.Fprint(w, "zip")
	})
	p := open(t, s, allow)
	short := func(n browser.Navigation, d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		_, err := p.Navigate(ctx, n)
		return err
	}
	pages := trackerPages(site)
	e := errorOf(t, short(browser.Navigation{URL: site.URL("app", "/strange"), Pages: pages}, time.Second), abi.ErrSelectorDrift)
	if !strings.Contains(e.Msg, `"Something"`) || !strings.Contains(e.Msg, "status 200") {
		t.Errorf("the error does not say what came: %v", e)
	}
	wantCode(t, short(browser.Navigation{URL: site.URL("app", "/in"), Pages: pages, Wait: "#never"}, time.Second), abi.ErrSelectorDrift)
	wantCode(t, short(browser.Navigation{URL: site.URL("app", "/204"), Pages: pages}, limit), abi.ErrUnsupportedAction)
	wantCode(t, short(browser.Navigation{URL: site.URL("app", "/download"), Pages: pages}, limit), abi.ErrUnsupportedAction)
	wantCode(t, short(browser.Navigation{URL: "http://127.0.0.1:1/", Pages: pages}, limit), abi.ErrTimeout)
	bad := abi.Pages{SignedIn: []abi.Condition{{Selector: "p:::"}}}
	wantCode(t, short(browser.Navigation{URL: site.URL("app", "/in"), Pages: bad}, limit), abi.ErrInvalidArgs)
	v, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", "/in"), Pages: pages, Wait: "#user"})
	if err != nil || v.Class != browser.SignedIn {
		t.Errorf("after all that: %+v, %v", v, err)
	}
}

// testLate is about pages whose parts arrive one after the other.
func testLate(t *testing.T, s Subject) {
	site := NewSite(t)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	hang := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	}
	site.Handle("/hang", hang)
	site.HTML("/image", `<body><p id=user>ada<img src=/hang>`)
	site.HTML("/defer", `<body><script defer src=/hang></script><p id=user>ada`)
	site.HTML("/block", `<body><p id=user>ada<script src=/hang></script><form id=login>`)
	site.HTML("/style", `<body><p id=user>ada<link rel=stylesheet href=/hang>`)
	site.Handle("/chunks", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><body><p id=user>ada</p>`, strings.Repeat("<!-- -->", 4096))
		_ = http.NewResponseController(w).Flush()
		tick := time.NewTimer(300 * time.Millisecond)
		defer tick.Stop()
		<-tick.C
		_, _ = fmt.Fprint(w, `<form id=login></form>`)
	})
	p := open(t, s, allow)
	for path, want := range map[string]browser.Class{
		"/image": browser.SignedIn, "/defer": browser.SignedIn, "/block": browser.SignedIn, "/style": browser.SignedIn,
		"/chunks": browser.SignedOut, // what comes last counts as well
	} {
		v, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", path), Pages: trackerPages(site)})
		if err != nil || v.Class != want {
			t.Errorf("%s: %s, %v, want %s", path, v.Class, err, want)
		}
		if _, found, err := p.Text(deadline(t), nil, "#user", ""); err != nil || !found {
			t.Errorf("%s: the page can't be read: %v", path, err)
		}
	}
}

func testReferrer(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/a", "<body>a")
	p := open(t, s, allow)
	from := site.URL("app", "/list?q=1")
	for _, referrer := range []string{"", from} {
		site.Forget()
		if _, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", "/a"), Referrer: referrer}); err != nil {
			t.Fatal(err)
		}
		for _, h := range site.Hits() {
			if got := h.Header.Get("Referer"); h.Path == "/a" && got != referrer {
				t.Errorf("referrer %q, want %q", got, referrer)
			}
		}
		if !site.Saw("/a") {
			t.Error("the page was never asked for")
		}
	}
}
