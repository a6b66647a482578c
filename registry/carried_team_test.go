package registry

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A lock file names what a program carries by that, and not by a path of the machine
// where it was made; a machine with that program follows it from wherever the others
// are fetched.
func TestTeamLockOfWhatIsCarried(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "carried")
	b := f.carried()
	lead, _ := f.programWith(b, "")
	f.must(lead.EnsureBuiltin(t.Context()))
	if _, err := lead.Install(t.Context(), tracker, InstallOptions{Consent: yes}); err != nil {
		t.Fatal(err)
	}
	f.client = lead
	data, sig := f.teamLock("support", 1, f.mallory)
	if !bytes.Contains(data, []byte(CarriedURL)) || bytes.Contains(data, []byte(".bundle")) {
		t.Errorf("the lock file:\n%s", data)
	}

	mirrors := t.TempDir() // one of another registry
	other := newOrigin(t, "other")
	f.must(os.CopyFS(filepath.Join(mirrors, "other.git"), os.DirFS(other.origin)))
	ctx := WithMirrors(t.Context(), mirrors)
	c, _ := f.programWith(b, "")
	f.must(c.EnsureBuiltin(t.Context()))
	f.must(c.TrustTeam("support", f.mallory.Certificate()))
	for range 2 { // it is there already the second time
		l, _, err := c.VerifyTeamLock(data, sig)
		f.must(err)
		f.must(c.CheckRegistry(ctx, l.Registries[0]))
		f.must(f.syncWith(ctx, c, data, sig))
	}
	f.must(f.syncWith(WithMirrors(t.Context(), filepath.Join(mirrors, "other.git")), c, data, sig))

	// A program without it says whose it is, and follows with a mirror of it.
	bare := f.another("support", f.mallory)
	l, err := ParseTeamLock(data)
	f.must(err)
	for name, do := range map[string]func(context.Context, TeamRegistry) error{"run": bare.EnsureRegistry, "dry run": bare.CheckRegistry} {
		err := do(t.Context(), l.Registries[0])
		if e, ok := errors.AsType[*abi.Error](err); !ok || e.Code != abi.ErrForbidden || !strings.Contains(e.Msg, "carries it") {
			t.Errorf("%s: %v", name, err)
		}
		if err := do(ctx, l.Registries[0]); !errors.Is(err, abi.ErrNotFound) {
			t.Errorf("%s, with mirrors of others: %v", name, err)
		}
	}
	f.must(os.CopyFS(filepath.Join(mirrors, "carried.git"), os.DirFS(f.origin)))
	f.must(bare.CheckRegistry(ctx, l.Registries[0]))
	f.must(f.syncWith(ctx, bare, data, sig))
	if got, err := bare.Registry("carried"); err != nil || !got.Elsewhere {
		t.Errorf("%+v, %v", got, err)
	}
}

// A dry run says what the run would fail of: no mirror, another registry there, or
// nobody who answers.
func TestCheckRegistryLikeTheRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	l, err := f.client.DraftTeamLock(t.Context(), "support", 1, nil)
	f.must(err)
	l.Registries = append(l.Registries, TeamRegistry{"main", f.origin, f.owner.Fingerprint()})
	other := newOrigin(t, "other")
	mirrors := t.TempDir()
	fresh := f.newClient()
	for name, ctx := range map[string]context.Context{
		"no mirror": WithMirrors(t.Context(), mirrors), "of another registry": WithMirrors(t.Context(), other.origin),
	} {
		for who, c := range map[string]*Client{"added": f.client, "new": fresh} {
			run := c.EnsureRegistry(ctx, l.Registries[0])
			if run == nil {
				_, run = c.Refresh(ctx, "main")
			}
			if dry := c.CheckRegistry(ctx, l.Registries[0]); run == nil || who == "new" && dry == nil || name == "no mirror" && dry == nil {
				t.Errorf("%s, %s: the run says %v, the dry run %v", name, who, run, dry)
			}
		}
	}
	_, err = f.client.Refresh(WithMirrors(t.Context(), filepath.Join(mirrors, "nowhere")), "main")
	if e, ok := errors.AsType[*abi.Error](err); !ok || !strings.Contains(e.Msg, "there is no folder") || strings.Contains(e.Hint, "nowhere") {
		t.Errorf("a folder that isn't there: %+v", err)
	}
	f.must(os.RemoveAll(f.origin))
	if err := f.client.CheckRegistry(t.Context(), l.Registries[0]); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("nobody answers: %v", err)
	}
}

// What every machine would refuse is in no lock file.
func TestTeamLockOfWhatIsRevoked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.publish("1.1.0")
	f.revoke(Revocation{Artifacts: []string{hashOf(f.files()[releasePath("acme", "tracker", "1.0.0")])}, Reason: "leaks"})
	f.refresh()
	none := func(string) (map[string]string, error) { return map[string]string{}, nil }
	_, err := f.client.DraftTeamLock(t.Context(), "support", 1, none)
	wantRefused(t, err, abi.ReasonArtifactRevoked)
	if e, ok := errors.AsType[*abi.Error](err); !ok || e.Hint != "drawbridge update acme/tracker" {
		t.Errorf("the hint: %+v", e)
	}
	f.mustInstall(tracker)
	l, err := f.client.DraftTeamLock(t.Context(), "support", 1, none)
	if err != nil || len(l.Plugins) != 1 || l.Plugins[0].Version != "1.1.0" {
		t.Errorf("once it is mended: %+v, %v", l, err)
	}
}

// A lock file can give a registry the path of what a program carries, and doesn't make
// it one that goes with the next program.
func TestPathOfABundleIsNoBundle(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "carried")
	c, _ := f.programWith(f.carried(), "")
	f.must(c.EnsureBuiltin(t.Context()))
	other := newOrigin(t, "other")
	posing := TeamRegistry{"other", filepath.Join(c.cfg.Dir, "builtin", "next.bundle"), other.owner.Fingerprint()}
	f.must(c.EnsureRegistry(WithMirrors(t.Context(), other.origin), posing))
	if _, err := c.Refresh(t.Context(), "other"); !errors.Is(err, abi.ErrForbidden) {
		t.Errorf("it has no address here: %v", err)
	}
	next := newOrigin(t, "next")
	c, _ = next.programWith(next.carried(), c.cfg.Dir)
	f.must(c.EnsureBuiltin(t.Context()))
	list, err := c.Registries()
	if err != nil || len(list) != 2 || list[0].ID != "next" || list[1].ID != "other" {
		t.Errorf("registries %+v, %v", list, err)
	}
}
