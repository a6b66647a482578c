package site_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

func TestOriginsAnswerToTheirNamesOnly(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.AppURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "evil.localhost", site.IdentityHost, site.AssetsHost} {
		if r := b.get("http://" + host + ":" + port + "/issues"); r.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("Host %s: status %d, want 421", host, r.StatusCode)
		}
	}
	if r := b.get("/status/200"); r.StatusCode != http.StatusOK {
		t.Errorf("own name: status %d, want 200", r.StatusCode)
	}
}

func TestAssets(t *testing.T) {
	s := start(t)
	b := signedIn(t, s, "alice")
	list := b.get("/issues")
	for name, kind := range map[string]string{"site.css": "text/css", "site.js": "javascript", "logo.svg": "image/svg"} {
		link := s.AssetsURL() + "/" + name
		if !strings.Contains(list.body, link) {
			t.Errorf("the list does not refer to %s", link)
		}
		r := b.get(link)
		if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: status %d, content type %q", name, r.StatusCode, r.Header.Get("Content-Type"))
		}
	}
	if r := b.get(s.AssetsURL() + "/lab.js"); r.StatusCode != http.StatusNotFound {
		t.Errorf("assets serve lab.js with status %d", r.StatusCode)
	}
}

func TestStartFailsWhole(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := func(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
	freePort := port(free)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s := site.New(site.Options{AppPort: freePort, IdentityPort: port(taken)})
	err = s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "listening for "+site.IdentityHost) {
		t.Fatalf("error %v, want one that names the origin", err)
	}
	again, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", free.Addr().String())
	if err != nil {
		t.Fatalf("the app's port is still taken: %v", err)
	}
	defer func() { _ = again.Close() }()
	if err := s.Close(); err != nil {
		t.Errorf("closing a site that did not start: %v", err)
	}
}

func TestStartOnceCloseTwiceEndWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := site.New(site.Options{})
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx); err == nil {
		t.Error("a second Start succeeded")
	}
	b := newBrowser(t, s)
	hung := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.AppURL()+"/hang", nil)
		if err == nil {
			var resp *http.Response
			if resp, err = b.client.Do(req); err == nil {
				err = resp.Body.Close()
			}
		}
		hung <- err
	}()
	if _, err := s.Wait(soon(t), func(r site.Request) bool { return r.Path() == "/hang" }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-hung; err == nil {
		t.Error("/hang was answered")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestTruthIsTheSameInEveryRun(t *testing.T) {
	encode := func() string {
		b, err := json.Marshal(start(t).Truth())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := encode()
	if first != encode() {
		t.Error("two sites differ")
	}
	if strings.Contains(first, "Secret-") {
		t.Error("truth holds passwords")
	}
	var got site.Truth
	if err := json.Unmarshal([]byte(first), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Issues) != site.IssueCount || got.Issues[0].ID != 1 {
		t.Errorf("%d issues, the first is %d", len(got.Issues), got.Issues[0].ID)
	}
}

func TestTruthIsACopy(t *testing.T) {
	s := start(t)
	tr := s.Truth()
	tr.Issues[11].Title, tr.Issues[11].Comments[0].Body = "changed", "changed"
	if is := issueOf(t, s, 12); is.Title == "changed" || is.Comments[0].Body == "changed" {
		t.Error("changing what Truth returned changed the site")
	}
}

func TestReset(t *testing.T) {
	s := start(t)
	before := s.Truth()
	b := signedIn(t, s, "alice")
	b.send(http.MethodPost, "/api/issues/12/comments", "application/json", `{"body":"one more"}`)
	b.get("/issues/5/close?confirm=1")
	b.submit(b.get("/issues/6"), "delete-form", nil)
	if len(s.Truth().Issues) != site.IssueCount-1 || issueOf(t, s, 5).Status != "closed" {
		t.Fatal("nothing was written")
	}
	s.Reset()
	if got, want := mustJSON(t, s.Truth()), mustJSON(t, before); got != want {
		t.Error("the data differs after Reset")
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests are left after Reset", n)
	}
	if r := b.send(http.MethodGet, "/api/issues/12", "", ""); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the login is left after Reset: status %d", r.StatusCode)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSignInUnknownUser(t *testing.T) {
	if c, err := start(t).SignIn("mallory"); err == nil {
		t.Errorf("got cookie %v", c)
	}
}
