package registry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// oldMirror is a client that has seen a registry's newest snapshot, in which the
// installed version was revoked, and a mirror of the snapshot before.
func (f *fixture) oldMirror(url string) (c *Client, mirrors string) {
	f.t.Helper()
	e := f.mustInstall(tracker)
	mirrors = f.t.TempDir()
	_, err := f.client.Mirror(f.t.Context(), f.id, filepath.Join(mirrors, f.id+".git"), Mirroring{})
	f.must(err)
	f.now = f.now.Add(time.Hour)
	f.must(f.m.Revoke(f.t.Context(), f.keys, Revocation{Artifacts: []string{e.Module.SHA256}, Reason: "stolen"}))
	c = f.another("support", f.mallory)
	_, err = c.AddRegistry(f.t.Context(), url, f.owner.Fingerprint())
	f.must(err)
	return c, mirrors
}

// Whoever can run commands and serve an old mirror can't roll a registry back by
// removing it: every way of adding it again starts from what was seen.
func TestRemovedRegistryIsNotRolledBack(t *testing.T) {
	f := newOrigin(t, "main")
	server := serveGit(t, f.origin)
	url := server.URL + "/origin.git"
	f.client = f.newClient()
	_, err := f.client.AddRegistry(t.Context(), url, f.owner.Fingerprint())
	f.must(err)
	f.mustInstall(tracker)
	data, sig := f.teamLock("support", 1, f.mallory)
	c, mirrors := f.oldMirror(url)
	old := filepath.Join(mirrors, "main.git")
	f.must(c.RemoveRegistry("main"))
	for name, add := range map[string]func() error{
		"sync": func() error { return f.syncWith(WithMirrors(t.Context(), mirrors), c, data, sig) },
		"sync --dry-run": func() error {
			l, err := ParseTeamLock(data)
			f.must(err)
			return c.CheckRegistry(WithMirrors(t.Context(), mirrors), l.Registries[0])
		},
		"add": func() error {
			_, err := c.AddRegistry(t.Context(), old, f.owner.Fingerprint())
			return err
		},
		"preview": func() error {
			_, err := c.Preview(t.Context(), old, f.owner.Fingerprint())
			return err
		},
	} {
		err := add()
		wantRefused(t, err, abi.ReasonSnapshotOlder)
		e, ok := errors.AsType[*abi.Error](err)
		if !ok || !strings.Contains(e.Hint, "registry remove main --forget") || !strings.Contains(err.Error(), "removed at") {
			t.Errorf("%s: %v, hint %+v", name, err, e)
		}
		if list, err := c.Registries(); err != nil || len(list) != 0 {
			t.Fatalf("%s: registries %+v, %v", name, list, err)
		}
	}
	// The newest is taken, with the revocation in it.
	wantRefused(t, f.syncWith(t.Context(), c, data, sig), abi.ReasonArtifactRevoked)
	if list, err := c.Registries(); err != nil || len(list) != 1 {
		t.Fatalf("registries %+v, %v", list, err)
	}
	// It counts as there again, and can go and come as often as anybody likes.
	if list, err := c.Removed(); err != nil || len(list) != 0 {
		t.Errorf("removed %+v, %v", list, err)
	}
	f.must(c.RemoveRegistry("main"))
	_, err = c.AddRegistry(t.Context(), old, f.owner.Fingerprint())
	wantRefused(t, err, abi.ReasonSnapshotOlder)
}

// A snapshot that was seen has one content, also after a removal.
func TestRemovedRegistryIsNotForked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := f.files()
	f.now = f.now.Add(time.Hour)
	f.must(f.m.Refresh(t.Context(), f.keys))
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	f.must(f.client.RemoveRegistry("main"))
	f.replace(files) // and another snapshot of the same version
	f.now = f.now.Add(time.Minute)
	f.must(f.m.Refresh(t.Context(), f.keys))
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	wantRefused(t, err, abi.ReasonTampered, f.snapshot)
}

