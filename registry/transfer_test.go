package registry

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// cutShort ends every answer with a pack after so many bytes, while it is on.
func cutShort(inner http.Handler, on *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !on.Load() || !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			inner.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		if body := rec.Body.Bytes(); bytes.Contains(body, []byte("PACK")) {
			w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = w.Write(body[:bytes.Index(body, []byte("PACK"))+40])
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// A transfer that breaks off changes nothing, and leaves nothing in the way of
// the next one.
func TestInterruptedTransfer(t *testing.T) {
	f := newOrigin(t, "main")
	inner := serveGit(t, f.origin).Config.Handler
	var cut atomic.Bool
	server := httptest.NewTLSServer(cutShort(inner, &cut))
	t.Cleanup(server.Close)
	trustServer(t, server)
	f.client = f.newClient()
	cut.Store(true)
	if _, err := f.client.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint()); err == nil {
		t.Fatal("half a registry was added")
	}
	if left, err := filepath.Glob(filepath.Join(f.client.cfg.Dir, "registries", "*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	cut.Store(false)
	_, err := f.client.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint())
	f.must(err)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	cut.Store(true)
	if _, err := f.install(tracker); err == nil {
		t.Error("an update came out of half a transfer")
	}
	f.wantActive("1.0.0")
	// What a killed git and a killed host leave.
	git := filepath.Join(f.registryDir(), "git")
	remains := []string{
		filepath.Join(git, "shallow.lock"), filepath.Join(git, "objects", "pack", "tmp_pack_x"),
		filepath.Join(git, "refs", "drawbridge", "incoming.lock"), filepath.Join(f.client.cfg.Dir, ".scratch-1"),
	}
	for _, path := range remains {
		f.must(os.WriteFile(path, nil, 0o600))
	}
	cut.Store(false)
	f.mustInstall(tracker)
	f.wantActive("1.1.0")
	for _, path := range remains {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// How far a transfer is comes from git alone, never from the other side.
func TestTransferProgress(t *testing.T) {
	f := newOrigin(t, "main")
	server := serveGit(t, f.origin)
	var mu sync.Mutex
	last := map[string]int{}
	ctx := WithTransfer(t.Context(), func(what string, percent int) {
		mu.Lock()
		defer mu.Unlock()
		last[what] = percent
	})
	f.client = f.newClient()
	if _, err := f.client.AddRegistry(ctx, server.URL+"/origin.git", f.owner.Fingerprint()); err != nil || last["receiving"] != 100 {
		t.Errorf("%v: %v", err, last)
	}

	var told []string
	filter := &progressFilter{next: &capped{}, report: func(what string, percent int) { told = append(told, fmt.Sprint(what, percent)) }}
	for _, part := range []string{
		"Receiving obj", "ects:   5% (1/20)\rReceiving objects: 100% (20/20), done.\n", "remote: Receiving objects: 7%\r",
		"remote: hello\nfatal: it broke\n", "Permission denied\r", "\nremote: 7%\r\r", "Receiving objects: 999%\r", strings.Repeat("x", 3*maxMessageLine), "\rResolving deltas:  50% (1/2)\r",
	} {
		if n, err := filter.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := []string{"receiving5", "receiving100", "resolving50"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if text := filter.next.String(); !strings.Contains(text, "fatal: it broke\nPermission denied\n") || strings.Contains(text, "7%") || strings.Contains(text, "Receiving objects: 100") || len(text) > 4*maxMessageLine {
		t.Errorf("the messages are %.200q", text)
	}
}
