package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

func TestInstallUpdateRollback(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.mustInstall(tracker)
	f.wantActive("1.0.0")
	if first.Signer != f.publisher.Fingerprint() || first.Registry != "main" || first.Previous != nil {
		t.Errorf("entry %+v", first)
	}
	f.publish("1.1.0")
	second := f.mustInstall(tracker)
	f.wantActive("1.1.0")
	if second.Previous == nil || second.Previous.Version != "1.0.0" {
		t.Errorf("entry %+v, want 1.0.0 behind it", second)
	}
	for _, want := range []string{"1.0.0", "1.1.0"} {
		back, err := f.client.Rollback(t.Context(), "acme/tracker", InstallOptions{Consent: yes})
		if err != nil || back.Version != want {
			t.Errorf("rolled back to %q, %v, want %q", back.Version, err, want)
		}
		f.wantActive(want)
	}
	f.publish("1.2.0")
	f.mustInstall(tracker)
	if n := len(f.onDisk()); n != 4 {
		t.Errorf("the store holds %v, want two versions", f.onDisk())
	}
	f.must(f.client.Uninstall("acme/tracker"))
	f.wantActive("")
	if n := len(f.onDisk()); n != 0 {
		t.Errorf("the store still holds %v", f.onDisk())
	}
	f.must(f.client.RemoveRegistry("main"))
	if list, err := f.client.Registries(); err != nil || len(list) != 0 {
		t.Errorf("registries %+v, %v", list, err)
	}
}

func TestInstallTwiceAsksOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	e, err := f.client.Install(t.Context(), tracker, InstallOptions{Consent: func(context.Context, Review) error {
		return errors.New("asked again")
	}})
	if err != nil || e.Version != "1.0.0" {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestReinstallRepairs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.mustInstall(tracker)
	f.damage(e.Module.SHA256 + extModule)
	_, err := f.client.Load("acme/tracker")
	wantRefused(t, err, abi.ReasonTampered, f.publisher)
	f.mustInstall(tracker)
	f.wantActive("1.0.0")
}

// damage changes one byte of a stored file.
func (f *fixture) damage(name string) {
	f.t.Helper()
	path := filepath.Join(f.client.cfg.Dir, "store", name)
	data, err := os.ReadFile(path)
	f.must(err)
	data[len(data)-1] ^= 1
	f.must(os.Chmod(path, 0o600))
	f.must(os.WriteFile(path, data, 0o600))
}

func TestConsentSeesWhatChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	var seen Review
	no := errors.New("no")
	_, err := f.client.Install(t.Context(), tracker, InstallOptions{Consent: func(_ context.Context, r Review) error {
		seen = r
		return no
	}})
	if !errors.Is(err, no) {
		t.Errorf("got %v, want the refusal itself", err)
	}
	if seen.Previous == nil || seen.Previous.Version != "1.0.0" || seen.Release.Version != "1.1.0" ||
		seen.Signer.Primary != f.publisher.Fingerprint() || seen.Registry.ID != "main" {
		t.Errorf("review %+v", seen)
	}
	f.wantActive("1.0.0")
}

// What is installed and whole is admitted again, and nobody is asked; with Again,
// somebody is.
func TestInstallOfTheSameVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.mustInstall(tracker)
	for _, again := range []bool{false, true} {
		asked, admitted := 0, 0
		e, err := f.client.Install(t.Context(), tracker, InstallOptions{
			Again:   again,
			Consent: func(context.Context, Review) error { asked++; return nil },
			Admit: func(_ context.Context, r Review, wasm []byte) error {
				admitted++
				if hashOf(wasm) != r.Release.Module.SHA256 {
					t.Error("admitted bytes aren't the release's")
				}
				return nil
			},
		})
		if err != nil || e.Release != first.Release || admitted != 1 || (asked == 1) != again {
			t.Errorf("again %v: %+v, %v; asked %d times, admitted %d times", again, e, err, asked, admitted)
		}
	}
}

