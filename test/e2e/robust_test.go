package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// robustManifest lets the puppet look at the tracker's traps and behaviours.
const robustManifest = `
name: puppet
version: 1.0.0
category: connector
title: Puppet
description: Does what its caller says.
connectors:
  - id: puppet
    title: Puppet
    settings:
      - {name: base_url, type: url, title: Address, default: "https://puppet.example"}
      - {name: assets_url, type: url, title: Address, default: "https://assets.example"}
      - {name: login_url, type: url, title: Address, default: "https://id.example"}
    base_url: "{base_url}"
    origins: ["{base_url}/*"]
    resources: ["{assets_url}/*"]
    pages:
      signed_in: [{selector: "#user[data-login]"}]
      signed_out: [{selector: "#signed-out"}]
      missing: [{status: 404}]
    tools:
      - name: look
        title: Look
        description: Runs host calls.
        destructive: false
        capabilities: [read, act, fetch, progress, screenshot]
        timeout_sec: 60
        input: {type: object}
        output: {type: object, properties: {shot: {type: string, format: image}}}
        reads:
          - method: GET
            path: /lab/{name}
            params: [{name: name, any: slug, max_len: 40}]
            query: [{name: after, any: int, max_len: 6, optional: true}]
          - {method: GET, path: /issues}
          - {method: GET, path: /hang}
          - {method: GET, path: /basic}
          - {method: GET, path: /download/issues.csv}
          - {method: GET, path: /big, query: [{name: size, any: int, max_len: 10, optional: true}]}
      - name: touch
        title: Touch
        description: Runs host calls that may write.
        destructive: true
        capabilities: [read, act, fetch, progress]
        input: {type: object, properties: {issue: {type: integer}, body: {type: string}}, required: [issue, body]}
        output: {type: object}
        reads: [{method: GET, path: /issues}]
        writes:
          - method: POST
            path: /issues/{issue}/comments
            params: [{name: issue, arg: issue}]
            encoding: urlencoded
            fields: [{name: csrf, token: true}, {name: body, arg: body}]
            max: 1
`

type puppetCall struct {
	Read  []abi.Step        `json:"read,omitempty"`
	Act   []abi.Step        `json:"act,omitempty"`
	Fetch *abi.FetchRequest `json:"fetch,omitempty"`
}

type puppetAnswer struct {
	Answers []json.RawMessage `json:"answers"`
}

func reading(steps ...abi.Step) puppetCall { return puppetCall{Read: steps} }
func acting(steps ...abi.Step) puppetCall  { return puppetCall{Act: steps} }
func fetching(path string) puppetCall      { return puppetCall{Fetch: &abi.FetchRequest{Path: path}} }
func goTo(path string) abi.Step            { return abi.Step{Op: abi.OpNavigate, Path: path} }

func calls(list ...puppetCall) map[string]any { return map[string]any{"calls": list} }

// textOf reads one element's text.
func textOf(selector string) abi.Step {
	return abi.Step{Op: abi.OpExtract, As: "text", Schema: &abi.Extraction{Cols: []abi.Col{{Name: "text", Selector: selector}}}}
}

// puppetAt is a world with the puppet at the tracker, signed in as alice.
func puppetAt(t *testing.T) *harness.World {
	t.Helper()
	w := harness.New(t, harness.Options{})
	w.Ready("connectors-src/tracker")
	w.Login("tracker", "alice")
	w.ReadyWith([]byte(robustManifest), harness.Module(t, "test/e2e/puppet"))
	return w
}

// looks runs calls that have to succeed, and decodes the answer of the last one.
func looks[T any](w *harness.World, list ...puppetCall) T {
	w.T.Helper()
	got := harness.Result[puppetAnswer](w, "puppet_look", calls(list...))
	var v T
	if len(got.Answers) != len(list) {
		w.T.Fatalf("%d answers to %d calls", len(got.Answers), len(list))
	}
	if err := json.Unmarshal(got.Answers[len(list)-1], &v); err != nil {
		w.T.Fatal(err)
	}
	return v
}

