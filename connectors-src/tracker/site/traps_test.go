package site_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

func TestHangEndsWithItsCaller(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		ctx, cancel := context.WithCancel(soon(t))
		req, err := http.NewRequestWithContext(ctx, method, s.AppURL()+"/hang", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		context.AfterFunc(ctx, b.client.CloseIdleConnections)
		go func() {
			defer cancel()
			_, _ = s.Wait(ctx, func(r site.Request) bool { return r.Path() == "/hang" && r.Method == method })
		}()
		resp, err := b.client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s /hang: %v, want it to be there until cancelled", method, err)
		}
	}
}

func TestSlow(t *testing.T) {
	b := newBrowser(t, start(t))
	if r := b.get("/slow?ms=1"); r.StatusCode != http.StatusOK || r.body != "answered after 1 ms\n" {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	for _, ms := range []string{"", "-1", "x", "60001"} {
		if r := b.get("/slow?ms=" + ms); r.StatusCode != http.StatusBadRequest {
			t.Errorf("ms=%s: status %d", ms, r.StatusCode)
		}
	}
}

func TestBig(t *testing.T) {
	b := newBrowser(t, start(t))
	for query, want := range map[string]int{"": 16 << 20, "?size=0": 0, "?size=100001": 100001} {
		if r := b.get("/big" + query); len(r.body) != want {
			t.Errorf("/big%s: %d bytes, want %d", query, len(r.body), want)
		}
	}
	for _, size := range []string{"-1", "x", strconv.Itoa(1<<30 + 1)} {
		if r := b.get("/big?size=" + size); r.StatusCode != http.StatusBadRequest {
			t.Errorf("size=%s: status %d", size, r.StatusCode)
		}
	}
}

func TestOpenRedirect(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for query, want := range map[string]int{"": 302, "&status=301": 301, "&status=303": 303, "&status=307": 307, "&status=308": 308, "&status=200": 302} {
		r := b.get("/go?to=http://evil.localhost/x" + query)
		if r.StatusCode != want || r.Header.Get("Location") != "http://evil.localhost/x" {
			t.Errorf("%s: status %d to %q", query, r.StatusCode, r.Header.Get("Location"))
		}
	}
	if r := b.get("/loop"); r.Header.Get("Location") != "/loop" {
		t.Errorf("/loop leads to %q", r.Header.Get("Location"))
	}
}

func TestAnyStatus(t *testing.T) {
	b := newBrowser(t, start(t))
	for code, want := range map[string]int{"200": 200, "204": 204, "418": 418, "500": 500, "503": 503, "199": 404, "600": 404, "x": 404} {
		if r := b.get("/status/" + code); r.StatusCode != want {
			t.Errorf("/status/%s: %d", code, r.StatusCode)
		}
	}
}

func TestBasic(t *testing.T) {
	s := start(t)
	b := newBrowser(t, s)
	r := b.get("/basic")
	if r.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("status %d, %q", r.StatusCode, r.Header.Get("WWW-Authenticate"))
	}
	for url, want := range map[string]int{"tracker:tracker@": 200, "tracker:wrong@": 401} {
		if r := b.get(strings.Replace(s.AppURL(), "://", "://"+url, 1) + "/basic"); r.StatusCode != want {
			t.Errorf("%s: status %d", url, r.StatusCode)
		}
	}
}

func TestDownload(t *testing.T) {
	s := start(t)
	r := signedIn(t, s, "bob").get("/download/issues.csv")
	if got := r.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment") {
		t.Errorf("Content-Disposition %q", got)
	}
	if n := strings.Count(r.body, "\n"); n != site.IssueCount-4+1 {
		t.Errorf("%d lines", n)
	}
}
