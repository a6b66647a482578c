package registry

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The longest list of revocations that a registry can have is remembered, also when
// the registry is removed; a longer one isn't written.
func TestLongestRevocations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	evil := Revocation{Reason: strings.Repeat("r", maxReason), Artifacts: []string{hashOf(wasmOf("1.0.0"))}}
	for i := range 1660 {
		evil.Artifacts = append(evil.Artifacts, hashOf(fmt.Append(nil, i)))
	}
	f.must(f.m.Revoke(t.Context(), f.keys, evil))
	if n := len(f.files()[revocationsPath]); n < abi.MaxMetadata*97/100 {
		t.Fatalf("the list has %d bytes, want about %d", n, abi.MaxMetadata)
	}
	_, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	wantRefused(t, f.client.Standing(t.Context(), "acme/tracker"), abi.ReasonArtifactRevoked)
	f.must(f.client.Uninstall("acme/tracker"))
	f.must(f.client.RemoveRegistry("main"))
	if list, err := f.client.Removed(); err != nil || len(list) != 1 || list[0].Revoked != 1661 {
		t.Errorf("removed %+v, %v", list, err)
	}
	before := f.files()
	evil.Artifacts = nil
	for i := range 100 {
		evil.Artifacts = append(evil.Artifacts, hashOf(fmt.Append(nil, "more", i)))
	}
	if err := f.m.Revoke(t.Context(), f.keys, evil); !errors.Is(err, abi.ErrLimitExceeded) {
		t.Errorf("a longer list: %v", err)
	}
	if string(f.files()[revocationsPath]) != string(before[revocationsPath]) {
		t.Error("the longer list is in force")
	}
}

// What can't be read again isn't written in the place of what can.
func TestOwnFilesStayReadable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustInstall(tracker)
	c := f.client
	f.must(c.TrustTeam("support", f.mallory.Certificate()))
	s, dir, err := c.registryState("main")
	f.must(err)
	many := s.clone()
	many.Artifacts = []RevokedArtifact{{SHA256: hashOf(nil), Reason: strings.Repeat("x", maxStateFile)}}
	lock, err := readLock(c.lockPath())
	f.must(err)
	long := *lock
	e := lock.Plugins[0]
	e.Namespace = strings.Repeat("z", maxLockFile)
	long.Plugins = []Entry{lock.Plugins[0], e}
	all, err := c.readTeams()
	f.must(err)
	huge := *all
	huge.Teams = []Team{all.Teams[0]}
	huge.Teams[0].Certificate = strings.Repeat("x", maxOwnFile)
	path := dir + "/" + stateFile
	for name, write := range map[string]func() error{
		path: func() error { return many.write(path) }, c.lockPath(): func() error { return long.write(c.lockPath()) },
		c.teamsPath(): func() error { return c.writeTeams(&huge) },
	} {
		before, err := os.ReadFile(name)
		f.must(err)
		if err := write(); !errors.Is(err, abi.ErrLimitExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(name); err != nil || string(after) != string(before) {
			t.Errorf("%s is another one: %v", name, err)
		}
	}
	f.wantActive("1.0.0")
}

// A registry of more files than clients read isn't written.
func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	e := &edit{files: map[string][]byte{}}
	for i := range maxTreeFiles {
		e.files[fmt.Sprint("keys/", i)] = nil
	}
	if err := e.fits(); err != nil {
		t.Errorf("as many as clients read: %v", err)
	}
	e.files["README.md"] = nil
	if err := e.fits(); !errors.Is(err, abi.ErrLimitExceeded) {
		t.Errorf("one more: %v", err)
	}
}