// stillWorks makes sure that the next call works.
func stillWorks(w *harness.World) {
	w.T.Helper()
	got := looks[abi.Answer](w, reading(goTo("/issues"), abi.Step{Op: abi.OpExists, Selector: "#issues", As: "there"}))
	if string(got.Data["there"]) != "true" {
		w.T.Fatalf("the next call: %+v", got)
	}
}

func cell(t *testing.T, a abi.Answer) string {
	t.Helper()
	var table abi.Table
	if err := json.Unmarshal(a.Data["text"], &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%s: %v", a.Data["text"], err)
	}
	return fmt.Sprint(table.Rows[0][0])
}

// A page that opens dialogs does not stand in the way, and each is reported.
func TestDialogsAreAnsweredAndReported(t *testing.T) {
	w := puppetAt(t)
	for name, want := range map[string]struct {
		dialog abi.DialogInfo
		page   string // what the page made of the answer
	}{
		"alert":   {abi.DialogInfo{Type: "alert", Message: "Welcome to the tracker"}, "dismissed"},
		"confirm": {abi.DialogInfo{Type: "confirm", Message: "Close this issue?"}, "false"},
		"prompt":  {abi.DialogInfo{Type: "prompt", Message: "Your comment?"}, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			got := looks[abi.Answer](w, reading(goTo("/lab/"+name), textOf("#answer")))
			if len(got.Dialogs) != 1 || got.Dialogs[0] != want.dialog {
				t.Errorf("dialogs %+v, want %+v", got.Dialogs, want.dialog)
			}
			if text := cell(t, got); text != want.page {
				t.Errorf("the page was told %q, want %q", text, want.page)
			}
		})
	}
	t.Run("alert-late", func(t *testing.T) {
		late := abi.Step{Op: abi.OpWait, Selector: "#answer:not(:empty)"}
		got := looks[abi.Answer](w, reading(goTo("/lab/alert-late"), late, textOf("#answer")))
		if len(got.Dialogs) != 1 || got.Dialogs[0].Message != "Are you still there?" || cell(t, got) != "dismissed" {
			t.Errorf("%+v", got)
		}
	})
	stillWorks(w)
}

// Leaving a page that asks is refused as such, and doesn't hold the tab.
func TestBeforeunload(t *testing.T) {
	w := puppetAt(t)
	// The page asks only if somebody used it.
	e := w.WantCode(abi.ErrDialogOpen, "puppet_look", calls(
		acting(goTo("/lab/beforeunload"), abi.Step{Op: abi.OpClick, Selector: "#lab"}),
		reading(goTo("/issues"))))
	if !strings.Contains(e.Error(), "leave") {
		t.Errorf("the error is %q", e)
	}
	other := w.CallAs(t.Context(), host.Principal{ID: "client-2", Name: "another"}, "puppet_look", calls(reading(goTo("/issues"))))
	if other.Err != nil {
		t.Errorf("another client: %s", showErr(other.Err))
	}
	// The next call of the same client is not held by that page.
	stillWorks(w)
}

