package browsertest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// lastGasp is a page that keeps its renderer busy on the way out and then sends.
const lastGasp = `<title>gasp</title><body><script>
addEventListener("pagehide", () => {
	const end = performance.now() + 300;
	while (performance.now() < end);
	navigator.sendBeacon("/hit/late", "a");
	fetch("/hit/late-fetch", {method: "POST", keepalive: true});
});
try { fetchLater("/hit/later", {method: "POST"}) } catch {}
setInterval(() => fetch("/hit/timer", {method: "POST"}), 50);
</script>`

func testLifetime(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/gasp", lastGasp)
	site.HTML("/plain", "<title>plain</title><body>plain")
	t.Run("reset", func(t *testing.T) {
		p := open(t, s, refuseHits)
		visit(t, p, site.URL("app", "/gasp"))
		if err := p.Reset(deadline(t), browser.Policy{Check: allow}); err != nil {
			t.Fatal(err)
		}
		if got := p.Refused(); len(got) != 0 {
			t.Errorf("after a reset the old document's refusals are still told: %v", got)
		}
		visit(t, p, site.URL("other", "/plain"))
		if site.Saw("/hit/") {
			t.Errorf("the old document's requests went out under the new policy: %v", site.Hits())
		}
	})
	t.Run("redirect", func(t *testing.T) { testLateRedirect(t, s) })
	t.Run("close", func(t *testing.T) {
		p := open(t, s, refuseHits)
		visit(t, p, site.URL("app", "/gasp"))
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		visit(t, open(t, s, allow), site.URL("app", "/plain"))
		if site.Saw("/hit/") {
			t.Errorf("the closed tab's requests went out: %v", site.Hits())
		}
		_, err := p.Info(deadline(t))
		wantCode(t, err, abi.ErrPageClosed)
	})
	t.Run("blank", func(t *testing.T) {
		p := open(t, s, nil)
		_, err := p.Navigate(deadline(t), browser.Navigation{URL: site.URL("app", "/plain?nil-policy")})
		wantCode(t, err, abi.ErrOriginDenied)
		if site.Saw("/plain?nil-policy") {
			t.Error("a policy without a check let a request out")
		}
	})
}

// testLateRedirect answers a request of a document that is gone with a redirect:
// where that leads is no request of the policy that the tab is under by then.
func testLateRedirect(t *testing.T, s Subject) {
	site := NewSite(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	site.Handle("/slow", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-answer
		http.Redirect(w, r, "/hit/redirected", http.StatusTemporaryRedirect)
	})
	site.HTML("/ask", `<body><script>fetch("/slow", {method: "POST", keepalive: true})</script>`)
	site.HTML("/plain", "<title>plain</title><body>plain")
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/ask"))
	<-asked
	if err := p.Reset(deadline(t), browser.Policy{Check: allow}); err != nil {
		t.Fatal(err)
	}
	visit(t, p, site.URL("app", "/plain"))
	close(answer)
	for end := deadline(t); !site.Saw("/hit/") && end.Err() == nil; {
		if slices.ContainsFunc(p.Refused(), func(r browser.Refusal) bool { return strings.Contains(r.URL, "/hit/redirected") }) {
			return
		}
	}
	t.Errorf("the redirect of a document that is gone was followed, or never shown: %v", site.Hits())
}

func testRefusals(t *testing.T, s Subject) {
	site := NewSite(t)
	serveVectors(site)
	own := &abi.Error{Code: abi.ErrForbidden, Op: "policy", Msg: "no such entry", Hint: "look at the reads"}
	no := func(r browser.Request) error {
		if strings.Contains(r.URL, "/hit/") && !strings.Contains(r.URL, "redirect") {
			return fmt.Errorf("matching: %w", own)
		}
		return nil
	}
	for name, url := range map[string]string{
		"navigate":     site.URL("app", "/hit/a"),
		"redirect":     site.URL("app", "/redirect?to=/hit/b"),
		"redirect-far": site.URL("app", "/redirect?to="+site.URL("other", "/hit/c")),
		"script":       site.URL("app", "/js?location='/hit/d'"),
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, s, no)
			_, err := p.Navigate(deadline(t), browser.Navigation{
				URL: url, Pages: abi.Pages{SignedIn: []abi.Condition{{Selector: "#never"}}},
			})
			var e *abi.Error
			if !errors.As(err, &e) || e != own {
				t.Fatalf("error = %v, want the policy's own", err)
			}
			got := p.Refused()
			if len(got) != 1 || got[0].Kind != browser.KindDocument || got[0].Method != "GET" || !errors.Is(got[0].Err, abi.ErrForbidden) {
				t.Errorf("Refused = %+v", got)
			}
			visit(t, p, site.URL("app", "/plain")) // the tab is good for more
		})
	}
	if site.Saw("/hit/") {
		t.Errorf("a refused navigation reached the server: %v", site.Hits())
	}
}

