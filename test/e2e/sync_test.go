package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// publishAs publishes a version of a plugin whose one connector has another name.
func publishAs(w *harness.World, plugin, version, connector string) registry.TeamPlugin {
	w.T.Helper()
	text := strings.NewReplacer("name: "+connector+"\nversion: 1.0.0", "name: "+plugin+"\nversion: "+version,
		"    base_url: https://", "    settings: [{name: lang, type: string, title: Language}]\n    base_url: https://").Replace(string(tinyManifest(connector)))
	answer := wasmtest.Output(`{"ok":true,"result":{"from":"` + plugin + " " + version + `"}}`)
	wasm := describing(wasmtest.Guest([]string{"read"}, answer), connector)
	rel := w.Publish([]byte(text), wasm)
	data, err := release.Canonical(rel)
	if err != nil {
		w.T.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return registry.TeamPlugin{
		Registry: harness.RegistryID, Namespace: harness.Namespace, Name: plugin, Version: version, Settings: map[string]string{},
		Release: registry.FileHash{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))},
		Module:  registry.FileHash{SHA256: rel.Module.SHA256, Size: rel.Module.Size}, Signer: w.Keys.Publisher.Fingerprint(),
	}
}

// A team is one whose lock files a world follows.
type team struct {
	*harness.World
	version int64
}

func newTeam(t *testing.T, w *harness.World) *team {
	t.Helper()
	signer := w.Keys.Owner
	if _, err := w.Host.TrustTeam(t.Context(), "support", string(signer.Certificate().Armored()), string(signer.Fingerprint()), w.Agree); err != nil {
		t.Fatal(err)
	}
	return &team{World: w}
}

// sync follows the team's next lock file, which names these plugins alone.
func (m *team) sync(req host.SyncRequest, plugins ...registry.TeamPlugin) host.SyncReport {
	m.T.Helper()
	m.version++
	slices.SortFunc(plugins, func(a, b registry.TeamPlugin) int { return strings.Compare(a.Name, b.Name) })
	lock := registry.TeamLock{
		Type: "drawbridge-team-lock", Format: 1, Name: "support", Version: m.version, Issued: registry.At(time.Now()), Plugins: plugins,
		Registries: []registry.TeamRegistry{{ID: harness.RegistryID, URL: m.RepoDir, Pinned: m.Keys.Owner.Fingerprint()}},
	}
	var err error
	if req.Lock, err = lock.Canonical(); err != nil {
		m.T.Fatal(err)
	}
	if req.Signature, err = m.Keys.Owner.Sign(req.Lock, time.Now()); err != nil {
		m.T.Fatal(err)
	}
	r, err := m.Host.Sync(m.T.Context(), req, func(string) {})
	if err != nil {
		m.T.Fatal(showErr(err))
	}
	return r
}

// did words a report: what was done, or the code of why not.
func did(r host.SyncReport) string {
	var list []string
	for _, s := range r.Steps {
		what := s.Action
		if s.Problem != nil {
			what = string(s.Problem.Code)
		}
		list = append(list, s.Subject+" "+what)
	}
	return strings.Join(list, ", ")
}

func (m *team) want(r host.SyncReport, want string) {
	m.T.Helper()
	if got := did(r); got != want {
		m.T.Errorf("the report says %q, want %q: %+v", got, want, r.Steps)
	}
}

// wantFrom calls a connector's tool, which has to be that plugin's.
func (m *team) wantFrom(connector, plugin string) {
	m.T.Helper()
	if got := harness.Result[map[string]string](m.World, connector+"_run", struct{}{}); got["from"] != plugin {
		m.T.Errorf("%s_run is answered by %q, want %q", connector, got["from"], plugin)
	}
}

