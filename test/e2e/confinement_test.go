package e2e

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

// A foreignVector is one way in which a page reaches for another origin: a
// behaviour of the sample site, and where it asks for something.
type foreignVector struct {
	path  string // of the page, with "{to}" for the other origin
	click string // what has to be clicked there, or ""
	hit   string // what it asks the other origin for
	// silent: it is stopped without a request that the host could refuse.
	silent  bool
	leaving bool // it sends when the page is left
}

// foreignVectors are the behaviours that lead to another origin, one by one, and
// the vectors of the behaviour "foreign", which share a page.
func foreignVectors() map[string]foreignVector {
	list := map[string]foreignVector{
		"go-location":       {path: "/lab/go-location?after=10&to={to}", hit: "/v/location"},
		"go-refresh":        {path: "/lab/go-refresh?to={to}", hit: "/v/refresh"},
		"go-redirect":       {path: "/lab/go-redirect?after=10&to={to}", hit: "/v/redirect"},
		"go-form":           {path: "/lab/go-form?after=10&to={to}", hit: "/v/form"},
		"click-link":        {path: "/lab/go-click?to={to}", click: "#link", hit: "/v/link"},
		"click-ping":        {path: "/lab/go-click?to={to}", click: "#ping", hit: "/v/ping"},
		"click-blank":       {path: "/lab/go-click?to={to}", click: "#blank", hit: "/v/blank"},
		"click-redirecting": {path: "/lab/go-click?to={to}", click: "#redirecting", hit: "/v/redirecting"},
		"click-form":        {path: "/lab/go-click?to={to}", click: "#send", hit: "/v/form"},
		"websocket-foreign": {path: "/lab/websocket-foreign?to={to}", hit: "/v/websocket", silent: true},
	}
	for _, name := range vectorNames() {
		v := foreignVector{path: "/lab/foreign?to={to}", hit: "/v/" + name}
		switch name {
		case "script", "module":
			v.hit += ".js"
		case "style":
			v.hit += ".css"
		case "websocket", "worker-websocket":
			v.silent = true
		case "speculation": // not on a page that a popup has covered
			v.path += "&only=speculation"
			v.silent = true
		case "worker-shared":
			v.silent = true // our browser has none
		case "pagehide":
			v.leaving = true
		case "popup", "form-popup":
			v.silent = true // Chromium opens no window without a click; click-blank has one
		}
		list["foreign-"+name] = v
	}
	return list
}

// vectorNames are the vectors of the behaviour "foreign" that make a request.
// The others make none that a server could note: a preconnection carries no
// bytes of the page, and WebRTC sends datagrams.
func vectorNames() []string {
	return []string{
		"fetch", "fetch-cors", "fetch-post", "fetch-keepalive", "fetch-redirected", "xhr", "beacon", "eventsource", "websocket",
		"image", "image-redirected", "script", "module", "style", "style-image", "font", "iframe", "iframe-redirected",
		"iframe-srcdoc", "object", "video", "prefetch", "preload", "speculation", "form-frame", "ping", "popup", "form-popup",
		"worker", "worker-nested", "worker-shared", "worker-websocket", "pagehide",
	}
}

func TestEveryForeignVectorIsTried(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(harness.Root(), "connectors-src/tracker/site/static/vectors.js"))
	if err != nil {
		t.Fatal(err)
	}
	known := append(vectorNames(), "preconnect", "webrtc")
	for _, m := range regexp.MustCompile(`(?m)^    "([a-z-]+)": \(\) =>`).FindAllStringSubmatch(string(script), -1) {
		if i := slices.Index(known, m[1]); i >= 0 {
			known = slices.Delete(known, i, i+1)
			continue
		}
		t.Errorf("the site knows the vector %q, which no test tries", m[1])
	}
	if len(known) > 0 {
		t.Errorf("the site has no vectors %q", known)
	}
	for _, b := range site.Behaviours() {
		if b.Kind != site.KindForeign || b.Name == "foreign" || b.Name == "go-click" {
			continue
		}
		if _, ok := foreignVectors()[b.Name]; !ok {
			t.Errorf("no test tries the behaviour %q", b.Name)
		}
	}
}

// A foreignPage is a page with what is clicked on it, and the vectors by name
// that it tries.
type foreignPage struct {
	path, click string
	vectors     map[string]foreignVector
}

func foreignPages() []foreignPage {
	var pages []foreignPage
	for name, v := range foreignVectors() {
		i := slices.IndexFunc(pages, func(p foreignPage) bool { return p.path == v.path && p.click == v.click })
		if i < 0 {
			i = len(pages)
			pages = append(pages, foreignPage{path: v.path, click: v.click, vectors: map[string]foreignVector{}})
		}
		pages[i].vectors[name] = v
	}
	return pages
}

func (p foreignPage) at(to string) string {
	return strings.ReplaceAll(p.path, "{to}", url.QueryEscape(to))
}

// TestForeignVectorsReachUnguarded shows that the recorder would have seen them.
func TestForeignVectorsReachUnguarded(t *testing.T) {
	w := harness.New(t, harness.Options{})
	b := raw(t, w.Site)
	for _, p := range foreignPages() {
		var clicks []string
		if p.click != "" {
			clicks = []string{"document.querySelector('" + p.click + "').click()"}
		}
		w.Evil.Reset()
		leave := b.visit(w.Site.AppURL()+p.at(w.Evil.URL()), clicks...)
		reached := func(name, hit string) {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				if _, err := w.Evil.Wait(ctx, func(r site.Request) bool { return r.Target == hit }); err != nil {
					t.Errorf("without a guard it does not reach the other origin: it proves nothing")
				}
			})
		}
		for name, v := range p.vectors {
			if !v.leaving {
				reached(name, v.hit)
			}
		}
		leave()
		for name, v := range p.vectors {
			if v.leaving {
				reached(name, v.hit)
			}
		}
	}
}

