package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// endless runs a call that only an event can end before its time.
func endless(t *testing.T, p *browser.Page) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.Wait(deadline(t), nil, "#never", "", limit) }()
	return done
}

func testCrash(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/a", "<title>a</title><body>a")
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/a"))
	done := endless(t, p)
	s.Crash(p)
	wantCode(t, <-done, abi.ErrPageCrashed)
	_, err := p.Extract(deadline(t), abi.Extraction{Cols: []abi.Col{{Name: "a"}}})
	wantCode(t, err, abi.ErrPageCrashed)
	visit(t, p, site.URL("app", "/a")) // revives it
	if info, err := p.Info(deadline(t)); err != nil || info.Title != "a" {
		t.Errorf("after the crash: %v, %v", info, err)
	}
	s.Crash(p)
	if err := p.Reset(deadline(t), browser.Policy{}); err != nil {
		t.Errorf("resetting a crashed tab: %v", err)
	}
}

func testKilled(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/a", "<body>a")
	life := s.Fresh(deadline(t), t)
	own := Subject{Browser: life.Browser}
	p := open(t, own, allow)
	visit(t, p, site.URL("app", "/a"))
	done := endless(t, p)
	life.Kill()
	wantCode(t, <-done, abi.ErrBrowserGone)
	<-life.Browser.Gone()
	_, err := p.Info(deadline(t))
	wantCode(t, err, abi.ErrBrowserGone)
	_, err = life.Browser.Open(deadline(t), browser.Policy{})
	wantCode(t, err, abi.ErrBrowserGone)
	_, err = life.Browser.Cookies(deadline(t))
	wantCode(t, err, abi.ErrBrowserGone)
	own.Browser = life.Again(deadline(t), t)
	visit(t, open(t, own, allow), site.URL("app", "/a"))
}

// testFirstDeadline has the first calls' time run out before the next ones.
func testFirstDeadline(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/a", "<title>a</title><body>a")
	ctx, cancel := context.WithCancel(deadline(t))
	life := s.Fresh(ctx, t)
	first, err := life.Browser.Open(ctx, browser.Policy{Check: allow})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	visit(t, first, site.URL("app", "/a"))
	visit(t, open(t, Subject{Browser: life.Browser}, allow), site.URL("app", "/a"))
	if _, err := first.Info(ctx); err == nil {
		t.Error("a call took no notice of its own deadline")
	}
}

// testDownload leads tabs to downloads, which must not end up with the user.
func testDownload(t *testing.T, s Subject) {
	site := NewSite(t)
	attachment := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=a.bin")
		_, _ = w.Write([]byte("x"))
	}
	site.Handle("/down", attachment)
	site.Handle("/binary", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("\x00\x01"))
	})
	site.Handle("/theirs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=theirs.bin")
		_, _ = w.Write([]byte("x"))
	})
	site.HTML("/a", `<title>a</title><body><a id=plain href=/down>x</a> <a id=named href=/a?named download=b.html>x</a><iframe src=/down></iframe>`)
	before := len(stored(s.Downloads))
	p := open(t, s, allow)
	for _, path := range []string{"/down", "/binary"} {
		_, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", path)})
		wantCode(t, err, abi.ErrUnsupportedAction)
	}
	visit(t, p, site.URL("app", "/a"))
	for _, sel := range []string{"#plain", "#named"} {
		if err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: sel}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := p.Info(deadline(t)); err != nil || info.Title != "a" {
		t.Errorf("after the downloads the tab is at %v, %v", info, err)
	}
	if s.Downloads == "" {
		return
	}
	f := s.Foreign(t) // the user's own still work, and take at least as long
	_ = f.Go(deadline(t), site.URL("app", "/theirs"))
	eventually(t, "the user's own download", func() bool { return slices.Contains(stored(s.Downloads), "theirs.bin") })
	if names := stored(s.Downloads); len(names) != before+1 {
		t.Errorf("stored for the user: %v", names)
	}
	if err := f.Close(deadline(t)); err != nil {
		t.Error(err)
	}
}