// A connector goes from one plugin to another in one run, also where two change
// places; what would be there twice is refused, by a dry run as well.
func TestSyncMovesConnectors(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	a1, b1 := publishAs(w, "aaa", "1.0.0", "one"), publishAs(w, "bbb", "1.0.0", "two")
	a2, b2 := publishAs(w, "aaa", "1.1.0", "two"), publishAs(w, "bbb", "1.1.0", "one")
	c1 := publishAs(w, "ccc", "1.0.0", "one")
	if err := w.AddRegistry(); err != nil {
		t.Fatal(err)
	}
	m := newTeam(t, w)
	m.want(m.sync(host.SyncRequest{}, a1, b1), "acme/aaa install, acme/bbb install")
	m.wantFrom("one", "aaa 1.0.0")

	m.want(m.sync(host.SyncRequest{}, a2, b2), "acme/aaa change, acme/bbb change")
	m.wantFrom("one", "bbb 1.1.0")
	m.wantFrom("two", "aaa 1.1.0")

	// The other one has it still: nothing of this plugin is installed.
	for _, dry := range []bool{true, false} {
		r := m.sync(host.SyncRequest{DryRun: dry}, a2, c1)
		m.want(r, "acme/aaa keep, acme/ccc invalid_args, acme/bbb not in the lock file")
		if p := r.Steps[1].Problem; p == nil || !strings.Contains(p.Why, `"one"`) || p.Hint != "drawbridge sync FILE --prune, or drawbridge remove acme/bbb" {
			t.Errorf("dry run %v: %+v", dry, p)
		}
	}
	if e, err := w.Registry.Named("ccc"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("installed: %+v, %v", e, err)
	}
	m.wantFrom("one", "bbb 1.1.0")
	m.want(m.sync(host.SyncRequest{Prune: true}, a2, c1), "acme/aaa keep, acme/ccc install, acme/bbb remove")
	m.wantFrom("one", "ccc 1.0.0")
	if rep, err := w.Audit.Verify(t.Context()); err != nil || len(rep.Problems) > 0 {
		t.Errorf("the audit log: %+v, %v", rep, err)
	}
}

// After a sync the settings are those of the lock file and no others, and what
// changed is told; a plugin that could not be brought there keeps its own.
func TestSyncReplacesSettings(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	a1, a2 := publishAs(w, "aaa", "1.0.0", "one"), publishAs(w, "aaa", "1.1.0", "one")
	if err := w.AddRegistry(); err != nil {
		t.Fatal(err)
	}
	m := newTeam(t, w)
	m.sync(host.SyncRequest{}, a1)
	set := func() { // by a person, for this machine
		if _, err := w.Host.Install(t.Context(), "acme/aaa@1.0.0", map[string]string{"lang": "de"}, w.Agree, func(string) {}); err != nil {
			t.Fatal(showErr(err))
		}
	}
	set()
	removed := host.SettingChange{Name: "lang", Action: host.SettingRemoved, Before: "de"}
	for _, req := range []host.SyncRequest{{DryRun: true}, {}} {
		r := m.sync(req, a1)
		m.want(r, "acme/aaa settings")
		if got := r.Steps[0].Settings; len(got) != 1 || got[0] != removed {
			t.Errorf("changed: %+v", got)
		}
	}
	m.want(m.sync(host.SyncRequest{}, a1), "acme/aaa keep")
	set()
	a3 := a2
	a3.Module.SHA256 = strings.Repeat("0", 64)
	r := m.sync(host.SyncRequest{}, a3)
	m.want(r, "acme/aaa untrusted")
	if len(r.Steps[0].Settings) != 0 {
		t.Errorf("told as changed: %+v", r.Steps)
	}
	if text := settingsOf(t, w); !strings.Contains(text, `"lang": "de"`) {
		t.Errorf("what failed has other settings: %s", text)
	}
	a2.Settings["lang"] = "fr"
	m.want(m.sync(host.SyncRequest{}, a2), "acme/aaa change")
	if text := settingsOf(t, w); !strings.Contains(text, `"lang": "fr"`) {
		t.Errorf("settings: %s", text)
	}
	m.wantFrom("one", "aaa 1.1.0")
}

// settingsOf is the file that keeps a world's settings.
func settingsOf(t *testing.T, w *harness.World) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Dir, "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
