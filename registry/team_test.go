package registry

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// teamLock makes a signed lock file of what the fixture's client has installed.
func (f *fixture) teamLock(name string, version int64, by Signer) (data, sig []byte) {
	f.t.Helper()
	l, err := f.client.DraftTeamLock(f.t.Context(), name, version, func(string) (map[string]string, error) {
		return map[string]string{"base_url": "https://tracker.example"}, nil
	})
	f.must(err)
	data, err = l.Canonical()
	f.must(err)
	sig, err = by.Sign(data, f.now)
	f.must(err)
	return data, sig
}

// another is a machine of the team that knows nothing yet, and whose lock files it
// follows.
func (f *fixture) another(name string, signer *signing.SecretKey) *Client {
	f.t.Helper()
	c := f.newClient()
	f.must(c.TrustTeam(name, signer.Certificate()))
	return c
}

// syncWith does what a lock file says, as the host does.
func (f *fixture) syncWith(ctx context.Context, c *Client, data, sig []byte) error {
	f.t.Helper()
	l, _, err := c.AcceptTeamLock(data, sig)
	if err != nil {
		return err
	}
	for _, r := range l.Registries {
		if err := c.EnsureRegistry(ctx, r); err != nil {
			return err
		}
		if _, err := c.Refresh(ctx, r.ID); err != nil {
			return err
		}
	}
	var ready []*Prepared
	for _, p := range l.Plugins {
		one, err := c.Prepare(ctx, p.Ref(), InstallOptions{
			AllowDowngrade: true, Locked: true,
			Consent: func(_ context.Context, r Review) error { return p.Check(r) },
		})
		if err != nil {
			return err
		}
		ready = append(ready, one)
	}
	return c.ActivateAll(ready, nil)
}

func TestTeamLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	data, sig := f.teamLock("support", 1, f.mallory)
	f.publish("1.1.0") // newer than what the team has
	c := f.another("support", f.mallory)
	_, err := c.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	f.must(f.syncWith(t.Context(), c, data, sig))
	got, err := c.Load("acme/tracker")
	if err != nil || got.Entry.Version != "1.0.0" || !bytes.Equal(got.Wasm, wasmOf("1.0.0")) {
		t.Fatalf("installed %+v, %v", got.Entry, err)
	}
	teams, err := c.Teams()
	if err != nil || len(teams) != 1 || teams[0].Version != 1 || teams[0].Signer != f.mallory.Fingerprint() {
		t.Errorf("teams %+v, %v", teams, err)
	}
	// The team goes on, and back again.
	f.mustInstall(tracker)
	second, secondSig := f.teamLock("support", 2, f.mallory)
	f.must(f.syncWith(t.Context(), c, second, secondSig))
	if l, err := c.Load("acme/tracker"); err != nil || l.Entry.Version != "1.1.0" {
		t.Errorf("installed %+v, %v", l.Entry, err)
	}
	wantRefused(t, f.syncWith(t.Context(), c, data, sig), abi.ReasonSnapshotOlder, f.mallory)
	back, err := ParseTeamLock(data)
	f.must(err)
	back.Version = 3
	third, err := back.Canonical()
	f.must(err)
	thirdSig, err := f.mallory.Sign(third, f.now)
	f.must(err)
	f.must(f.syncWith(t.Context(), c, third, thirdSig))
	if l, err := c.Load("acme/tracker"); err != nil || l.Entry.Version != "1.0.0" {
		t.Errorf("installed %+v, %v", l.Entry, err)
	}
}

