package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A heldSite answers /page at once, except while it is held.
type heldSite struct {
	url string

	mu      sync.Mutex
	gate    chan struct{} // nil: open
	arrived chan struct{} // gets an element for each request that waits
}

func newHeldSite(t *testing.T) *heldSite {
	t.Helper()
	s := &heldSite{arrived: make(chan struct{}, 16)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		gate := s.gate
		s.mu.Unlock()
		if gate != nil {
			s.arrived <- struct{}{}
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>page</title><p id="user">ada</p>`)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	s.url = srv.URL
	return s
}

// hold makes later requests wait until the returned function is called.
func (s *heldSite) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gate = nil
		close(gate)
	}
}

// start makes a call whose answer comes on the channel.
func start(c *mcpClient, tool string) <-chan callAnswer {
	got := make(chan callAnswer, 1)
	go func() {
		defer close(got)
		got <- c.call(tool, map[string]any{})
	}()
	return got
}

// says reports whether an answer's text, or its result, holds a word.
func (a callAnswer) says(word string) bool {
	text := string(a.StructuredContent)
	for _, c := range a.Content {
		text += c.Text
	}
	return strings.Contains(text, word)
}

// answering makes the sample's next build answer with another word.
func (h *home) answering(word string) {
	h.t.Helper()
	module := sampleAnswering(`{"done":"` + word + `"}`)
	if err := os.WriteFile(filepath.Join(h.work, "sample.wasm"), module, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// revoke revokes the module that the sample has now.
func (h *home) revoke(reason string) {
	h.t.Helper()
	file, err := os.ReadFile(filepath.Join(h.work, "key"))
	if err != nil {
		h.t.Fatal(err)
	}
	key, err := signing.OpenSecretKey(file, func(signing.Fingerprint) ([]byte, error) { return []byte("test passphrase"), nil })
	if err != nil {
		h.t.Fatal(err)
	}
	all := []registry.Signer{key}
	sum := sha256.Sum256(sampleModule())
	err = registry.OpenMaintainer(filepath.Join(h.work, "reg.git"), nil).Revoke(h.t.Context(),
		registry.Keys{Owners: all, Snapshot: all, Revocation: all}, registry.Revocation{Artifacts: []string{hex.EncodeToString(sum[:])}, Reason: reason})
	if err != nil {
		h.t.Fatal(err)
	}
}

// A call ends on the version that it began with, and one that begins after the
// update is the new version's.
func TestUpdateWhileACallRuns(t *testing.T) {
	h, site := newHome(t), newHeldSite(t)
	h.ready(site.url)
	first, second := h.dialStdio("agent", "--client", "first"), h.dialStdio("agent", "--client", "second")
	release := site.hold()
	old := start(first, "sample_look")
	<-site.arrived
	h.answering("anew")
	h.release("1.1.0", "Looks at a page.", "Looks at one page.")
	before := second.changes()
	h.want(exitOK, agree(), "update")
	fresh := start(second, "sample_look") // the browser itself may keep it behind the first
	release()
	if a := <-old; a.IsError || !a.says(`"done":true`) {
		t.Errorf("the call that began before the update: %+v", a)
	}
	if a := <-fresh; a.IsError || !a.says(`"done":"anew"`) {
		t.Errorf("the call that began after the update: %+v", a)
	}
	eventually(t, "the client hears that the tools changed", func() bool { return second.changes() > before })
	if n := second.changes() - before; n != 1 {
		t.Errorf("the client heard %d times that the tools changed", n)
	}
}

// changes counts how often the client was told that the tools changed.
func (c *mcpClient) changes() (n int) {
	c.tools() // by its answer, what came before has been read
	for _, method := range c.heard {
		if method == "notifications/tools/list_changed" {
			n++
		}
	}
	return n
}

// A destructive call that runs is not cut off by the removal of its plugin. One
// that nobody has approved yet comes to nothing.
func TestRemoveWhileACallRuns(t *testing.T) {
	h, site := newHome(t), newHeldSite(t)
	h.ready(site.url)
	c := h.dialStdio("agent", "--client", "coder")
	running := touch(c)
	h.waiting()
	release := site.hold()
	h.want(exitOK, []keystroke{{"refuses): ", codeShown}}, "approvals")
	<-site.arrived
	h.run("remove", "sample")
	release()
	if a := <-running; a.IsError || !a.says("true") {
		t.Errorf("the call that ran when its plugin was removed: %+v", a)
	}
	if names := c.tools(); len(names) != 0 {
		t.Errorf("tools %q", names)
	}
	h.want(exitOK, agree(), "install", "sample")
	asked := touch(c)
	h.waiting()
	h.run("remove", "sample")
	h.want(exitOK, []keystroke{{"refuses): ", codeShown}}, "approvals")
	if a := <-asked; !a.IsError || !a.says("was removed") {
		t.Errorf("the call that was approved after the removal: %+v", a)
	}
}

// What is revoked stops with the next fetch: its calls end, new ones are told why,
// and so is whoever asks for the list.
func TestRevokedStops(t *testing.T) {
	h, site := newHome(t), newHeldSite(t)
	h.ready(site.url)
	c := h.dialStdio("agent", "--client", "coder")
	release := site.hold()
	running := start(c, "sample_look")
	<-site.arrived
	h.revoke("sends tickets elsewhere")
	h.run("registry", "fetch")
	if a := <-running; !a.IsError || !a.says("is revoked") {
		t.Errorf("the call that ran: %+v", a)
	}
	release()
	if a := c.call("sample_look", map[string]any{}); !a.IsError || !a.says("is revoked") || !a.says("drawbridge remove acme/sample, and ask") {
		t.Errorf("a call afterwards: %+v", a)
	}
	if names := c.tools(); len(names) != 0 {
		t.Errorf("tools %q", names)
	}
	if out := h.run("list"); !strings.Contains(out, "revoked") {
		t.Errorf("the list:\n%s", out)
	}
	if log := h.run("audit"); !strings.Contains(log, "plugin revoked") {
		t.Errorf("the audit log:\n%s", log)
	}
	// A registry that is gone changes nothing about what is installed.
	if err := os.Rename(filepath.Join(h.work, "reg.git"), filepath.Join(h.work, "away.git")); err != nil { //nolint:forbidigo // a directory
		t.Fatal(err)
	}
	if out, msg, code := h.try("registry", "fetch"); code == exitOK || !strings.Contains(out, "as before: ") {
		t.Errorf("fetching a registry that is gone: exit code %d, %s%s", code, out, msg)
	}
	if r := h.updated(exitError); r.State == host.UpdateDone {
		t.Errorf("an update from a registry that is gone: %+v", r)
	}
	if p := h.installed(); p.Version != "1.0.0" || p.Error == nil || p.Error.Hint != "drawbridge remove acme/sample, and ask the owner of registry team" {
		t.Errorf("installed: %+v", p)
	}
}
