package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// What is installed goes on when its registry turns bad, except where it is what
// was revoked.
func TestInstalledGoesOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	f.now = f.now.Add(snapshotLife)
	l, err := f.client.Load("acme/tracker")
	if err != nil || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "expired") {
		t.Errorf("expired snapshot: %v, warnings %q", err, l.Warnings)
	}
	f.tamper(func(m map[string][]byte) { clear(m) })
	if _, err := f.client.Refresh(t.Context(), "main"); err == nil {
		t.Error("an empty registry is accepted")
	}
	f.wantActive("1.0.0")
}

func TestRevokedAfterInstall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		what   func(f *fixture) Revocation
		reason abi.Reason
	}{
		"module": {func(*fixture) Revocation { return Revocation{Artifacts: []string{hashOf(wasmOf("1.1.0"))}} }, abi.ReasonArtifactRevoked},
		"key": {func(f *fixture) Revocation {
			return Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}}
		}, abi.ReasonKeyRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mustInstall(tracker)
			f.publish("1.1.0")
			f.mustInstall(tracker)
			f.revoke(c.what(f))
			_, err := f.client.Refresh(t.Context(), "main")
			f.must(err)
			_, err = f.client.Load("acme/tracker")
			wantRefused(t, err, c.reason, f.publisher)
			_, err = f.client.Rollback(t.Context(), "acme/tracker", InstallOptions{Consent: yes})
			if name == "module" {
				f.must(err)
				f.wantActive("1.0.0")
				_, err = f.client.Rollback(t.Context(), "acme/tracker", InstallOptions{Consent: yes})
			}
			wantRefused(t, err, c.reason, f.publisher)
		})
	}
}

func TestDowngrade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	f.mustInstall(tracker)
	older := Ref{Namespace: "acme", Name: "tracker", Constraint: "1.0.0"}
	_, err := f.install(older)
	wantHint(t, err, abi.ErrInvalidArgs, "drawbridge remove acme/tracker --keep-data && drawbridge install acme/tracker@1.0.0")
	f.wantActive("1.1.0")
	_, err = f.client.Install(t.Context(), older, InstallOptions{Consent: yes, AllowDowngrade: true})
	f.must(err)
	f.wantActive("1.0.0")
	f.mustInstall(tracker)
	_, err = f.install(older) // now it is the version before
	wantHint(t, err, abi.ErrInvalidArgs, "drawbridge rollback acme/tracker")
}

func TestInstalledVersionChangesItsBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	r := f.releaseOf("1.0.0")
	r.Title = "Another"
	f.relistAs(f.submission(r, f.publisher))
	_, err := f.install(tracker)
	wantRefused(t, err, abi.ReasonTampered, f.publisher)
	f.wantActive("1.0.0")
}

func TestTamperedAfterInstall(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *fixture, e Entry){
		"module":         func(f *fixture, e Entry) { f.damage(e.Module.SHA256 + extModule) },
		"release":        func(f *fixture, e Entry) { f.damage(e.Release.SHA256 + extRelease) },
		"module removed": func(f *fixture, e Entry) { f.must(os.Remove(f.client.store().path(e.Module.SHA256, extModule))) },
		"module longer": func(f *fixture, e Entry) {
			path := f.client.store().path(e.Module.SHA256, extModule)
			f.must(os.Chmod(path, 0o600))
			f.must(os.WriteFile(path, append(wasmOf("1.0.0"), 0), 0o600))
		},
		"module is a folder": func(f *fixture, e Entry) {
			path := f.client.store().path(e.Module.SHA256, extModule)
			f.must(os.Remove(path))
			f.must(os.Mkdir(path, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			change(f, f.mustInstall(tracker))
			_, err := f.client.Load("acme/tracker")
			wantRefused(t, err, abi.ReasonTampered, f.publisher)
		})
	}
}

func TestBadLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	good, err := os.ReadFile(f.client.lockPath())
	f.must(err)
	for name, bad := range map[string]string{
		"empty":          "",
		"truncated":      string(good[:len(good)/2]),
		"last byte gone": string(good[:len(good)-1]),
		"two documents":  string(good) + string(good),
		"unknown key":    strings.Replace(string(good), `"format":1`, `"extra":1,"format":1`, 1),
		"other type":     strings.Replace(string(good), typeLock, typeState, 1),
		"short hash":     strings.Replace(string(good), `"sha256":"`, `"sha256":"00`, 1),
		"path as name":   strings.Replace(string(good), `"tracker"`, `"../../x"`, 1),
		"spaces":         strings.Replace(string(good), `,`, `, `, 1),
		"null":           "null",
	} {
		f.must(os.WriteFile(f.client.lockPath(), []byte(bad), 0o600))
		_, err := f.client.Load("acme/tracker")
		t.Log(name)
		wantRefused(t, err, abi.ReasonMalformed)
		_, err = f.install(tracker)
		wantRefused(t, err, abi.ReasonMalformed)
		if now, _ := os.ReadFile(f.client.lockPath()); string(now) != bad {
			t.Error("the damaged lock was overwritten")
		}
	}
	f.must(os.WriteFile(f.client.lockPath(), good, 0o600))
	f.wantActive("1.0.0")
}

// A failure before any step leaves the version that was active, and the next try
// succeeds.
func TestInterruptedInstall(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"state", "verified", "module", "release", "lock"} {
		t.Run(step, func(t *testing.T) {
			f := newFixture(t)
			f.mustInstall(tracker)
			f.publish("1.1.0")
			cut := errors.New("cut at " + step)
			f.client.step = func(name string) error {
				if name == step {
					return cut
				}
				return nil
			}
			if _, err := f.install(tracker); !errors.Is(err, cut) {
				t.Fatalf("got %v, want the failure at %q", err, step)
			}
			f.wantActive("1.0.0")
			f.client.step = nil
			f.mustInstall(tracker)
			f.wantActive("1.1.0")
			if n := len(f.onDisk()); n != 4 {
				t.Errorf("the store holds %v, want two versions", f.onDisk())
			}
		})
	}
}

// Tidying up comes after the change and doesn't undo it.
func TestInterruptedSweep(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	warned := false
	f.client.cfg.Events.Warning = func(string, string) { warned = true }
	f.client.step = func(name string) error {
		if name == "sweep" {
			return errors.New("cut")
		}
		return nil
	}
	f.mustInstall(tracker)
	if !warned {
		t.Error("no warning")
	}
	f.wantActive("1.0.0")
}

// What is fetched after a person's yes is what they said yes to, whatever stands
// under the module's ref by then.
func TestModuleSwappedWhileAPersonReads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	swap := f.swapArtifact
	_, err := f.client.Install(t.Context(), tracker, InstallOptions{Consent: func(context.Context, Review) error {
		swap([]byte("\x00asm module of 6.6.6"))
		return nil
	}})
	wantRefused(t, err, abi.ReasonTampered, f.publisher)
	f.wantActive("")
}

// What somebody put into the store under the right name counts for nothing: it is
// replaced at the install, and refused at a load.
func TestPlantedInTheStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.client.store()
	f.must(os.MkdirAll(s.dir, 0o700))
	planted := s.path(hashOf(wasmOf("1.0.0")), extModule)
	f.must(os.WriteFile(planted, []byte("evil"), 0o600))
	e := f.mustInstall(tracker)
	f.wantActive("1.0.0")
	evil := filepath.Join(t.TempDir(), "evil.wasm")
	f.must(os.WriteFile(evil, append(wasmOf("1.0.0")[:len(wasmOf("1.0.0"))-1], '6'), 0o600))
	f.must(os.Remove(s.path(e.Module.SHA256, extModule)))
	f.must(os.Symlink(evil, s.path(e.Module.SHA256, extModule)))
	_, err := f.client.Load("acme/tracker")
	wantRefused(t, err, abi.ReasonTampered, f.publisher)
}

// Between the check and the use there is nothing to change: the bytes that were
// hashed are the bytes that Load returns.
func TestChangedAfterLoad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.mustInstall(tracker)
	l, err := f.client.Load("acme/tracker")
	f.must(err)
	f.damage(e.Module.SHA256 + extModule)
	if hashOf(l.Wasm) != e.Module.SHA256 {
		t.Error("what was loaded changed with the file")
	}
	_, err = f.client.Load("acme/tracker")
	wantRefused(t, err, abi.ReasonTampered, f.publisher)
}
