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

// testRobust is the table of what happens to browsers and tabs: an event in each
// row, and what is promised for it. Calls have far more time than they need, so
// that an error that is not about time did not wait for it.
func testRobust(t *testing.T, s Subject) {
	for _, row := range []struct {
		event string
		test  func(*testing.T, Subject)
	}{
		{"Page.crash / chrome://crash", testCrash},
		{"kill -9 browser", testKilled},
		{"first Do with a timeout context", testFirstDeadline},
		{"alert()", testDialogs},
		{"beforeunload", testBeforeunload},
		{"download", testDownload},
		{"URL never answers", testSilence},
		{"subresource hangs", testSubresource},
		{"target=_blank", testPopupsClosed},
		{"NavigateBack from bfcache", testHistory},
		{"Run inside Listen", testInsideCheck},
		{"slow listener", testSlowCheck},
		{"60 tab cycles", testCycles},
		{"endless script", testSpin},
		{"closed tab", testClosed},
		{"removed interfaces", testRemoved},
	} {
		t.Run(row.event, func(t *testing.T) { row.test(t, s) })
	}
}

func testDialogs(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/alert", `<title>a</title><body><script>alert("hello");document.title="after"</script>`)
	site.HTML("/frame", `<body><iframe src="http://other.localhost:{port}/alert"></iframe>`)
	site.HTML("/ask", `<body><p id=out></p><button id=c onclick="out.textContent=confirm('sure?')">c</button>
<button id=p onclick="out.textContent=String(prompt('name?','x'))">p</button>`)
	p := open(t, s, allow)
	if v := visit(t, p, site.URL("app", "/alert")); v.Info.Title != "after" {
		t.Errorf("the page did not go on: %+v", v)
	}
	want := []abi.DialogInfo{{Type: "alert", Message: "hello"}}
	if got := p.Dialogs(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Dialogs = %v, want %v", got, want)
	}
	if got := p.Dialogs(); len(got) != 0 {
		t.Errorf("Dialogs tells twice: %v", got)
	}
	visit(t, p, site.URL("app", "/frame"))
	eventually(t, "the frame's alert", func() bool { return fmt.Sprint(p.Dialogs()) == fmt.Sprint(want) })
	for _, c := range []struct {
		id, out string
		answer  abi.Dialog
		info    abi.DialogInfo
	}{
		{"#c", "false", "", abi.DialogInfo{Type: "confirm", Message: "sure?"}},
		{"#c", "false", abi.DialogCancel, abi.DialogInfo{Type: "confirm", Message: "sure?"}},
		{"#c", "true", abi.DialogAccept, abi.DialogInfo{Type: "confirm", Message: "sure?", Accepted: true}},
		{"#p", "null", "", abi.DialogInfo{Type: "prompt", Message: "name?"}},
	} {
		visit(t, p, site.URL("app", "/ask"))
		if err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: c.id}, c.answer); err != nil {
			t.Fatal(err)
		}
		if out, _, err := p.Text(deadline(t), nil, "#out", ""); err != nil || out != c.out {
			t.Errorf("%s answered %q: page got %q, %v", c.id, c.answer, out, err)
		}
		if got := p.Dialogs(); len(got) != 1 || got[0] != c.info {
			t.Errorf("Dialogs = %v, want %v", got, c.info)
		}
	}
}

func testBeforeunload(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/stay", `<title>stay</title><body><input id=i><script>addEventListener("beforeunload",e=>e.preventDefault())</script>`)
	site.HTML("/next", `<title>next</title><body>x`)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/stay"))
	if err := p.Act(deadline(t), abi.Step{Op: abi.OpFill, Selector: "#i", Value: "x"}, ""); err != nil {
		t.Fatal(err)
	}
	_, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", "/next")})
	wantCode(t, err, abi.ErrDialogOpen)
	if got := p.Dialogs(); len(got) != 1 || got[0].Type != "beforeunload" || got[0].Accepted {
		t.Errorf("Dialogs = %v", got)
	}
	if err := p.Reset(deadline(t), browser.Policy{Check: allow}); err != nil {
		t.Fatalf("the host can't leave the page: %v", err)
	}
	if v := visit(t, p, site.URL("app", "/next")); v.Info.Title != "next" {
		t.Errorf("after the reset: %+v", v)
	}
}

// testSilence is about servers that never answer.
func testSilence(t *testing.T, s Subject) {
	site := NewSite(t)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	site.Handle("/hang", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	site.Handle("/half", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<!doctype html><title>half</title><body>", strings.Repeat("x", 8192))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	site.HTML("/plain", `<title>plain</title><body>plain`)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/plain"))
	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := p.Navigate(short, browser.Navigation{URL: site.URL("app", "/hang")})
	wantCode(t, err, abi.ErrTimeout)
	if info, err := p.Info(deadline(t)); err != nil || info.Title != "plain" {
		t.Errorf("after the timeout the tab is at %v, %v", info, err)
	}
	half, cancel2 := context.WithTimeout(t.Context(), time.Second)
	defer cancel2()
	_, err = p.Navigate(half, browser.Navigation{
		URL: site.URL("app", "/half"), Pages: abi.Pages{SignedIn: []abi.Condition{{Selector: "#never"}}},
	})
	wantCode(t, err, abi.ErrSelectorDrift)
	gone, cancel3 := context.WithCancel(t.Context())
	go func() {
		site.WaitFor("/hang?2", limit)
		cancel3()
	}()
	_, err = p.Navigate(gone, browser.Navigation{URL: site.URL("app", "/hang?2")})
	wantCode(t, err, abi.ErrTimeout)
	visit(t, p, site.URL("app", "/plain"))
}