func testSchemes(t *testing.T, s Subject) {
	p := open(t, s, allow)
	for _, url := range []string{
		"", "about:blank", "file:///etc/passwd", "chrome://version", "data:text/html,x", "javascript:1", "view-source:http://a.localhost/",
		"devtools://devtools/bundled/inspector.html", "chrome-extension://x/y.html", "blob:http://a.localhost/x", "ftp://a.localhost/",
		"//a.localhost/", "/x", "http:", "http:///x", " http://a.localhost/", "http://a.localhost/\n", `http:\\a.localhost\`, "http://a.localhost/ x",
	} {
		_, err := p.Navigate(deadline(t), browser.Navigation{URL: url})
		wantCode(t, err, abi.ErrOriginDenied)
		_, err = p.Fetch(deadline(t), browser.Fetch{Method: "GET", URL: url})
		wantCode(t, err, abi.ErrOriginDenied)
	}
}

// testRequests shows what a policy is told of a request.
func testRequests(t *testing.T, s Subject) {
	site := NewSite(t)
	// Many forms that repeat one token don't crowd out another's.
	repeated := strings.Repeat("<form><input type=hidden value=repeated-token></form>", 300)
	site.HTML("/form", `<title>form</title><meta name=csrf content=meta-token-1><body>`+repeated+`
<form method=post action=/post><input type=hidden name=token value=hidden-token-1><input name=a value="é ü"><textarea name=b>x
y</textarea><button id=url>url</button></form>
<form method=post action=/post enctype=multipart/form-data><input name=a value="é"><input type=file name=f><button id=multi>multi</button></form>
<form method=post action=/post enctype=multipart/form-data><input name=a value="é"><button id=multi2>multi2</button></form>
<form method=post action=/post enctype=text/plain><input name=a value=1><button id=plain>plain</button></form>`)
	site.HTML("/post", "<title>posted</title><body>posted")
	var mu sync.Mutex
	var posts []browser.Request
	var held []bool
	p := open(t, s, func(r browser.Request) error {
		if r.Method == http.MethodPost {
			mu.Lock()
			defer mu.Unlock()
			posts = append(posts, r)
			held = []bool{r.Tokens("hidden-token-1"), r.Tokens("meta-token-1"), r.Tokens("hidden-token-2"), r.Tokens("")}
		}
		return nil
	})
	for id, want := range map[string]struct {
		contentType, body string
		complete          bool
	}{
		"url":    {"application/x-www-form-urlencoded", "token=hidden-token-1&a=%C3%A9+%C3%BC&b=x%0D%0Ay", true},
		"multi":  {"multipart/form-data; boundary=", "filename=\"\"", true},
		"multi2": {"multipart/form-data; boundary=", "\r\n\r\né\r\n", true},
		"plain":  {"text/plain", "a=1\r\n", true},
	} {
		t.Run(id, func(t *testing.T) {
			posts = nil
			visit(t, p, site.URL("app", "/form"))
			if err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: "#" + id}, ""); err != nil {
				t.Fatal(err)
			}
			if info, err := p.Info(deadline(t)); err != nil || info.Title != "posted" {
				t.Errorf("after the click the tab is at %v, %v", info, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(posts) != 1 {
				t.Fatalf("%d posts, want 1", len(posts))
			}
			r := posts[0]
			if r.Kind != browser.KindDocument || !strings.HasPrefix(r.ContentType, want.contentType) ||
				!strings.Contains(string(r.Body), want.body) || r.BodyComplete != want.complete {
				t.Errorf("request = %+v, body %q, want %+v", r, r.Body, want)
			}
			if fmt.Sprint(held) != "[true true false false]" {
				t.Errorf("Tokens said %v", held)
			}
		})
	}
}

// testBodyTold shows that a body which is said to be complete is what arrives.
func testBodyTold(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/bodies", `<title>bodies</title><body><script>
(async () => {
	const post = (name, body) => fetch("/post?" + name, {method: "POST", body}).catch(() => 0);
	const form = new FormData(); form.append("a", "é"); form.append("f", new Blob(["blob-part"]), "n.txt");
	await post("string", "a=1");
	await post("params", new URLSearchParams({a: "ü"}));
	await post("form", form);
	await post("bytes", new Uint8Array([0, 255, 128]));
	await post("blob", new Blob(["b".repeat(100)]));
	await post("big", "x".repeat(1500000));
	await post("big-blob", new Blob([new Uint8Array(3000000).fill(65)]));
	try {
		const dir = await navigator.storage.getDirectory();
		const w = await (await dir.getFileHandle("f", {create: true})).createWritable();
		await w.write("on disk"); await w.close();
		const file = await (await dir.getFileHandle("f")).getFile();
		await post("file", file);
		const withFile = new FormData(); withFile.append("f", file);
		await post("form-file", withFile);
	} catch {}
	await fetch("/end");
})()</script>`)
	var mu sync.Mutex
	told := map[string]browser.Request{}
	p := open(t, s, func(r browser.Request) error {
		if _, name, ok := strings.Cut(r.URL, "/post?"); ok {
			mu.Lock()
			defer mu.Unlock()
			told[name] = r
		}
		return nil
	})
	visit(t, p, site.URL("app", "/bodies"))
	if !site.WaitFor("/end", limit) {
		t.Fatal("the page did not come to its end")
	}
	mu.Lock()
	defer mu.Unlock()
	complete := 0
	for _, h := range site.Hits() {
		name, ok := strings.CutPrefix(h.Path, "/post?")
		if !ok {
			continue
		}
		r, ok := told[name]
		if !ok {
			t.Errorf("%s: the policy was not asked", name)
		}
		if r.BodyComplete {
			complete++
			if string(r.Body) != h.Body {
				t.Errorf("%s: told %d bytes, %d arrived", name, len(r.Body), len(h.Body))
			}
		}
	}
	if complete < 5 {
		t.Errorf("only %d of %d bodies were told completely", complete, len(told))
	}
}
