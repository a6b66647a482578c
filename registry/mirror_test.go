package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// refsOf lists the names of a repository's refs.
func (f *fixture) refsOf(dir string) string {
	f.t.Helper()
	out, err := repository{dir, fromFile}.run(f.t.Context(), nil, "for-each-ref", "--format=%(refname)")
	f.must(err)
	return out
}

func TestMirror(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	dir := filepath.Join(t.TempDir(), "mirror.git")
	var told []int64
	how := Mirroring{Progress: func(done, total int, bytes, totalBytes int64) {
		told = append(told, int64(done), int64(total), bytes, totalBytes)
	}}
	r, err := f.client.Mirror(t.Context(), "main", dir, how)
	if err != nil || r.Modules != 2 || r.Fetched != 2 || r.Expired != "" || len(r.Skipped) != 0 {
		t.Fatalf("report %+v, %v", r, err)
	}
	if len(told) != 4 || told[0] != 2 || told[1] != 2 || told[2] != told[3] || told[2] != r.Bytes {
		t.Errorf("progress %v", told)
	}
	// It takes the registry's place, with the key that was pinned.
	c := f.newClient()
	if _, err := c.AddRegistry(t.Context(), dir, f.mallory.Fingerprint()); err == nil {
		t.Error("another key's registry")
	}
	_, err = c.AddRegistry(t.Context(), dir, f.owner.Fingerprint())
	f.must(err)
	e, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	if err != nil || e.Version != "1.1.0" {
		t.Errorf("installed %+v, %v", e, err)
	}
	// What is there isn't fetched again.
	f.publish("1.2.0")
	r, err = f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	if err != nil || r.Modules != 3 || r.Fetched != 1 {
		t.Errorf("report %+v, %v", r, err)
	}
	if strings.Contains(f.refsOf(dir), refArriving) {
		t.Errorf("refs:\n%s", f.refsOf(dir))
	}
}

// A machine without the network follows a signed lock file from a mirror, and
// keeps the address that the lock file names.
func TestSyncFromMirror(t *testing.T) {
	f := newOrigin(t, "main")
	server := serveGit(t, f.origin)
	f.client = f.newClient()
	_, err := f.client.AddRegistry(t.Context(), server.URL+"/origin.git", f.owner.Fingerprint())
	f.must(err)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	data, sig := f.teamLock("support", 1, f.mallory)
	l, err := ParseTeamLock(data)
	f.must(err)
	dir := t.TempDir()
	r, err := f.client.Mirror(t.Context(), "main", filepath.Join(dir, "main.git"), Mirroring{Only: l})
	if err != nil || r.Modules != 1 {
		t.Fatalf("report %+v, %v", r, err)
	}
	server.Close()
	c := f.another("support", f.mallory)
	if err := f.syncWith(t.Context(), c, data, sig); err == nil {
		t.Fatal("it needs no network")
	}
	for _, from := range []string{dir, filepath.Join(dir, "main.git")} {
		f.must(f.syncWith(WithMirrors(t.Context(), from), c, data, sig))
	}
	if l, err := c.Load("acme/tracker"); err != nil || l.Entry.Version != "1.0.0" {
		t.Errorf("installed %+v, %v", l.Entry, err)
	}
	list, err := c.Registries()
	if err != nil || len(list) != 1 || list[0].URL != server.URL+"/origin.git" {
		t.Errorf("registries %+v, %v", list, err)
	}
	err = f.syncWith(WithMirrors(t.Context(), t.TempDir()), c, data, sig)
	if !errors.Is(err, abi.ErrNotFound) || !strings.Contains(err.Error(), "is no mirror") {
		t.Errorf("no mirror there: %v", err)
	}
}

// A mirror expires as its origin does, and says so.
func TestMirrorExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := filepath.Join(t.TempDir(), "mirror.git")
	_, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	f.must(err)
	f.now = f.now.Add(15 * 24 * time.Hour)
	c := f.newClient()
	_, err = c.AddRegistry(t.Context(), dir, f.owner.Fingerprint())
	f.must(err)
	_, err = c.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	wantRefused(t, err, abi.ReasonSnapshotExpired, f.snapshot)
	r, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	if err != nil || !strings.Contains(r.Expired, "expired at") {
		t.Errorf("report %+v, %v", r, err)
	}
	f.must(f.m.Refresh(t.Context(), f.keys))
	r, err = f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	if err != nil || r.Expired != "" {
		t.Errorf("report %+v, %v", r, err)
	}
	_, err = c.Install(t.Context(), tracker, InstallOptions{Consent: yes})
	f.must(err)
}

// A module that isn't the one that its release names is never served.
func TestMirrorVerifiesModules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sum := hashOf(wasmOf("1.0.0"))
	id, err := f.m.repo.run(t.Context(), strings.NewReader("another module"), "hash-object", "-w", "--stdin")
	f.must(err)
	_, err = f.m.repo.run(t.Context(), nil, "update-ref", artifactRef(sum), strings.TrimSpace(id))
	f.must(err)
	dir := filepath.Join(t.TempDir(), "mirror.git")
	_, err = f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	wantRefused(t, err, abi.ReasonTampered)
	if refs := f.refsOf(dir); strings.Contains(refs, sum) || strings.Contains(refs, branch) {
		t.Errorf("refs:\n%s", refs)
	}
}