// testSpin is about pages whose scripts never end.
func testSpin(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/spin", `<title>spin</title><body><p id=user>x<script>setTimeout(()=>{for(;;);},1500)</script>`)
	site.HTML("/again", `<title>spin</title><body><p id=user>x<script>setTimeout(()=>setInterval(()=>{for(;;);}),1500)</script>`)
	site.HTML("/plain", `<title>plain</title><body>plain`)
	if !s.Whole {
		t.Skip("the engine is the same")
	}
	for _, path := range []string{"/spin", "/again"} {
		p := open(t, s, allow)
		visit(t, p, site.URL("app", path))
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		wantCode(t, p.Wait(short, nil, "#never", "", 0), abi.ErrTimeout)
		if s.Attached && path == "/again" {
			// Its renderer may be the user's as well: the tab is given up.
			_, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", "/plain")})
			wantCode(t, err, abi.ErrPageClosed)
			visit(t, open(t, s, allow), site.URL("app", "/plain"))
			continue
		}
		if v := visit(t, p, site.URL("app", "/plain")); v.Info.Title != "plain" {
			t.Errorf("the tab did not recover: %+v", v)
		}
	}
}

func testClosed(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/close", `<title>x</title><body><button id=b onclick="window.close()">b</button>`)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/close"))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	_, err := p.Extract(deadline(t), abi.Extraction{Cols: []abi.Col{{Name: "a"}}})
	wantCode(t, err, abi.ErrPageClosed)
	wantCode(t, p.Reset(deadline(t), browser.Policy{}), abi.ErrPageClosed)
	visit(t, open(t, s, allow), site.URL("app", "/close"))
}

func testPopupsClosed(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/pop", `<title>opener</title><body><button id=b onclick="for(const u of ['','/x','about:blank'])window.open(u)">b</button>
<a id=l target=_blank href=/y>l</a>`)
	defer func() {
		if site.Saw("/x") || site.Saw("/y") {
			t.Errorf("a popup loaded: %v", site.Hits())
		}
	}()
	tabs := s.Tabs(t)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/pop"))
	for _, sel := range []string{"#b", "#l"} {
		if err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: sel}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if s.Attached {
		visit(t, open(t, s, allow), site.URL("app", "/pop?again")) // as long as a popup would have taken
		if s.Tabs(t) != tabs+2 {
			t.Errorf("%d tabs, and two of them ours: a popup stayed", s.Tabs(t))
		}
		return
	}
	var kinds []browser.Kind
	eventually(t, "the popup's refusal", func() bool {
		for _, r := range p.Refused() {
			kinds = append(kinds, r.Kind)
		}
		return len(kinds) >= 1
	})
	if kinds[0] != browser.KindPopup {
		t.Errorf("kinds = %v", kinds)
	}
	if info, err := p.Info(deadline(t)); err != nil || info.Title != "opener" {
		t.Errorf("the opener is at %v, %v", info, err)
	}
}

// testHistory goes back, which must be a load like any other.
func testHistory(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/one", `<title>one</title><body>1`)
	site.HTML("/two", `<title>two</title><body><button id=b onclick="history.back()">b</button>`)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/one"))
	visit(t, p, site.URL("app", "/two"))
	if err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: "#b"}, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := p.Info(deadline(t)); err != nil || info.Title != "one" {
		t.Errorf("after history.back: %v, %v", info, err)
	}
}

// testRemoved looks for what the guard could not see.
func testRemoved(t *testing.T, s Subject) {
	site := NewSite(t)
	const look = `[typeof WebTransport, typeof RTCPeerConnection].join()`
	site.HTML("/look", `<body><p id=page></p><p id=frame></p><p id=blank></p><p id=worker></p><p id=oopif></p><script>
page.textContent = `+look+`;
const i = document.createElement("iframe"); document.body.append(i); blank.textContent = i.contentWindow.eval("`+look+`");
new Worker(URL.createObjectURL(new Blob(["postMessage(`+look+`)"]))).onmessage = (e) => worker.textContent = e.data;
onmessage = (e) => oopif.textContent = e.data;
</script><iframe src="http://other.localhost:{port}/tell"></iframe>`)
	site.HTML("/tell", `<script>parent.postMessage(`+look+`, "*")</script>`)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/look"))
	for _, id := range []string{"#page", "#blank", "#worker", "#oopif"} {
		var text string
		eventually(t, id, func() bool {
			text, _, _ = p.Text(deadline(t), nil, id, "")
			return text != ""
		})
		if text != "undefined,undefined" {
			t.Errorf("%s still has %s", id, text)
		}
	}
}