// What a person is told before they add a registry again.
func TestRemovedIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.client.RemoveRegistry("main"))
	gone := At(f.now)
	f.now = f.now.Add(time.Hour)
	seen, err := f.client.Preview(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	want := Removed{ID: "main", URL: f.origin, Pinned: f.owner.Fingerprint(), Snapshot: seen.Snapshot, Removed: gone}
	if len(seen.Before) != 1 || seen.Before[0] != want {
		t.Errorf("before: %+v, want %+v", seen.Before, want)
	}
	if list, err := f.client.Removed(); err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("a question takes nothing away: %+v, %v", list, err)
	}
	// Another owner's registry of that id.
	g := f.otherOwner()
	seen, err = f.client.Preview(t.Context(), g.origin, g.owner.Fingerprint())
	f.must(err)
	if len(seen.Before) != 1 || seen.Before[0].Pinned != f.owner.Fingerprint() || seen.Pinned != f.owner2.Fingerprint() {
		t.Errorf("before: %+v", seen)
	}
	// What was told has to hold when they agree.
	f.must(f.client.ForgetRegistry(f.remembered("main")))
	if _, err := f.client.AddPreviewed(t.Context(), seen); !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("got %v", err)
	}
	seen, err = f.client.Preview(t.Context(), g.origin, g.owner.Fingerprint())
	f.must(err)
	if len(seen.Before) != 0 {
		t.Errorf("before: %+v", seen.Before)
	}
	_, err = f.client.AddPreviewed(t.Context(), seen)
	f.must(err)
}

// otherOwner is a registry of the same id that belongs to owner2.
func (f *fixture) otherOwner() *fixture {
	f.t.Helper()
	g := &fixture{people: f.people, t: f.t, id: f.id, origin: filepath.Join(f.t.TempDir(), "other.git"), now: f.now}
	g.owner = f.owner2
	g.keys = Keys{[]Signer{f.owner2}, []Signer{f.snapshot}, []Signer{f.revoker}}
	var err error
	g.m, err = Init(f.t.Context(), g.origin, f.id, g.keys, g.clock)
	f.must(err)
	return g
}

func (f *fixture) remembered(id string) Remembered {
	f.t.Helper()
	what, err := f.client.Remembered(id)
	f.must(err)
	return what
}

// A lock file brings no other owner of an id that somebody trusted before: a person
// does, and then both are remembered.
func TestRemovedOtherOwner(t *testing.T) {
	f := newFixture(t)
	g := f.otherOwner()
	one := TeamRegistry{"main", serveGit(t, f.origin).URL + "/origin.git", f.owner.Fingerprint()}
	two := TeamRegistry{"main", serveGit(t, g.origin).URL + "/other.git", g.owner.Fingerprint()}
	f.must(f.client.RemoveRegistry("main"))
	for _, err := range []error{f.client.EnsureRegistry(t.Context(), two), f.client.CheckRegistry(t.Context(), two)} {
		wantRefused(t, err, abi.ReasonUnknownKey, f.owner, f.owner2)
	}
	f.must(f.client.CheckRegistry(t.Context(), one))
	if list, err := f.client.Removed(); err != nil || len(list) != 1 {
		t.Errorf("a check takes something away: %+v, %v", list, err)
	}
	f.now = f.now.Add(time.Minute)
	_, err := f.client.AddRegistry(t.Context(), g.origin, g.owner.Fingerprint())
	f.must(err)
	f.must(f.client.RemoveRegistry("main"))
	// The last one whom a person trusted counts, and the first is not forgotten.
	wantRefused(t, f.client.EnsureRegistry(t.Context(), one), abi.ReasonUnknownKey, f.owner, f.owner2)
	if list, err := f.client.Removed(); err != nil || len(list) != 2 || list[0].Pinned != f.owner2.Fingerprint() {
		t.Errorf("removed %+v, %v", list, err)
	}
	f.must(f.client.EnsureRegistry(t.Context(), two))
}

// An owner who hands over is another key of the same registry: what was seen under
// the first holds under the second, without a question.
func TestRemovedUnderAnotherPin(t *testing.T) {
	f := newFixture(t)
	both := Keys{[]Signer{f.owner, f.owner2}, f.keys.Snapshot, f.keys.Revocation}
	f.must(f.m.ChangeRoles(t.Context(), both, RoleChange{Owner: RoleEdit{Add: []signing.Certificate{f.owner2.Certificate()}}}))
	files := f.files()
	f.now = f.now.Add(time.Hour)
	f.must(f.m.Refresh(t.Context(), both))
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	newest := f.files()
	f.must(f.client.RemoveRegistry("main"))
	f.replace(files)
	next := TeamRegistry{"main", serveGit(t, f.origin).URL + "/origin.git", f.owner2.Fingerprint()}
	wantRefused(t, f.client.EnsureRegistry(t.Context(), next), abi.ReasonSnapshotOlder)
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner2.Fingerprint())
	wantRefused(t, err, abi.ReasonSnapshotOlder)
	f.replace(newest)
	f.must(f.client.EnsureRegistry(t.Context(), next))
	if list, err := f.client.Registries(); err != nil || len(list) != 1 || list[0].Pinned != f.owner2.Fingerprint() {
		t.Errorf("registries %+v, %v", list, err)
	}
	if list, err := f.client.Removed(); err != nil || len(list) != 0 {
		t.Errorf("removed %+v, %v", list, err)
	}
}

