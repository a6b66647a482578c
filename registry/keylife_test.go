package registry

import (
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// authorLife is how long the key of newAuthor is good, from epoch.
const authorLife = 10 * 24 * time.Hour

// newAuthor makes a publisher's key that expires, and admits it.
func (f *fixture) newAuthor() *signing.SecretKey {
	f.t.Helper()
	pass := func(signing.Fingerprint) ([]byte, error) { return []byte("passphrase"), nil }
	armored, err := signing.GenerateKeyFor("author", epoch, authorLife, pass)
	f.must(err)
	k, err := signing.OpenSecretKey(armored, pass)
	f.must(err)
	f.must(f.m.AddPublisher(f.t.Context(), f.keys, "acme", k.Certificate()))
	return k
}

// publishAt has the author publish a version at a time after epoch.
func (f *fixture) publishAt(k Signer, version string, at time.Duration) error {
	f.t.Helper()
	f.now = epoch.Add(at)
	return f.m.Publish(f.t.Context(), f.keys, f.submission(f.releaseOf(version), k))
}

// What an author published stays installable when the key has expired, for clients
// that know the registry and for new ones, up to the last second of the key's life.
func TestAuthorsKeyExpiresLater(t *testing.T) {
	f := newFixture(t)
	author := f.newAuthor()
	f.must(f.publishAt(author, "1.1.0", 48*time.Hour))
	f.must(f.publishAt(author, "1.2.0", authorLife-time.Second))
	f.now = epoch.Add(3 * authorLife)
	f.must(f.m.Refresh(t.Context(), f.keys))
	e := f.mustInstall(tracker)
	if e.Version != "1.2.0" || e.Signer != author.Fingerprint() {
		t.Errorf("installed %s, signed by %s", e.Version, e.Signer)
	}
	f.client = f.newClient()
	_, err := f.client.AddRegistry(t.Context(), f.origin, f.owner.Fingerprint())
	f.must(err)
	if e, err := f.install(Ref{Namespace: "acme", Name: "tracker", Constraint: "1.1.0"}); err != nil || e.Version != "1.1.0" {
		t.Errorf("a new client: %s, %v", e.Version, err)
	}
	f.wantActive("1.1.0")
}

// An expired key publishes nothing, however its signature is dated: the registry
// doesn't take it, and clients don't take it from a registry that does.
func TestBackdatedByAnExpiredKey(t *testing.T) {
	f := newFixture(t)
	author := f.newAuthor()
	f.must(f.publishAt(author, "1.1.0", 48*time.Hour))
	thief := signerAt{author, epoch.Add(72 * time.Hour)}
	wantRefused(t, f.publishAt(thief, "1.2.0", authorLife), abi.ReasonKeyExpired, author)
	wantRefused(t, f.publishAt(thief, "1.2.0", 3*authorLife), abi.ReasonKeyExpired, author)
	if _, listed := f.files()["connectors/acme/tracker/1.2.0.json"]; listed {
		t.Fatal("the registry took it")
	}
	f.list(f.submission(f.releaseOf("1.2.0"), thief))
	_, err := f.install(tracker)
	wantRefused(t, err, abi.ReasonKeyExpired, author)
	f.wantActive("")
	// The versions before it are as good as ever.
	if e, err := f.install(Ref{Namespace: "acme", Name: "tracker", Constraint: "1.1.0"}); err != nil || e.Signer != author.Fingerprint() {
		t.Errorf("%+v, %v", e, err)
	}
}

// A stolen key's date is of no use either: once the theft is known the key is
// revoked, and nothing it ever signed counts, whatever date the signature and the
// index claim.
func TestBackdatedByAStolenKey(t *testing.T) {
	t.Run("revoked by the registry", func(t *testing.T) {
		f := newFixture(t)
		before := f.now
		f.now = f.now.Add(48 * time.Hour)
		f.revoke(Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen"})
		f.list(f.submission(f.releaseOf("1.1.0"), signerAt{f.publisher, before}))
		_, err := f.install(tracker)
		wantRefused(t, err, abi.ReasonKeyRevoked, f.publisher)
		f.published("1.1.0", before)
		_, err = f.install(tracker)
		wantRefused(t, err, abi.ReasonKeyRevoked, f.publisher)
		f.wantActive("")
	})
	t.Run("no publisher any more", func(t *testing.T) {
		f := newFixture(t)
		before := f.now
		f.now = f.now.Add(48 * time.Hour)
		f.must(f.m.RemovePublisher(t.Context(), f.keys, "acme", f.publisher.Fingerprint()))
		f.now = f.now.Add(time.Second)
		f.list(f.submission(f.releaseOf("1.1.0"), signerAt{f.publisher, before}))
		_, err := f.install(tracker)
		wantRefused(t, err, abi.ReasonUnknownKey)
		f.wantActive("")
	})
}

// published changes, with the snapshot key, what the index says about when a
// version was published.
func (f *fixture) published(version string, at time.Time) {
	f.t.Helper()
	f.resign(func(m map[string][]byte) {
		var x Index
		f.must(decode(indexFile, m[indexFile], &x))
		for i := range x.Versions {
			if x.Versions[i].Version == version {
				x.Versions[i].Published = At(at)
			}
		}
		data, err := canonical(&x)
		f.must(err)
		m[indexFile] = data
	})
}

// The index can't claim a date that its own snapshot knows nothing of: at one to
// come a signature from the future would be good.
func TestPublishedAfterItsSnapshot(t *testing.T) {
	f := newFixture(t)
	f.list(f.submission(f.releaseOf("1.1.0"), signerAt{f.publisher, f.now.Add(24 * time.Hour)}))
	_, err := f.install(tracker)
	wantRefused(t, err, abi.ReasonBadSignature, f.publisher)
	f.published("1.1.0", f.now.Add(24*time.Hour))
	_, err = f.install(tracker)
	wantRefused(t, err, abi.ReasonMalformed, f.snapshot)
	f.published("1.1.0", f.now.Add(-24*time.Hour))
	_, err = f.install(tracker)
	if err == nil {
		t.Error("a signature dated two days after its publication is accepted")
	}
	f.wantActive("")
}