// A registry on a forge that keeps no refs of ours is mirrored from its tags.
func TestMirrorFromTags(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	sum := hashOf(wasmOf("1.0.0"))
	_, err := f.m.repo.run(t.Context(), nil, "update-ref", artifactTag(sum), artifactRef(sum))
	f.must(err)
	_, err = f.m.repo.run(t.Context(), nil, "update-ref", "-d", artifactRef(sum))
	f.must(err)
	dir := filepath.Join(t.TempDir(), "mirror.git")
	r, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	if err != nil || r.Modules != 2 || !strings.Contains(f.refsOf(dir), artifactRef(sum)) {
		t.Errorf("report %+v, %v, refs:\n%s", r, err, f.refsOf(dir))
	}
}

// What clients would refuse is left out and named; a version that a lock file asks
// for is an error then.
func TestMirrorLeavesOutWhatIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.mustInstall(tracker)
	data, _ := f.teamLock("support", 1, f.mallory)
	l, err := ParseTeamLock(data)
	f.must(err)
	f.publish("1.1.0")
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Artifacts: []string{e.Module.SHA256}, Reason: "stolen"}))
	dir := filepath.Join(t.TempDir(), "mirror.git")
	r, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	if err != nil || r.Modules != 1 || len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0], "1.0.0") {
		t.Errorf("report %+v, %v", r, err)
	}
	_, err = f.client.Mirror(t.Context(), "main", dir, Mirroring{Only: l})
	wantRefused(t, err, abi.ReasonArtifactRevoked)
	l.Plugins[0].Version = "7.0.0"
	_, err = f.client.Mirror(t.Context(), "main", dir, Mirroring{Only: l})
	wantRefused(t, err, abi.ReasonTampered)
}

// A mirror that was interrupted names nothing that isn't there, and goes on.
func TestMirrorInterrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, v := range []string{"1.1.0", "1.2.0"} {
		f.publish(v)
	}
	data := wasmOf("1.2.0")
	dir := filepath.Join(t.TempDir(), "mirror.git")
	_, err := f.m.repo.run(t.Context(), nil, "update-ref", "refs/kept", artifactRef(hashOf(data)))
	f.must(err)
	_, err = f.m.repo.run(t.Context(), nil, "update-ref", "-d", artifactRef(hashOf(data)))
	f.must(err)
	if _, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{}); !errors.Is(err, abi.ErrNotFound) {
		t.Fatalf("got %v, want not_found", err)
	}
	if refs := f.refsOf(dir); strings.Contains(refs, branch) {
		t.Errorf("refs:\n%s", refs)
	}
	f.must(os.WriteFile(filepath.Join(dir, "refs", "drawbridge", "artifacts", "x.lock"), nil, 0o600)) // a git that was killed
	_, err = f.m.repo.run(t.Context(), nil, "update-ref", artifactRef(hashOf(data)), "refs/kept")
	f.must(err)
	r, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	if err != nil || r.Modules != 3 || r.Fetched != 1 {
		t.Errorf("report %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.client.Mirror(ctx, "main", filepath.Join(t.TempDir(), "m.git"), Mirroring{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

// Nothing that isn't a mirror of this registry is written over.
func TestMirrorIntoSomethingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	full := t.TempDir()
	f.must(os.WriteFile(filepath.Join(full, "letter.txt"), []byte("dear"), 0o600))
	other := newOrigin(t, "other")
	for name, dir := range map[string]string{"a folder with files": full, "the registry itself": f.origin, "another registry": other.origin} {
		before := ""
		if name != "a folder with files" {
			before = f.refsOf(dir)
		}
		if _, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{}); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%s: got %v, want invalid_args", name, err)
		}
		if before != "" && f.refsOf(dir) != before {
			t.Errorf("%s: it was changed", name)
		}
	}
	if _, err := f.client.Mirror(t.Context(), "nowhere", t.TempDir(), Mirroring{}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("no such registry: %v", err)
	}
}

// move fetches the fixture's registry from another address.
func (f *fixture) move(url string) (Registry, error) {
	f.t.Helper()
	shown, err := f.client.Registry(f.id)
	f.must(err)
	return f.client.SetRegistryURL(f.t.Context(), shown, url)
}

// Another address has to have what was seen, or more, of the same owner.
func TestSetRegistryURL(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := filepath.Join(t.TempDir(), "mirror.git")
	_, err := f.client.Mirror(t.Context(), "main", dir, Mirroring{})
	f.must(err)
	r, err := f.move(dir)
	if err != nil || r.URL != dir || r.Pinned != f.owner.Fingerprint() {
		t.Fatalf("moved to %+v, %v", r, err)
	}
	f.mustInstall(tracker)
	f.publish("1.1.0") // the mirror doesn't have it
	_, err = f.move(f.origin)
	f.must(err)
	shown, err := f.client.Registry("main")
	f.must(err)
	f.must(f.client.PreviewMove(t.Context(), shown, f.origin))
	wantRefused(t, f.client.PreviewMove(t.Context(), shown, dir), abi.ReasonSnapshotOlder, f.snapshot)
	_, err = f.move(dir)
	wantRefused(t, err, abi.ReasonSnapshotOlder, f.snapshot)
	other := newOrigin(t, "other")
	wantRefused(t, f.client.PreviewMove(t.Context(), shown, other.origin), abi.ReasonWrongName)
	_, err = f.move(other.origin)
	wantRefused(t, err, abi.ReasonWrongName)
	list, err := f.client.Registries()
	if err != nil || len(list) != 1 || list[0].URL != f.origin {
		t.Errorf("registries %+v, %v", list, err)
	}
	if _, err := f.move("ext::sh -c id"); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("a command: %v", err)
	}
}
