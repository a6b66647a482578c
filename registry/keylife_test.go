package registry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// A client that has seen an index knows that what it didn't list wasn't published
// then: a stolen snapshot key can't put a release into the past, where an author's
// expired key was good.
func TestPutIntoThePast(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	author := f.newAuthor()
	f.must(f.publishAt(author, "1.1.0", 48*time.Hour))
	f.mustInstall(tracker)
	f.now = epoch.Add(authorLife - time.Hour)
	f.must(f.m.Refresh(t.Context(), f.keys))
	f.mustInstall(tracker)
	f.now = epoch.Add(2 * authorLife)
	past := epoch.Add(72 * time.Hour)
	f.list(f.submission(f.releaseOf("1.2.0"), signerAt{author, past}))
	f.published("1.2.0", past)
	_, err := f.install(tracker)
	wantRefused(t, err, abi.ReasonTampered, f.snapshot)
	f.wantActive("1.1.0")
	// Two maintainers' clocks may differ, and a version may be older than the last look.
	f.published("1.2.0", epoch.Add(authorLife-time.Hour-maxIssueSkew))
	if e, err := f.install(tracker); err != nil || e.Version != "1.2.0" {
		t.Errorf("within the clocks' difference: %s, %v", e.Version, err)
	}
}

// The same for a version below the newest: the line that somebody stays on.
func TestPutIntoThePastBehindTheNewest(t *testing.T) {
	t.Parallel()
	at := func(day int) Time { return At(time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)) }
	listed := func(versions ...Version) *Index { return &Index{Versions: versions} }
	older, newest := Version{Version: "1.4.0", Published: at(1)}, Version{Version: "2.0.0", Published: at(10)}
	c := &catalog{state: &state{}, snapshot: &Snapshot{Issued: at(20)}}
	if err := c.compareIndex("acme/tracker", listed(older, newest)); err != nil {
		t.Fatal(err)
	}
	c.snapshot = &Snapshot{Issued: at(25)}
	for name, x := range map[string]*Index{
		"a new one":      listed(older, Version{Version: "1.4.1", Published: at(2)}, newest),
		"another date":   listed(Version{Version: "1.4.0", Published: at(2)}, newest),
		"one before all": listed(Version{Version: "0.1.0", Published: at(19)}, older, newest),
	} {
		if err := c.compareIndex("acme/tracker", x); !errors.Is(err, abi.ErrUntrusted) {
			t.Errorf("%s is accepted: %v", name, err)
		}
	}
	if err := c.compareIndex("acme/tracker", listed(older, Version{Version: "1.4.1", Published: at(21)}, newest)); err != nil {
		t.Error(err)
	}
}

// revokedCertificate is a key's certificate with a revocation of it, made at a date.
func (f *fixture) revokedCertificate(armored []byte, why packet.ReasonForRevocation, at time.Time) signing.Certificate {
	f.t.Helper()
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(armored))
	f.must(err)
	f.must(entities[0].DecryptPrivateKeys([]byte("passphrase")))
	f.must(entities[0].Revoke(why, "", &packet.Config{Time: func() time.Time { return at }}))
	var raw bytes.Buffer
	f.must(entities[0].Serialize(&raw))
	fpr, err := signing.ParseFingerprint(hex.EncodeToString(entities[0].PrimaryKey.Fingerprint))
	f.must(err)
	c, err := signing.ReadCertificate(raw.Bytes(), fpr)
	f.must(err)
	return c
}

// A revocation in the author's own certificate counts at any date if the key may be
// in other hands, and from its own date on if it was only given up.
func TestAuthorsCertificateIsRevoked(t *testing.T) {
	t.Parallel()
	pass := func(signing.Fingerprint) ([]byte, error) { return []byte("passphrase"), nil }
	armored, err := signing.GenerateKey("author", epoch, pass)
	if err != nil {
		t.Fatal(err)
	}
	author, err := signing.OpenSecretKey(armored, pass)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		why  packet.ReasonForRevocation
		good bool
	}{
		"compromised": {packet.KeyCompromised, false},
		"no reason":   {packet.NoReason, false},
		"superseded":  {packet.KeySuperseded, true},
		"retired":     {packet.KeyRetired, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.must(f.m.AddPublisher(t.Context(), f.keys, "acme", author.Certificate()))
			f.must(f.publishAt(author, "1.1.0", 48*time.Hour))
			f.now = f.now.Add(24 * time.Hour)
			revoked := f.revokedCertificate(armored, c.why, f.now)
			f.resign(func(m map[string][]byte) { m[keyPath(author.Fingerprint())] = revoked.Armored() })
			f.now = f.now.Add(time.Hour)
			wantRefused(t, f.m.Publish(t.Context(), f.keys, f.submission(f.releaseOf("1.2.0"), signerAt{author, f.now})), abi.ReasonKeyRevoked, author)
			e, err := f.install(tracker)
			if c.good {
				f.must(err)
				f.wantActive(e.Version)
				return
			}
			wantRefused(t, err, abi.ReasonKeyRevoked, author)
			f.wantActive("")
		})
	}
}