// An install of what is already there mends a release that was changed.
func TestInstallMendsARelease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.mustInstall(tracker)
	if err := os.Remove(f.client.store().path(e.Release.SHA256, extRelease)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.Load(tracker.Plugin()); err == nil {
		t.Fatal("it is loaded without its release")
	}
	f.mustInstall(tracker)
	if _, err := f.client.Load(tracker.Plugin()); err != nil {
		t.Error(err)
	}
}

// A plugin is found although it was published after the last fetch.
func TestInstallWhatIsNew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	name := "wiki"
	text := strings.Replace(fmt.Sprintf(manifest, "1.0.0"), "name: tracker", "name: "+name, 1)
	m, err := release.ParseManifest([]byte(text))
	f.must(err)
	r, err := release.Build(m, release.BuildInfo{Registry: f.id, Namespace: "acme", Module: wasmOf("1.0.0"), Imports: []string{"read"}})
	f.must(err)
	f.must(f.m.Publish(t.Context(), f.keys, f.submission(r, f.publisher)))
	f.mustInstall(Ref{Namespace: "acme", Name: name})
	_, err = f.install(Ref{Namespace: "acme", Name: "nowhere"})
	if !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a plugin that is nowhere: %v", err)
	}
}

func TestAdmitStopsInstall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	no := errors.New("imports something else")
	_, err := f.client.Install(t.Context(), tracker, InstallOptions{Consent: yes, Admit: func(_ context.Context, r Review, wasm []byte) error {
		if hashOf(wasm) != r.Release.Module.SHA256 {
			t.Error("admitted bytes aren't the release's")
		}
		return no
	}})
	if !errors.Is(err, no) || len(f.onDisk()) != 0 {
		t.Errorf("got %v, store %v", err, f.onDisk())
	}
	f.wantActive("")
}

func TestResolve(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	f.publish("1.2.0-rc.1")
	f.now = f.now.Add(1)
	beta := f.submission(f.releaseOf("1.3.0"), f.publisher)
	beta.Channel = Beta
	f.must(f.m.Publish(t.Context(), f.keys, beta))
	f.publish("2.0.0")
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "2.0.0", "broken"))
	if _, err := f.client.Refresh(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	for constraint, want := range map[string]string{
		"": "1.1.0", "latest": "1.1.0", "1.0.0": "1.0.0", "= 1.0.0": "1.0.0", "~> 1.0": "1.1.0", ">= 1, < 1.1": "1.0.0",
		"1.2.0-rc.1": "1.2.0-rc.1", "1.3.0": "1.3.0", "2.0.0": "", "> 2": "",
	} {
		got, err := f.client.Resolve(t.Context(), Ref{Namespace: "acme", Name: "tracker", Constraint: constraint})
		if got.Version.Version != want || (want == "") != errors.Is(err, abi.ErrNotFound) {
			t.Errorf("%q: got %q, %v, want %q", constraint, got.Version.Version, err, want)
		}
	}
	found, err := f.search("TRACK")
	if err != nil || len(found) != 1 || found[0].Version.Version != "1.1.0" {
		t.Errorf("search: %+v, %v", found, err)
	}
	if found, err := f.search("nothing"); err != nil || len(found) != 0 {
		t.Errorf("search for nothing: %+v, %v", found, err)
	}
}

func TestTwoRegistries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := newOrigin(t, "other")
	_, err := f.client.AddRegistry(t.Context(), other.origin, f.owner.Fingerprint())
	f.must(err)
	_, err = f.install(tracker)
	if !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("ambiguous plugin: %v, want invalid_args", err)
	}
	wantHint(t, err, abi.ErrInvalidArgs, "drawbridge install main:acme/tracker, or drawbridge install other:acme/tracker")
	_, err = f.client.Complete(t.Context(), Ref{Name: "tracker", Constraint: "1.0.0"})
	wantHint(t, err, abi.ErrInvalidArgs, "drawbridge install main:acme/tracker@1.0.0, or drawbridge install other:acme/tracker@1.0.0")
	f.mustInstall(Ref{Registry: "main", Namespace: "acme", Name: "tracker"})
	f.mustInstall(tracker) // now it is bound
	_, err = f.install(Ref{Registry: "other", Namespace: "acme", Name: "tracker"})
	wantRefused(t, err, abi.ReasonWrongName, f.publisher)
	if err := f.client.RemoveRegistry("main"); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("removing a registry in use: %v", err)
	}
	f.must(f.client.RemoveRegistry("other"))
}

func TestAddRegistryRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint()); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("adding twice: %v", err)
	}
	if _, err := f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint()[24:]); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("short fingerprint: %v", err)
	}
	same := newOrigin(t, "main")
	if _, err := f.client.AddRegistry(t.Context(), same.origin, f.owner.Fingerprint()); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("second registry with the same id: %v", err)
	}
	if _, err := f.client.AddRegistry(t.Context(), filepath.Join(t.TempDir(), "none"), f.owner.Fingerprint()); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("no repository: %v", err)
	}
	if list, err := f.client.Registries(); err != nil || len(list) != 1 {
		t.Errorf("registries %+v, %v, want the first alone", list, err)
	}
	dirs, _ := filepath.Glob(filepath.Join(f.client.cfg.Dir, "registries", "*"))
	if len(dirs) != 1 {
		t.Errorf("refused registries leave %v", dirs)
	}
}

// What is looked at before it is added is judged alike, and leaves nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.client.Preview(t.Context(), f.origin, f.owner.Fingerprint()); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("one that is added: %v", err)
	}
	same := newOrigin(t, "main")
	if _, err := f.client.Preview(t.Context(), same.origin, f.owner.Fingerprint()); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("another with the same id: %v", err)
	}
	c := f.newClient()
	_, err := c.Preview(t.Context(), f.origin, f.publisher.Fingerprint())
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Reason != abi.ReasonUnknownKey || !strings.Contains(e.Hint, "ask the owner for the fingerprint again") {
		t.Errorf("a wrong fingerprint: %v", err)
	}
	seen, err := c.Preview(t.Context(), f.origin, f.owner.Fingerprint())
	if err != nil || seen.ID != "main" || seen.URL != f.origin {
		t.Fatalf("the right one: %+v, %v", seen, err)
	}
	if dirs, _ := filepath.Glob(filepath.Join(c.cfg.Dir, "registries", "*")); len(dirs) != 0 {
		t.Errorf("a preview leaves %v", dirs)
	}
	other := seen
	other.ID = "other"
	if _, err := c.AddPreviewed(t.Context(), other); !errors.Is(err, abi.ErrUntrusted) {
		t.Errorf("another registry at the address: %v", err)
	}
	if list, err := c.Registries(); err != nil || len(list) != 0 {
		t.Errorf("it was kept: %+v, %v", list, err)
	}
	if added, err := c.AddPreviewed(t.Context(), seen); err != nil || added.ID != "main" {
		t.Errorf("added %+v, %v", added, err)
	}
}

func TestArtifactAsTag(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sum := hashOf(wasmOf("1.0.0"))
	_, err := f.m.repo.run(t.Context(), nil, "update-ref", artifactTag(sum), artifactRef(sum))
	f.must(err)
	_, err = f.m.repo.run(t.Context(), nil, "update-ref", "-d", artifactRef(sum))
	f.must(err)
	f.mustInstall(tracker)
	f.wantActive("1.0.0")
}

func TestMissingArtifact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.m.repo.run(t.Context(), nil, "update-ref", "-d", artifactRef(hashOf(wasmOf("1.0.0"))))
	f.must(err)
	if _, err := f.install(tracker); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("got %v, want not_found", err)
	}
	f.wantActive("")
}