// What never ends to load is read all the same, and what is not a page says so.
func TestPagesThatAreNoPages(t *testing.T) {
	w := puppetAt(t)
	t.Run("a picture that never comes", func(t *testing.T) {
		if got := looks[abi.Answer](w, reading(goTo("/lab/hang-image"), textOf("#after"))); cell(t, got) != "after" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a script that never comes", func(t *testing.T) {
		if got := looks[abi.Answer](w, reading(goTo("/lab/hang-script"), textOf("#before"))); cell(t, got) != "before" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("password dialog of the browser", func(t *testing.T) {
		got := looks[abi.FetchAnswer](w, reading(goTo("/issues")), fetching("/basic"))
		if got.Status != 401 || !strings.Contains(got.Text, "password needed") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("16 MiB", func(t *testing.T) {
		e := w.WantCode(abi.ErrLimitExceeded, "puppet_look", calls(reading(goTo("/issues")), fetching("/big")))
		if !strings.Contains(e.Error(), strconv.Itoa(abi.MaxBody)) {
			t.Errorf("%q does not name the limit", e)
		}
		if got := looks[abi.FetchAnswer](w, reading(goTo("/issues")), fetching("/big?size=100000")); len(got.Text) != 100000 {
			t.Errorf("%d bytes", len(got.Text))
		}
	})
	t.Run("download", func(t *testing.T) {
		w.WantCode(abi.ErrUnsupportedAction, "puppet_look", calls(reading(goTo("/download/issues.csv"))))
		if files, err := filepath.Glob(filepath.Join(w.Dir, "**", "issues.csv*")); err != nil || len(files) > 0 {
			t.Errorf("it was kept: %q, %v", files, err)
		}
	})
	stillWorks(w)
}

// A click goes to one element that a person could click, or to none.
func TestClicksThatAreRefused(t *testing.T) {
	w := puppetAt(t)
	for name, want := range map[string]struct {
		selector string
		code     abi.Code
	}{
		"covered":   {"#press", abi.ErrCoveredBy},
		"ambiguous": {"button.press", abi.ErrTargetAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			w.WantCode(want.code, "puppet_look", calls(acting(goTo("/lab/"+name), abi.Step{Op: abi.OpClick, Selector: want.selector})))
			got := looks[abi.Answer](w, reading(textOf("#pressed"))) // the tab stays where it was
			if cell(t, got) != "0" {
				t.Errorf("it was pressed %s times", cell(t, got))
			}
		})
	}
	t.Run("disabled for a while", func(t *testing.T) {
		press := abi.Step{Op: abi.OpClick, Selector: "#press"}
		w.WantCode(abi.ErrSelectorDrift, "puppet_look", calls(acting(goTo("/lab/disabled?after=60000"), press)))
		enabled := abi.Step{Op: abi.OpWait, Selector: "#press:enabled"}
		got := looks[abi.Answer](w, acting(goTo("/lab/disabled"), enabled, press, textOf("#pressed")))
		if cell(t, got) != "1" {
			t.Errorf("pressed %q", cell(t, got))
		}
	})
	stillWorks(w)
}

// A server that never answers ends in a timeout at the caller's deadline, and
// the tab is of use again.
func TestPageThatNeverAnswers(t *testing.T) {
	w := puppetAt(t)
	stillWorks(w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // the caller leaves once the server holds the request
		arrived(ctx, w, "/hang", 0)
		cancel()
	}()
	res := w.CallAs(ctx, host.Principal{ID: "client-1", Name: "test-client"}, "puppet_look", calls(reading(goTo("/hang"))))
	if res.Err == nil || res.Err.Code != abi.ErrTimeout {
		t.Errorf("%s; want %s", showErr(res.Err), abi.ErrTimeout)
	}
	stillWorks(w)
}

// A tool's own deadline ends its call, whatever its module waits for.
func TestToolDeadline(t *testing.T) {
	w := harness.New(t, harness.Options{})
	text := strings.NewReplacer("https://slow.example", w.Site.AppURL(), "path: /}", "path: /hang}").Replace(string(tinyManifest("slow", timeoutOf(3))))
	wait := wasmtest.Ask(0, `{"v":1,"steps":[{"op":"navigate","path":"/hang"}]}`)
	w.Publish([]byte(text), tinyModule("slow", wait, wasmtest.Output(`{"ok":true,"result":{"from":"slow"}}`)))
	w.Publish(tinyManifest("good"), tinyModule("good"))
	if err := w.AddRegistry(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"slow", "good"} {
		if _, err := w.Host.Install(t.Context(), "acme/"+id, nil, w.Agree, func(string) {}); err != nil {
			t.Fatal(showErr(err))
		}
	}
	w.WantCode(abi.ErrTimeout, "slow_run", struct{}{})
	arrived(t.Context(), w, "/hang", 0)
	wantAnswer(w, "good")
}

// renderers are the browser's processes that hold pages.
func renderers(t *testing.T, w *harness.World) (browser int, pages []int) {
	t.Helper()
	browser = browserOf(t, w)
	for _, pid := range childrenOf(t, browser) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && strings.Contains(string(line), "--type=renderer") {
			pages = append(pages, pid)
		}
	}
	return browser, pages
}

// browserOf finds the browser by its profile: the oldest process that uses it.
func browserOf(t *testing.T, w *harness.World) int {
	t.Helper()
	w.Browser()
	for _, pid := range childrenOf(t, os.Getpid()) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && strings.Contains(string(line), "--user-data-dir="+filepath.Join(w.Dir, "profile")) {
			return pid
		}
	}
	t.Fatal("no browser is running")
	return 0
}

// childrenOf lists a process's descendants.
func childrenOf(t *testing.T, root int) []int {
	t.Helper()
	parents := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		pid, err1 := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, err2 := strconv.Atoi(fields[1])
		if err1 == nil && err2 == nil {
			parents[parent] = append(parents[parent], pid)
		}
	}
	var all []int
	for next := []int{root}; len(next) > 0; next = next[1:] {
		all = append(all, parents[next[0]]...)
		next = append(next, parents[next[0]]...)
	}
	return all
}