// A lock file counts with the one key that a person pinned for its name.
func TestTeamLockIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	data, sig := f.teamLock("support", 5, f.mallory)
	foreign, err := f.owner2.Sign(data, f.now)
	f.must(err)
	ops, opsSig := f.teamLock("ops", 1, f.mallory)
	f.now = f.now.Add(time.Minute)
	other, otherSig := f.teamLock("support", 5, f.mallory) // another moment
	ahead, err := ParseTeamLock(data)
	f.must(err)
	ahead.Version, ahead.Issued = 6, At(f.now.Add(time.Hour))
	future, err := ahead.Canonical()
	f.must(err)
	futureSig, err := f.mallory.Sign(future, f.now)
	f.must(err)
	for name, tt := range map[string]struct {
		data, sig []byte
		want      abi.Reason
	}{
		"unsigned":                  {data, nil, abi.ReasonUnsigned},
		"by a foreign key":          {data, foreign, abi.ReasonUnknownKey},
		"another team's":            {ops, opsSig, abi.ReasonUnknownKey},
		"changed after it":          {bytes.Replace(data, []byte("https://tracker.example"), []byte("https://tracker.invalid"), 1), sig, abi.ReasonBadSignature},
		"with trailing bytes":       {append(bytes.Clone(data), '\n'), sig, abi.ReasonMalformed},
		"its version twice":         {other, otherSig, abi.ReasonTampered},
		"from the future":           {future, futureSig, abi.ReasonMalformed},
		"not a lock file":           {[]byte("{}"), sig, abi.ReasonMalformed},
		"larger than any lock file": {bytes.Repeat([]byte(" "), abi.MaxMetadata+1), sig, abi.ReasonMalformed},
	} {
		c := f.another("support", f.mallory)
		if _, _, err := c.AcceptTeamLock(data, sig); err != nil {
			t.Fatal(err)
		}
		_, _, err := c.AcceptTeamLock(tt.data, tt.sig)
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != abi.ErrUntrusted || e.Reason != tt.want {
			t.Errorf("%s: got %v, want reason %q", name, err, tt.want)
		}
		if teams, err := c.Teams(); err != nil || teams[0].Version != 5 {
			t.Errorf("%s: %+v, %v", name, teams, err)
		}
	}
	// Nobody was pinned, or no longer is.
	_, _, err = f.newClient().AcceptTeamLock(data, sig)
	wantRefused(t, err, abi.ReasonUnknownKey)
	c := f.another("support", f.mallory)
	f.must(c.DistrustTeam("support"))
	_, _, err = c.AcceptTeamLock(data, sig)
	wantRefused(t, err, abi.ReasonUnknownKey)
	if err := c.DistrustTeam("support"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	// Another signer takes over; versions go on.
	f.must(c.TrustTeam("support", f.mallory.Certificate()))
	_, _, err = c.AcceptTeamLock(data, sig)
	f.must(err)
	f.must(c.TrustTeam("support", f.owner2.Certificate()))
	old, oldSig := f.teamLock("support", 4, f.owner2)
	_, _, err = c.AcceptTeamLock(old, oldSig)
	wantRefused(t, err, abi.ReasonSnapshotOlder, f.owner2)
}

// What a lock file pins is one release of one publisher, whatever the registry has
// under that version.
func TestTeamLockPinsBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	data, _ := f.teamLock("support", 1, f.mallory)
	for name, change := range map[string]func(*TeamLock){
		"release":   func(l *TeamLock) { l.Plugins[0].Release.SHA256 = strings.Repeat("0", 64) },
		"module":    func(l *TeamLock) { l.Plugins[0].Module.SHA256 = strings.Repeat("0", 64) },
		"size":      func(l *TeamLock) { l.Plugins[0].Module.Size++ },
		"publisher": func(l *TeamLock) { l.Plugins[0].Signer = f.owner.Fingerprint() },
	} {
		l, err := ParseTeamLock(data)
		f.must(err)
		change(l)
		changed, err := l.Canonical()
		f.must(err)
		sig, err := f.mallory.Sign(changed, f.now)
		f.must(err)
		c := f.another("support", f.mallory)
		_, err = c.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
		f.must(err)
		wantRefused(t, f.syncWith(t.Context(), c, changed, sig), abi.ReasonTampered)
		if list, err := c.Installed(); err != nil || len(list) != 0 {
			t.Errorf("%s: installed %+v, %v", name, list, err)
		}
	}
}

// A lock file keeps a version that was yanked since, and never one that was revoked.
func TestTeamLockYankedAndRevoked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := f.mustInstall(tracker)
	data, sig := f.teamLock("support", 1, f.mallory)
	f.publish("1.1.0")
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.0.0", "slow"))
	c := f.another("support", f.mallory)
	_, err := c.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	f.must(f.syncWith(t.Context(), c, data, sig))
	if l, err := c.Load("acme/tracker"); err != nil || l.Entry.Version != "1.0.0" {
		t.Errorf("installed %+v, %v", l.Entry, err)
	}
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Artifacts: []string{e.Module.SHA256}, Reason: "stolen"}))
	late := f.another("support", f.mallory)
	_, err = late.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	wantRefused(t, f.syncWith(t.Context(), late, data, sig), abi.ReasonArtifactRevoked)
}