func TestPush(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mirror := filepath.Join(t.TempDir(), "mirror.git")
	if _, err := create(t.Context(), mirror, fromFile); err != nil {
		t.Fatal(err)
	}
	f.must(f.m.Push(t.Context(), mirror))
	c := f.newClient()
	if _, err := c.AddRegistry(t.Context(), mirror, f.owner.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes}); err != nil {
		t.Error(err)
	}
	if err := f.m.Push(t.Context(), "ext::sh -c true"); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("pushing to a command: %v", err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var got []string
	f.client.cfg.Events = Events{
		Fetching:    func(string, string) { got = append(got, "fetching") },
		Verified:    func(string, int64) { got = append(got, "verified") },
		Downloading: func(string, string, int64) { got = append(got, "downloading") },
		Installed:   func(Entry) { got = append(got, "installed") },
	}
	f.mustInstall(tracker)
	if want := []string{"fetching", "verified", "downloading", "installed"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestWarningsOfAge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var got []string
	f.client.cfg.Events.Warning = func(_, message string) { got = append(got, message) }
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, ""}, {snapshotLife / 2, "wasn't renewed"}, {snapshotLife / 2, "expired"}} {
		f.now, got = f.now.Add(c.after), nil
		_, err := f.client.Resolve(t.Context(), Ref{Registry: "main", Namespace: "acme", Name: "tracker"})
		f.must(err)
		if (len(got) == 0) != (c.want == "") || (len(got) > 0 && !strings.Contains(got[0], c.want)) {
			t.Errorf("warnings %q, want %q", got, c.want)
		}
	}
}

func TestManyRefreshesAreRepacked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range maxPacks + 3 {
		f.must(f.m.Refresh(t.Context(), f.keys))
		if _, err := f.client.Refresh(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	packs, _ := filepath.Glob(filepath.Join(f.registryDir(), "git", "objects", "pack", "*.pack"))
	if len(packs) == 0 || len(packs) > maxPacks {
		t.Errorf("%d packs", len(packs))
	}
	f.mustInstall(tracker)
}

func TestParseRef(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Ref{
		"acme/tracker":             {Namespace: "acme", Name: "tracker"},
		"acme/tracker@1.2.3":       {Namespace: "acme", Name: "tracker", Constraint: "1.2.3"},
		"main:acme/tracker@~> 1.2": {Registry: "main", Namespace: "acme", Name: "tracker", Constraint: "~> 1.2"},
	} {
		if got, err := ParseRef(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "tracker", "/tracker", "acme/", "acme/tracker/x", "Acme/tracker", "../x", "acme/..", "acme/tracker@x",
		"acme/trac ker", "acme/tracker\n", ":acme/tracker", "A:acme/tracker", "acme/tracker@1@2", "аcme/tracker",
	} {
		if got, err := ParseRef(s); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%q is read as %+v (%v)", s, got, err)
		}
	}
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for s, via := range map[string]transport{
		"https://git.example.org/x.git": overHTTPS, "ssh://git@git.example.org/x.git": overSSH, "ssh://[::1]:22/x.git": overSSH, "https://127.0.0.1:8443/x.git": overHTTPS,
		"git@git.example.org:x/y.git": overSSH, "/srv/registry.git": fromFile, "./registry.git": fromFile,
	} {
		if got, err := parseAddress(s); err != nil || got.via != via {
			t.Errorf("%q: %+v, %v, want %s", s, got, err, via)
		}
	}
	for _, s := range []string{
		"", "registry.git", "-oProxyCommand=x", "--upload-pack=x", "ext::sh -c id", "file:///srv/x.git", "git://h/x", "http://h/x",
		"https://user:secret@h/x", "https://token@h/x", "https:///x", "https://h/x?y", "https://h/x#y", "ssh://-oProxyCommand=x/y",
		"ssh://u:p@h/x", "ssh://-x@h/y", "https://h/\x1b[2J", "https://h/\nx", "fd::3", "https://h%0a/x", "https://h/x%0ahost=evil", "ssh://g%0a@h/x", "-x@h:y", "a@-h:y", "h::x",
		"ssh://h$(id)/x", "ssh://h;id/x", "ssh://h'x/y", "https://h&id/x", "ssh://a$(id)@h/x", "ssh://-oProxyCommand=x@h/y", "ssh://@h/y", "https://hôte/x", "ssh://[::1%25eth0]/x",
		"user:secret@h:x", "https:user:secret@h/x", "https://user:a/secret@h/x", "https://user:secret@a@h/x", "git+https://token@h/x",
	} {
		if got, err := parseAddress(s); !errors.Is(err, abi.ErrInvalidArgs) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "token") {
			t.Errorf("%q is read as %+v (%v)", s, got, err)
		}
	}
}