// Only a person's yes, which the caller has, forgets.
func TestForgetRegistry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := f.files()
	f.now = f.now.Add(time.Hour)
	f.must(f.m.Refresh(t.Context(), f.keys))
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	if _, err := f.client.Remembered("nowhere"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("nothing is remembered: %v", err)
	}
	f.mustInstall(tracker)
	if err := f.client.ForgetRegistry(f.remembered("main")); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("a plugin is installed: %v", err)
	}
	f.must(f.client.Uninstall("acme/tracker"))
	there := f.remembered("main")
	f.must(f.client.RemoveRegistry("main"))
	if err := f.client.ForgetRegistry(there); !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("it isn't what was shown: %v", err)
	}
	f.replace(files)
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	wantRefused(t, err, abi.ReasonSnapshotOlder)
	f.must(f.client.ForgetRegistry(f.remembered("main")))
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	f.must(f.client.ForgetRegistry(f.remembered("main"))) // one that is there
	if list, err := f.client.Registries(); err != nil || len(list) != 0 {
		t.Errorf("registries %+v, %v", list, err)
	}
	if _, err := f.client.Remembered("main"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("something is remembered: %v", err)
	}
}

// A record that can't be read is not taken for none, and keeps no other registry
// from being added.
func TestDamagedRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.client.RemoveRegistry("main"))
	list, err := filepath.Glob(filepath.Join(f.client.cfg.Dir, "removed", "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%q, %v", list, err)
	}
	f.must(os.WriteFile(list[0], []byte("{"), 0o600))
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Reason != abi.ReasonMalformed || !strings.Contains(e.Hint, "drawbridge registry remove main --forget") {
		t.Errorf("got %v, %+v", err, e)
	}
	if _, err := f.client.Removed(); err == nil {
		t.Error("the listing says nothing")
	}
	second := newOrigin(t, "second")
	_, err = f.client.AddRegistry(t.Context(), second.origin, second.owner.Fingerprint())
	f.must(err)
	what := f.remembered("main")
	if what.Damaged != 1 {
		t.Errorf("remembered %+v", what)
	}
	f.must(f.client.ForgetRegistry(what))
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
}

// What is remembered is bounded: then a removal waits for a person.
func TestRemovedIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := filepath.Join(f.client.cfg.Dir, "removed")
	f.must(os.MkdirAll(dir, 0o700))
	for i := range maxRemoved {
		f.must(os.WriteFile(filepath.Join(dir, "r"+strings.Repeat("x", i%60)+string(rune('a'+i/60))+"@0.json"), nil, 0o600))
	}
	if err := f.client.RemoveRegistry("main"); !errors.Is(err, abi.ErrLimitExceeded) {
		t.Errorf("got %v", err)
	}
	if list, err := f.client.Registries(); err != nil || len(list) != 1 {
		t.Errorf("registries %+v, %v", list, err)
	}
}

// A removal that ends between any two steps has lost nothing.
func TestRemovalInterrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := f.files()
	f.now = f.now.Add(time.Hour)
	f.must(f.m.Refresh(t.Context(), f.keys))
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	f.replace(files)
	broken := errors.New("the power is gone")
	for n := 1; ; n++ {
		left := n
		f.client.step = func(string) error {
			if left--; left == 0 {
				return broken
			}
			return nil
		}
		err := f.client.RemoveRegistry("main")
		f.client.step = nil
		if n == 4 && errors.Is(err, abi.ErrNotFound) { // the step before it was the last that counts
			break
		}
		if !errors.Is(err, broken) {
			t.Fatalf("step %d: %v", n, err)
		}
		f.wantNoOlder(f.client)
	}
	_, err = f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	wantRefused(t, err, abi.ReasonSnapshotOlder)
}

// wantNoOlder checks that the older snapshot that the registry's address has now is
// taken neither as news nor as a registry that is added.
func (f *fixture) wantNoOlder(c *Client) {
	f.t.Helper()
	if r, err := c.AddRegistry(f.t.Context(), f.origin, f.owner.Fingerprint()); err == nil {
		f.t.Errorf("the older snapshot is added: %+v", r)
	}
	_, err := c.Refresh(f.t.Context(), f.id)
	if !errors.Is(err, abi.ErrNotFound) {
		wantRefused(f.t, err, abi.ReasonSnapshotOlder)
	}
}