// arrived waits until the tracker gets a request for path, beyond its first so many.
func arrived(ctx context.Context, w *harness.World, path string, before int) {
	w.T.Helper()
	_, err := w.Site.Wait(ctx, func(r site.Request) bool { return r.Path() == path && r.Seq > before })
	if err != nil {
		w.T.Errorf("no request for %s: %v", path, err)
	}
}

// during starts a call that waits in its page, runs act once the page is there,
// and returns what the call ended with.
func during(t *testing.T, w *harness.World, act func()) host.CallResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan host.CallResult, 1)
	before := len(w.Site.Requests())
	go func() {
		never := abi.Step{Op: abi.OpWait, Selector: "#never", TimeoutMS: 15000}
		got <- w.CallAs(ctx, host.Principal{ID: "client-1", Name: "test-client"}, "puppet_look", calls(reading(goTo("/lab/disabled"), never)))
	}()
	arrived(ctx, w, "/lab/lab.js", before)
	act()
	return <-got
}

// A tab whose renderer ends under a call is a typed error, and the next call
// finds a tab that works.
func TestCrashedTab(t *testing.T) {
	w := puppetAt(t)
	stillWorks(w)
	for range 2 {
		res := during(t, w, func() {
			_, pages := renderers(t, w)
			if len(pages) == 0 {
				t.Error("no renderer is running")
			}
			for _, pid := range pages {
				_ = syscall.Kill(pid, syscall.SIGKILL) // one that has ended meanwhile is as good
			}
		})
		if res.Err == nil || res.Err.Code != abi.ErrPageCrashed {
			t.Errorf("%s; want %s", showErr(res.Err), abi.ErrPageCrashed)
		}
		stillWorks(w)
	}
}

// Closing the host under a call ends the call, and its end is written down.
func TestCloseUnderACall(t *testing.T) {
	w := puppetAt(t)
	stillWorks(w)
	res := during(t, w, func() {
		if err := w.Host.Close(); err != nil {
			t.Error(err)
		}
	})
	if res.Err == nil {
		t.Error("the call succeeded")
	}
	rows, err := w.Audit.List(t.Context(), audit.Filter{Tool: "puppet.look", Kind: audit.KindEnd})
	if err != nil || len(rows) != 2 || rows[1].Code != res.Err.Code {
		t.Errorf("the audit log: %+v, %v; want the end of two calls, the last with %s", rows, err, res.Err.Code)
	}
	w.WantCode(abi.ErrBrowserGone, "puppet_look", struct{}{})
}

// A browser that is killed under a call is a typed error, at once; the next call
// starts another one, where alice is still signed in if the site keeps her.
func TestKilledBrowser(t *testing.T) {
	w := puppetAt(t)
	stillWorks(w)
	first := w.Browser()
	res := during(t, w, func() {
		if err := syscall.Kill(browserOf(t, w), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	if res.Err == nil || res.Err.Code != abi.ErrBrowserGone {
		t.Errorf("%s; want %s", showErr(res.Err), abi.ErrBrowserGone)
	}
	<-first.Gone()
	w.Login("tracker", "alice")
	stillWorks(w)
	if w.Browser() == first {
		t.Error("no new browser was started")
	}
	harness.Result[issueList](w, "tracker_list", map[string]any{"limit": 1})
}
