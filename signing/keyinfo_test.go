package signing

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// naked returns a test key without a passphrase, as its owner may have it.
func naked(tb testing.TB, userID string, now time.Time) []byte {
	tb.Helper()
	k := newKey(tb, userID, now)
	var raw bytes.Buffer
	if err := k.entity.SerializePrivateWithoutSigning(&raw, nil); err != nil {
		tb.Fatal(err)
	}
	return raw.Bytes()
}

func TestInspectKey(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	armored := newArmoredKeyFor(t, "Ada <ada@example.org>", now, 1000*time.Second)
	public, fpr, err := PublicKey(armored)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file              []byte
		at                time.Duration
		secret, encrypted bool
		problem           Detail
	}{
		"secret":             {armored, 0, true, true, ""},
		"secret, bare":       {mustDearmor(t, armored), 0, true, true, ""},
		"certificate":        {public, 0, false, false, ""},
		"at its last second": {public, 999 * time.Second, false, false, ""},
		"expired":            {public, 1000 * time.Second, false, false, DetailKeyExpired},
		"secret and expired": {armored, 2000 * time.Second, true, true, DetailKeyExpired},
	} {
		i, err := InspectKey(c.file, now.Add(c.at))
		if err != nil || i.Secret != c.secret || i.Encrypted != c.encrypted || i.Problem != c.problem {
			t.Errorf("%s: %+v, %v", name, i, err)
			continue
		}
		if i.Certificate.Fingerprint != fpr || !slices.Equal(i.UserIDs, []string{"Ada <ada@example.org>"}) || !i.Created.Equal(now) || !i.Expires.Equal(now.Add(1000*time.Second)) {
			t.Errorf("%s: %+v", name, i)
		}
	}
	i, err := InspectKey(naked(t, "Bob", now), now)
	if err != nil || !i.Secret || i.Encrypted || !i.Expires.IsZero() {
		t.Errorf("without a passphrase: %+v, %v", i, err)
	}
}

// The problem is the one that Verify would name.
func TestProblemOfVectors(t *testing.T) {
	now, _ := loadVectors(t)
	for id, want := range map[string]Detail{
		"g-ed25519": "", "g-sub-ok": "", "c-v6-mldsa65": "", "j-v6-curve448": "",
		"g-rev-noreason": DetailKeyRevoked, "m-uid-revoked": DetailKeyRevoked, "g-exp-before-now": DetailKeyExpired,
		"m-dks-expired": DetailKeyExpired, "m-no-flags": DetailWrongUsage, "m-sub-enc-only": DetailWrongUsage, "m-selfsig-sha1": DetailWeakHash,
		"m-key-future": DetailNoSelfSignature, "g-secp256k1": DetailWrongUsage, "g-sub-rev-compromised": DetailWrongUsage,
	} {
		i, err := InspectKey(vectorFile(t, id+".pgp"), now)
		if err != nil || i.Problem != want {
			t.Errorf("%s: problem %q, %v, want %q", id, i.Problem, err, want)
		}
	}
}

func TestInspectKeyRefuses(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	two, _ := ringOf(t, newKey(t, "Ada", now), newKey(t, "Bob", now))
	secrets := append(mustDearmor(t, newArmoredKey(t, "Ada", now)), mustDearmor(t, newArmoredKey(t, "Bob", now))...)
	for name, file := range map[string][]byte{
		"nothing": nil, "noise": []byte("noise"), "two certificates": two, "two secret keys": secrets,
		"signature": vectorFile(t, "g-ed25519.sig"), "no self signature": vectorFile(t, "m-no-selfsig.pgp"),
		"secret key too large": append([]byte("-----BEGIN PGP PRIVATE KEY BLOCK-----"), make([]byte, MaxSecretKey)...),
	} {
		if i, err := InspectKey(file, now); err == nil || i.Certificate.Fingerprint != "" {
			t.Errorf("%s: %+v", name, i)
		} else if !errors.Is(err, abi.ErrInvalidArgs) && !errors.Is(err, abi.ErrUntrusted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncryptSecretKey(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	file := naked(t, "Bob", now)
	armored, err := EncryptSecretKey(file, now, says("another passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	if i, err := InspectKey(armored, now); err != nil || !i.Encrypted || i.Certificate.Fingerprint != newKey(t, "Bob", now).Fingerprint() {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := OpenSecretKey(armored, says("another passphrase")); err != nil {
		t.Error(err)
	}
	if _, err := OpenSecretKey(armored, says("a long passphrase")); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("another passphrase opens it: %v", err)
	}
	for name, c := range map[string]struct {
		file []byte
		pass string
	}{
		"encrypted already": {newArmoredKey(t, "Bob", now), "another passphrase"},
		"empty passphrase":  {file, ""},
		"certificate":       {newKey(t, "Bob", now).Certificate().Raw, "another passphrase"},
	} {
		if out, err := EncryptSecretKey(c.file, now, says(c.pass)); err == nil || out != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key with one part of two encrypted passes for neither.
func TestPartlyEncrypted(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	e, _, err := readSecretKey(naked(t, "Bob", now))
	if err != nil {
		t.Fatal(err)
	}
	cfg := keyConfig(now)
	if err := e.AddSigningSubkey(cfg); err != nil {
		t.Fatal(err)
	}
	if err := e.PrivateKey.EncryptWithConfig([]byte("a long passphrase"), cfg); err != nil {
		t.Fatal(err)
	}
	file := serialized(t, e)
	if i, err := InspectKey(file, now); err != nil || i.Encrypted {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := EncryptSecretKey(file, now, says("another passphrase")); err == nil || !strings.Contains(err.Error(), "others without") {
		t.Errorf("encrypting the rest: %v", err)
	}
}

func serialized(t *testing.T, e *openpgp.Entity) []byte {
	t.Helper()
	var raw bytes.Buffer
	if err := e.SerializePrivateWithoutSigning(&raw, nil); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

func TestGenerateKeyForRefuses(t *testing.T) {
	for _, life := range []time.Duration{-time.Second, time.Millisecond, 1 << 62} {
		if _, err := GenerateKeyFor("Ada", time.Unix(1.8e9, 0), life, says("a long passphrase")); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("life %s: %v", life, err)
		}
	}
}

func FuzzInspectKey(f *testing.F) {
	now, vectors := loadVectors(f)
	for _, v := range vectors[:40] {
		f.Add(vectorFile(f, v.Keyring))
	}
	made := time.Unix(1.8e9, 0)
	f.Add(newArmoredKey(f, "Ada", made))
	f.Add(naked(f, "Ada", made))
	f.Fuzz(func(t *testing.T, file []byte) {
		i, err := InspectKey(file, now)
		if err == nil != i.Certificate.Fingerprint.Valid() || i.Encrypted && !i.Secret {
			t.Errorf("%+v, %v", i, err)
		}
	})
}