// A lock file brings its registries along, but no path of the machine it was made
// on, and no other owner of a registry that is there.
func TestTeamLockRegistries(t *testing.T) {
	f := newFixture(t)
	f.mustInstall(tracker)
	data, _ := f.teamLock("support", 1, f.mallory)
	l, err := ParseTeamLock(data)
	f.must(err)
	local := l.Registries[0]
	if err := f.newClient().EnsureRegistry(t.Context(), local); !errors.Is(err, abi.ErrForbidden) {
		t.Errorf("a path: %v, want forbidden", err)
	}
	server := serveGit(t, f.origin)
	remote := local
	remote.URL = server.URL + "/origin.git"
	c := f.newClient()
	f.must(c.EnsureRegistry(t.Context(), remote))
	f.must(c.EnsureRegistry(t.Context(), remote))
	other := remote
	other.Pinned = f.mallory.Fingerprint()
	wantRefused(t, c.EnsureRegistry(t.Context(), other), abi.ReasonUnknownKey, f.owner, f.mallory)
	wantRefused(t, f.newClient().EnsureRegistry(t.Context(), other), abi.ReasonUnknownKey, f.mallory)
	renamed := remote
	renamed.ID = "elsewhere"
	fresh := f.newClient()
	wantRefused(t, fresh.EnsureRegistry(t.Context(), renamed), abi.ReasonWrongName)
	if list, err := fresh.Registries(); err != nil || len(list) != 0 {
		t.Errorf("registries %+v, %v", list, err)
	}
}

func TestTeamLockChecks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	data, _ := f.teamLock("support", 1, f.mallory)
	for name, change := range map[string]func(*TeamLock){
		"type":             func(l *TeamLock) { l.Type = typeLock },
		"format":           func(l *TeamLock) { l.Format++ },
		"name":             func(l *TeamLock) { l.Name = "../support" },
		"version":          func(l *TeamLock) { l.Version = 0 },
		"url":              func(l *TeamLock) { l.Registries[0].URL = "ext::sh -c id" },
		"relative path":    func(l *TeamLock) { l.Registries[0].URL = "./origin.git" },
		"fingerprint":      func(l *TeamLock) { l.Registries[0].Pinned = "0123" },
		"no registry":      func(l *TeamLock) { l.Registries = []TeamRegistry{} },
		"registry twice":   func(l *TeamLock) { l.Registries = append(l.Registries, l.Registries[0]) },
		"plugin twice":     func(l *TeamLock) { l.Plugins = append(l.Plugins, l.Plugins[0]) },
		"a constraint":     func(l *TeamLock) { l.Plugins[0].Version = ">=1.0.0" },
		"hash":             func(l *TeamLock) { l.Plugins[0].Release.SHA256 = "0" },
		"settings missing": func(l *TeamLock) { l.Plugins[0].Settings = nil },
		"control in a setting": func(l *TeamLock) {
			l.Plugins[0].Settings["base_url"] = "https://a\x1b[2J"
		},
		"long setting": func(l *TeamLock) {
			l.Plugins[0].Settings["base_url"] = strings.Repeat("a", maxTeamSetting+1)
		},
	} {
		l, err := ParseTeamLock(data)
		f.must(err)
		change(l)
		if _, err := l.Canonical(); err == nil {
			t.Errorf("%s: it is written", name)
		}
		raw, err := canonical(l)
		f.must(err)
		if _, err := ParseTeamLock(raw); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// A damaged file of pinned keys is never taken for an empty one.
func TestDamagedTeams(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	data, sig := f.teamLock("support", 1, f.mallory)
	c := f.another("support", f.mallory)
	f.must(os.WriteFile(filepath.Join(c.cfg.Dir, "teams.json"), []byte("{}"), 0o600))
	_, _, err := c.AcceptTeamLock(data, sig)
	wantRefused(t, err, abi.ReasonMalformed)
	if err := c.TrustTeam("support", f.mallory.Certificate()); err == nil {
		t.Error("it was written over")
	}
}

func FuzzTeamLock(f *testing.F) {
	f.Add([]byte(`{"format":1,"issued":"2026-01-01T00:00:00Z","name":"support","plugins":[],"registries":[],"type":"drawbridge-team-lock","version":1}`))
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseTeamLock(data)
		if err != nil {
			return
		}
		again, err := l.Canonical()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q is written as %q, %v", data, again, err)
		}
	})
}