// A registry that the program carries stays away when the user removed it, and comes
// back by an add, no older than it was.
func TestRemovedBuiltin(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "carried")
	first := f.carried()
	f.publish("1.1.0")
	c, _ := f.programWith(f.carried(), "")
	f.must(c.EnsureBuiltin(t.Context()))
	r, err := c.Registry("carried")
	f.must(err)
	f.must(c.RemoveRegistry("carried"))
	f.must(c.EnsureBuiltin(t.Context()))
	if list, err := c.Registries(); err != nil || len(list) != 0 {
		t.Errorf("it came back by itself: %+v, %v", list, err)
	}
	_, err = c.AddRegistry(t.Context(), r.URL, r.Pinned)
	f.must(err)
	old, _ := f.programWith(first, c.cfg.Dir)
	wantRefused(t, old.EnsureBuiltin(t.Context()), abi.ReasonSnapshotOlder)
	f.must(c.EnsureBuiltin(t.Context()))
	if r, err := c.Registry("carried"); err != nil || !r.Builtin {
		t.Errorf("it isn't the program's: %+v, %v", r, err)
	}
	f.must(c.RemoveRegistry("carried"))
	known, err := c.Remembered("carried")
	f.must(err)
	f.must(c.ForgetRegistry(known))
	f.must(c.EnsureBuiltin(t.Context()))
	if _, err := c.Registry("carried"); err != nil {
		t.Errorf("after it was forgotten: %v", err)
	}
}

// A team whose trust ended and is given again goes on with the versions that were
// seen, whoever signs.
func TestDistrustedTeam(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	old, oldSig := f.teamLock("support", 1, f.mallory)
	data, sig := f.teamLock("support", 2, f.mallory)
	c := f.another("support", f.mallory)
	_, _, err := c.AcceptTeamLock(data, sig)
	f.must(err)
	f.must(c.DistrustTeam("support"))
	former, err := c.FormerTeams()
	if err != nil || len(former) != 1 || former[0].Version != 2 || former[0].Signer != f.mallory.Fingerprint() || former[0].Distrusted != At(f.now) {
		t.Fatalf("former teams %+v, %v", former, err)
	}
	f.must(c.TrustTeam("support", f.mallory.Certificate()))
	_, _, err = c.AcceptTeamLock(old, oldSig)
	wantRefused(t, err, abi.ReasonSnapshotOlder, f.mallory)
	_, _, err = c.AcceptTeamLock(data, sig)
	f.must(err)
	f.must(c.DistrustTeam("support"))
	f.must(c.TrustTeam("support", f.owner2.Certificate()))
	old, oldSig = f.teamLock("support", 1, f.owner2)
	_, _, err = c.AcceptTeamLock(old, oldSig)
	wantRefused(t, err, abi.ReasonSnapshotOlder, f.owner2)
	// Until a person says that it is to be forgotten.
	f.must(c.ForgetTeam("support"))
	if err := c.ForgetTeam("support"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	f.must(c.TrustTeam("support", f.owner2.Certificate()))
	_, _, err = c.AcceptTeamLock(old, oldSig)
	f.must(err)
}

// What is remembered of teams is bounded too.
func TestFormerTeamsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.another("support", f.mallory)
	all, err := c.readTeams()
	f.must(err)
	for i := range maxFormerTeams {
		all.Distrusted = append(all.Distrusted, FormerTeam{Name: "t" + strings.Repeat("a", i%50) + string(rune('b'+i/50)), Signer: f.owner.Fingerprint(), Distrusted: At(f.now)})
	}
	all.sort()
	f.must(c.writeTeams(all))
	if err := c.DistrustTeam("support"); !errors.Is(err, abi.ErrLimitExceeded) {
		t.Errorf("got %v", err)
	}
	f.must(c.ForgetTeam("support"))
}

// Wherever a process that removes and adds a registry is killed, the newest snapshot
// that was seen is not forgotten.
func TestKilledWhileRemoving(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := f.files()
	f.now = f.now.Add(time.Hour)
	f.must(f.m.Refresh(t.Context(), f.keys))
	newest := f.files()
	rounds, rng := crashes(t)
	for range rounds * 3 {
		cmd, out := f.helper(t.Context(), rng.Int64N(1<<40), 1+rng.Int64N(12), 1<<40)
		cmd.Env = append(cmd.Env, crashOrigin+"="+f.origin, crashOwner+"="+string(f.owner.Fingerprint()))
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the helper was not killed: %v\n%s", err, out)
		}
		if !strings.Contains(out.String(), "seen") {
			continue // it never came to the newest
		}
		c, err := New(Config{Dir: f.client.cfg.Dir, Clock: f.clock})
		f.must(err)
		f.replace(files)
		f.wantNoOlder(c)
		f.replace(newest)
	}
}