func TestNothingReachesAnotherOrigin(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	for _, p := range foreignPages() {
		mark := w.Wire.Mark()
		calls := []hostCall{read(navigate(p.at(w.Evil.URL())))}
		if p.click != "" {
			calls = append(calls, act(click(p.click)))
		}
		o := look(calls...)
		o.Tolerate = true // some lead away at once, and fail the step
		if res := w.Call("puppet_look", o); res.Err != nil {
			t.Fatal(res.Err)
		}
		silent := false
		for name, v := range p.vectors {
			if silent = silent || v.silent; !v.silent && !v.leaving {
				w.AwaitDecision(mark, name, refused(v.hit))
			}
		}
		if silent {
			eventually(t, "the page has tried its sockets", func() bool { return text(w, "#answer") != "" })
		}
		harness.Result[answers](w, "puppet_look", look(read(navigate("/issues"))))
		for name, v := range p.vectors {
			if v.leaving {
				w.AwaitDecision(mark, name, refused(v.hit))
			}
		}
	}
	for _, r := range w.Evil.Requests() {
		t.Errorf("the other origin received %s %s %q", r.Method, r.Target, r.Body)
	}
}

// TestForeignSteps are the ways in which a connector itself tries.
func TestForeignSteps(t *testing.T) {
	w := puppet(t, harness.Options{}, puppetGrant{})
	to := w.Evil.URL()
	host := strings.TrimPrefix(to, "http://")
	back := url.QueryEscape(to + "/v/step")
	lab := navigate("/lab/go-click?to=" + url.QueryEscape(to))
	for name, calls := range map[string][]hostCall{
		"navigate":             {read(navigate(to + "/v/step"))},
		"navigate-credentials": {read(navigate("http://tracker.localhost@" + host + "/v/step"))},
		"navigate-redirect":    {read(navigate("/go?to=" + back))},
		"navigate-twice":       {read(navigate("/go?to=" + url.QueryEscape("/go?to="+back)))},
		"navigate-308":         {read(navigate("/go?status=308&to=" + back))},
		"fetch":                {read(navigate("/issues")), fetch("GET", to+"/v/step", nil)},
		"fetch-post":           {read(navigate("/issues")), fetch("POST", to+"/v/step", &abi.FetchBody{Encoding: abi.EncodingJSON, JSON: []byte(`{"a":1}`)})},
		"fetch-redirect":       {read(navigate("/issues")), fetch("GET", "/go?to="+back, nil)},
		"fetch-307":            {read(navigate("/issues")), fetch("GET", "/go?status=307&to="+back, nil)},
		"follow": {read(lab, abi.Step{Op: abi.OpExtract, As: "it", Schema: &abi.Extraction{
			Rows: "#link", Cols: []abi.Col{{Name: "text"}}, Next: &abi.Follow{Selector: "#link", Max: 3},
		}})},
		"click":          {act(lab, abi.Step{Op: abi.OpClick, Selector: "#link", Wait: "#recorder"})},
		"click-redirect": {act(lab, click("#redirecting"))},
		"click-form":     {act(lab, click("#send"))},
		"press-form":     {act(lab, abi.Step{Op: abi.OpPress, Selector: "form[action*='/v/form'] input[name=secret]", Key: "Enter"})},
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			code := abi.ErrOriginDenied
			switch name {
			case "navigate-credentials":
				code = abi.ErrInvalidArgs
			case "fetch-redirect", "fetch-307":
				code = abi.ErrTimeout // the helper's own policy ends it before the guard is asked
			}
			err := w.WantCode(code, "puppet_look", look(calls...))
			if !strings.Contains(err.Error(), "evil.localhost") {
				t.Errorf("the error does not name the address: %v", err)
			}
		})
	}
	w.T = t
	for name, path := range map[string]string{
		"slashes": "//" + host + "/v/step", "backslashes": `\\` + host + `\v\step`, "at": "@" + host + "/v/step",
		"dots": "/../../" + host + "/v/step", "tab": "/\t/" + host + "/v/step", "scheme": "javascript://" + host + "/v/step",
		"file": "file:///etc/passwd", "data": "data:text/html,<p id=user data-login=x>", "blob": "blob:" + to,
		"other port": "http://tracker.localhost:1/issues", "https": "https://tracker.localhost/issues",
		"trailing dot": strings.Replace(w.Site.AppURL(), ".localhost", ".localhost.", 1) + "/issues",
		"identity":     w.Site.IdentityURL() + "/", "assets": w.Site.AssetsURL() + "/site.css",
	} {
		t.Run("path-"+name, func(t *testing.T) {
			w.T = t
			res := w.Call("puppet_look", look(read(navigate(path))))
			if res.Err == nil || (res.Err.Code != abi.ErrOriginDenied && res.Err.Code != abi.ErrInvalidArgs) {
				t.Errorf("navigating to %q: %v", path, res.Err)
			}
			res = w.Call("puppet_look", look(read(navigate("/issues")), fetch("GET", path, nil)))
			if res.Err == nil || (res.Err.Code != abi.ErrOriginDenied && res.Err.Code != abi.ErrInvalidArgs) {
				t.Errorf("fetching %q: %v", path, res.Err)
			}
		})
	}
	for _, r := range w.Evil.Requests() {
		t.Errorf("the other origin received %s %s", r.Method, r.Target)
	}
}