// stored lists the downloads in a folder that are complete.
func stored(folder string) []string {
	var names []string
	list, _ := os.ReadDir(folder)
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") && !strings.HasSuffix(e.Name(), ".crdownload") {
			names = append(names, e.Name())
		}
	}
	return names
}

// testSubresource has a page whose picture never comes.
func testSubresource(t *testing.T, s Subject) {
	site := NewSite(t)
	end := make(chan struct{})
	defer close(end)
	site.Handle("/never", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	})
	site.HTML("/a", "<title>a</title><body><p id=x>1</p><img src=/never>")
	p := open(t, s, allow)
	if v := visit(t, p, site.URL("app", "/a")); v.Info.Title != "a" {
		t.Errorf("the visit ended at %+v", v)
	}
	if text, _, err := p.Text(deadline(t), nil, "#x", ""); err != nil || text != "1" {
		t.Errorf("the page reads %q, %v", text, err)
	}
}

// testInsideCheck asks the page for something while a request is decided about,
// from the code that decides.
func testInsideCheck(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/a", `<meta name=csrf content=token-of-the-page><body><p id=out><script>fetch("/b").then(()=>out.textContent="sent")</script>`)
	var p *browser.Page
	held := false
	p = open(t, s, func(r browser.Request) error {
		if r.Kind == browser.KindXHR {
			held = r.Tokens("token-of-the-page") && !r.Tokens("something-else")
			_, _, _, _ = p.URL(), p.Dialogs(), p.Refused(), p.Err()
		}
		return nil
	})
	visit(t, p, site.URL("app", "/a"))
	eventually(t, "the page's request", func() bool {
		text, _, err := p.Text(deadline(t), nil, "#out", "")
		return err == nil && text == "sent"
	})
	if !held {
		t.Error("the policy could not ask the page")
	}
}

// testSlowCheck holds up one tab's requests for as long as another tab is read.
func testSlowCheck(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/many", `<body><script>for(let i=0;i<200;i++)fetch("/n?"+i)</script>`)
	site.HTML("/a", `<body><p id=x>1`)
	began, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := open(t, s, func(r browser.Request) error {
		if r.Kind == browser.KindXHR {
			once.Do(func() { close(began) })
			<-goOn
		}
		return nil
	})
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	visit(t, slow, site.URL("app", "/many"))
	<-began
	other := open(t, s, allow)
	visit(t, other, site.URL("other", "/a"))
	for range 10 {
		if _, found, err := other.Text(deadline(t), nil, "#x", ""); err != nil || !found {
			t.Fatalf("while another tab's policy takes its time: %v", err)
		}
	}
	if site.Saw("/n?") {
		t.Error("a request went out undecided")
	}
	release()
	if !site.WaitFor("/n?199", limit) {
		t.Error("the requests were never let go")
	}
}

// testCycles opens, uses and closes tabs, some at once: nothing may stay.
func testCycles(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/a", "<body><p id=x>1")
	cycles := 3
	if s.Long {
		cycles = 15
	}
	tabs, goroutines := s.Tabs(t), runtime.NumGoroutine()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range cycles {
				if err := cycle(t.Context(), s, site.URL(fmt.Sprintf("app%d", i), "/a")); err != nil {
					t.Errorf("%d.%d: %v", i, j, err)
				}
			}
		})
	}
	wg.Wait()
	// Fewer is right, too: a tab of the test before may have been closing.
	eventually(t, "no more tabs than before", func() bool { return s.Tabs(t) <= tabs })
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
}

func cycle(ctx context.Context, s Subject, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p, err := s.Browser.Open(ctx, browser.Policy{Check: allow})
	if err != nil {
		return err
	}
	if _, err := p.Navigate(ctx, browser.Navigation{URL: url}); err != nil {
		return err
	}
	if _, found, err := p.Text(ctx, nil, "#x", ""); err != nil || !found {
		return fmt.Errorf("reading: found %t, %w", found, err)
	}
	return p.Close()
}
