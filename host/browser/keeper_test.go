package browser_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
)

// signIn serves a page that sets a session cookie, and one that tries to close its tab.
func signIn(site *browsertest.Site) {
	site.Handle("/in", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>In</title>"))
	})
	site.HTML("/leave", `<title>Leave</title><body><script>window.close(); open("", "_self").close(); setTimeout(() => { document.body.className = "tried" }, 200)</script>`)
}

func wantSession(t *testing.T, b *browser.Browser, n int) browser.Cookies {
	t.Helper()
	c, err := b.Cookies(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Len() != n {
		t.Fatalf("the browser has %d session cookies, want %d", c.Len(), n)
	}
	return c
}

// TestSessionOutlivesTabs: the browser starts without a window, and no session
// ends because a tab does.
func TestSessionOutlivesTabs(t *testing.T) {
	site := browsertest.NewSite(t)
	signIn(site)
	b := launch(deadline(t), t, browser.Options{})
	p := open(t, b)
	visit(t, p, site.URL("app", "/in"))
	if err := p.Close(); err != nil { // before the keeper would come by itself
		t.Fatal(err)
	}
	wantSession(t, b, 1)
	p = open(t, b)
	visit(t, p, site.URL("app", "/in"))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	wantSession(t, b, 1)
}

// TestSessionIsCarried: cookies can be set before the first tab is opened, and
// stay when it closes.
func TestSessionIsCarried(t *testing.T) {
	site := browsertest.NewSite(t)
	signIn(site)
	first := launch(deadline(t), t, browser.Options{})
	visit(t, open(t, first), site.URL("app", "/in"))
	kept := wantSession(t, first, 1)

	b := launch(deadline(t), t, browser.Options{})
	if err := b.SetCookies(deadline(t), kept); err != nil {
		t.Fatal(err)
	}
	wantSession(t, b, 1)
	if err := open(t, b).Close(); err != nil {
		t.Fatal(err)
	}
	wantSession(t, b, 1)
}

// TestPageKeepsItsTab: a page can't close its tab, and so takes no session along.
func TestPageKeepsItsTab(t *testing.T) {
	site := browsertest.NewSite(t)
	signIn(site)
	b := launch(deadline(t), t, browser.Options{})
	p := open(t, b)
	visit(t, p, site.URL("app", "/leave"))
	err := p.Wait(deadline(t), nil, "body.tried", "", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	visit(t, p, site.URL("app", "/in"))
	wantSession(t, b, 1)
}
