package registry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A version that is revoked is passed over like one that is yanked: those below it
// are still to be had. Nobody gets it, and nobody is taken down without a word.
func TestNewestIsRevoked(t *testing.T) {
	t.Parallel()
	for name, artifact := range map[string]func(f *fixture) string{
		"module":  func(*fixture) string { return hashOf(wasmOf("1.1.0")) },
		"release": func(f *fixture) string { return hashOf(f.files()[releasePath("acme", "tracker", "1.1.0")]) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			behind, ahead := f.newClient(), f.newClient()
			for _, c := range []*Client{behind, ahead} {
				_, err := c.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
				f.must(err)
			}
			_, err := behind.Install(t.Context(), tracker, InstallOptions{Consent: yes})
			f.must(err)
			f.publish("1.1.0")
			_, err = ahead.Install(t.Context(), tracker, InstallOptions{Consent: yes})
			f.must(err)
			f.revoke(Revocation{Artifacts: []string{artifact(f)}, Reason: "evil"})

			fresh := f.newClient()
			_, err = fresh.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
			f.must(err)
			if e, err := fresh.Install(t.Context(), tracker, InstallOptions{Consent: yes}); err != nil || e.Version != "1.0.0" {
				t.Errorf("a new install: %q, %v", e.Version, err)
			}
			named := tracker
			named.Constraint = "=1.1.0"
			if _, err := f.newClientOf(named); !refusedFor(err, abi.ReasonArtifactRevoked) {
				t.Errorf("the revoked one by name: %v", err)
			}
			for client, want := range map[*Client]string{behind: "1.0.0", ahead: "1.1.0"} {
				list, err := client.Updates(t.Context(), []string{"acme/tracker"})
				if err != nil || len(list) != 1 || list[0].Entry.Version != want || list[0].Newer() {
					t.Errorf("updates of %s: %+v, %v", want, list, err)
				}
			}
			if err := behind.Standing(t.Context(), "acme/tracker"); err != nil {
				t.Errorf("1.0.0 may not run: %v", err)
			}
			if err := ahead.Standing(t.Context(), "acme/tracker"); !refusedFor(err, abi.ReasonArtifactRevoked) {
				t.Errorf("1.1.0 may run: %v", err)
			}
		})
	}
}

// A revoked key takes what it signed away, and nothing that another one signed.
func TestNewestIsByARevokedKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	author := f.newAuthor()
	f.must(f.publishAt(author, "1.1.0", 48*time.Hour))
	f.revoke(Revocation{Keys: []signing.Fingerprint{author.Fingerprint()}, Reason: "stolen"})
	if e := f.mustInstall(tracker); e.Version != "1.0.0" {
		t.Errorf("installed %s", e.Version)
	}
	if _, err := f.install(Ref{Namespace: "acme", Name: "tracker", Constraint: "=1.1.0"}); !refusedFor(err, abi.ReasonKeyRevoked) {
		t.Errorf("by its name: %v", err)
	}
	list, err := f.client.Updates(t.Context(), []string{"acme/tracker"})
	if err != nil || len(list) != 1 || list[0].Newer() {
		t.Errorf("updates: %+v, %v", list, err)
	}
	f.revoke(Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen too"})
	if _, err := f.newClientOf(tracker); !refusedFor(err, abi.ReasonKeyRevoked) {
		t.Errorf("both keys are revoked: %v", err)
	}
}

// Who agrees to a version is told that a newer one was passed over, and why.
func TestPassedOverIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	f.publish("1.2.0")
	told := func(ref Ref) (list []string) {
		t.Helper()
		_, err := f.client.Install(t.Context(), ref, InstallOptions{Again: true, Consent: func(_ context.Context, r Review) error {
			for _, n := range r.Notices {
				if n.Code == NoticePassedOver {
					list = append(list, n.Message)
				}
			}
			return nil
		}})
		f.must(err)
		return list
	}
	named := tracker
	named.Constraint = "=1.0.0"
	if list := told(named); len(list) != 0 {
		t.Errorf("a version that was named: %q", list)
	}
	f.revoke(Revocation{Artifacts: []string{hashOf(wasmOf("1.2.0"))}, Reason: "steals"})
	if list := told(tracker); len(list) != 1 || !strings.Contains(list[0], `"1.2.0"`) || !strings.Contains(list[0], "steals") {
		t.Errorf("told %q", list)
	}
	f.wantActive("1.1.0")
	f.publish("1.3.0")
	if list := told(tracker); len(list) != 0 {
		t.Errorf("the newest: %q", list)
	}
}

func refusedFor(err error, reason abi.Reason) bool {
	e, ok := errors.AsType[*abi.Error](err)
	return ok && e.Code == abi.ErrUntrusted && e.Reason == reason
}

// newClientOf installs ref with a client that knows nothing yet.
func (f *fixture) newClientOf(ref Ref) (Entry, error) {
	c := f.newClient()
	if _, err := c.AddRegistry(f.t.Context(), f.origin, f.owner.Fingerprint()); err != nil {
		return Entry{}, err
	}
	return c.Install(f.t.Context(), ref, InstallOptions{Consent: yes})
}