// renewed is a key's certificate with another expiry, as its owner makes it.
func (f *fixture) renewed(armored []byte, life time.Duration, at time.Time) signing.Certificate {
	f.t.Helper()
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(armored))
	f.must(err)
	e := entities[0]
	f.must(e.DecryptPrivateKeys([]byte("passphrase")))
	for _, id := range e.Identities {
		self := id.SelfCertifications[0].Packet
		secs := uint32(life / time.Second)
		self.CreationTime, self.KeyLifetimeSecs = at, &secs
		f.must(self.SignUserId(id.UserId.Id, e.PrimaryKey, e.PrivateKey, &packet.Config{Time: func() time.Time { return at }}))
	}
	var raw bytes.Buffer
	f.must(e.Serialize(&raw))
	fpr, err := signing.ParseFingerprint(hex.EncodeToString(e.PrimaryKey.Fingerprint))
	f.must(err)
	c, err := signing.ReadCertificate(raw.Bytes(), fpr)
	f.must(err)
	return c
}

// A publisher's certificate is renewed by adding it again. A copy that is older, or
// that lacks a revocation, isn't taken.
func TestPublisherIsRenewed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	pass := func(signing.Fingerprint) ([]byte, error) { return []byte("passphrase"), nil }
	armored, err := signing.GenerateKeyFor("author", epoch, authorLife, pass)
	f.must(err)
	k, err := signing.OpenSecretKey(armored, pass)
	f.must(err)
	add := func(c signing.Certificate) error { return f.m.AddPublisher(t.Context(), f.keys, "acme", c) }
	taken := func(c signing.Certificate) bool {
		return bytes.Equal(f.files()[keyPath(c.Fingerprint)], c.Armored())
	}
	f.must(add(k.Certificate()))
	f.now = epoch.Add(authorLife / 2)
	longer := f.renewed(armored, 3*authorLife, f.now)
	f.must(add(longer))
	for name, c := range map[string]signing.Certificate{"the same": longer, "the first": k.Certificate(), "a shorter one": f.renewed(armored, authorLife, f.now)} {
		if err := add(c); !errors.Is(err, abi.ErrInvalidArgs) || !taken(longer) {
			t.Errorf("%s again: %v", name, err)
		}
	}
	revoked := f.revokedCertificate(armored, packet.KeyCompromised, f.now)
	f.must(add(revoked))
	wantRefused(t, add(longer), abi.ReasonKeyRevoked, k)
	if !taken(revoked) {
		t.Error("the revocation is gone")
	}
}

// A renewed key goes on publishing, and clients take it.
func TestRenewedAuthorPublishes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	pass := func(signing.Fingerprint) ([]byte, error) { return []byte("passphrase"), nil }
	armored, err := signing.GenerateKeyFor("author", epoch, authorLife, pass)
	f.must(err)
	k, err := signing.OpenSecretKey(armored, pass)
	f.must(err)
	f.must(f.m.AddPublisher(t.Context(), f.keys, "acme", k.Certificate()))
	f.must(f.publishAt(k, "1.1.0", 48*time.Hour))
	f.mustInstall(tracker)
	f.must(f.m.AddPublisher(t.Context(), f.keys, "acme", f.renewed(armored, 3*authorLife, f.now)))
	f.now = epoch.Add(2 * authorLife)
	sig, err := k.Sign([]byte("x"), f.now)
	if err == nil {
		t.Errorf("the copy that wasn't renewed signs: %s", sig)
	}
	f.must(f.publishAt(signerAt{k, epoch.Add(72 * time.Hour)}, "1.2.0", 2*authorLife))
	if e := f.mustInstall(tracker); e.Version != "1.2.0" {
		t.Errorf("installed %s", e.Version)
	}
}
