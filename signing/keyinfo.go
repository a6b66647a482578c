package signing

import (
	"bytes"
	"maps"
	"slices"
	"time"

	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// KeyInfo is what a key file says about its key. The user ids are the owner's
// words; nothing in them was checked by anybody.
type KeyInfo struct {
	Certificate Certificate
	UserIDs     []string // sorted
	Created     time.Time
	Expires     time.Time // zero: never, or not known
	Secret      bool      // the file holds secret parts, too
	Encrypted   bool      // all of them are encrypted, or stand elsewhere
	Problem     Detail    // why no signature of it counts; "" for a good key
}

// InspectKey reads a file that holds one certificate or one secret key, armored or
// bare, and says what it is as of now. It needs no passphrase. Errors are
// *abi.Error with [abi.ErrInvalidArgs] or, from the certificate, like Verify's.
func InspectKey(file []byte, now time.Time) (KeyInfo, error) {
	if IsSecretKey(file) {
		e, cert, err := readSecretKey(file)
		if err != nil {
			return KeyInfo{}, err
		}
		i := describe(e, cert, now)
		i.Secret, i.Encrypted = true, !unprotected(e)
		return i, nil
	}
	r, err := ReadRing(file)
	if err != nil {
		return KeyInfo{}, err
	}
	if len(r.Certificates) != 1 {
		return KeyInfo{}, abi.Errorf(abi.ErrInvalidArgs, "read key", "%d usable certificates in the file, want one", len(r.Certificates))
	}
	return r.Certificates[0].Info(now)
}

// Info says what the certificate says about its key as of now.
func (c Certificate) Info(now time.Time) (KeyInfo, error) {
	e, err := readEntity(c.Raw)
	if err != nil {
		return KeyInfo{}, err
	}
	return describe(e, c, now), nil
}

// IsSecretKey reports whether a file, armored or bare, begins as a secret key does.
func IsSecretKey(file []byte) bool {
	if bytes.HasPrefix(bytes.TrimSpace(file), []byte("-----BEGIN "+armorSecretKey)) {
		return true
	}
	if len(file) == 0 || file[0]&0x80 == 0 {
		return false
	}
	p, _, err := nextPacket(file)
	return err == nil && p.tag == tagSecretKey
}

func describe(e *openpgp.Entity, cert Certificate, now time.Time) KeyInfo {
	i := KeyInfo{Certificate: cert, UserIDs: slices.Sorted(maps.Keys(e.Identities)), Created: e.PrimaryKey.CreationTime.UTC()}
	cfg := strictConfig(now)
	self, err := e.PrimarySelfSignature(now, cfg)
	if err == nil && self.KeyLifetimeSecs != nil && *self.KeyLifetimeSecs > 0 {
		i.Expires = i.Created.Add(time.Duration(*self.KeyLifetimeSecs) * time.Second)
	}
	i.Problem = cannotSign(e, cert, now)
	return i
}

// cannotSign says why no key of the certificate may sign now.
func cannotSign(e *openpgp.Entity, cert Certificate, now time.Time) Detail {
	cfg := strictConfig(now)
	if _, err := e.VerifyPrimaryKey(now.Add(time.Second), cfg); err != nil {
		return DetailOf(sharpenPrimary(e, cert.Fingerprint, cfg, classify(err, cert.Fingerprint)))
	}
	fresh, err := readEntity(cert.Raw)
	if err != nil {
		return DetailOf(err)
	}
	key, ok := fresh.SigningKey(now, cfg)
	if !ok {
		return DetailWrongUsage
	}
	again, err := readEntity(cert.Raw)
	if err != nil {
		return DetailOf(err)
	}
	return DetailOf(validAt(again, fingerprintOf(key.PublicKey.Fingerprint), now, cfg))
}

// unprotected reports whether a secret part stands in the file for anybody to take.
func unprotected(e *openpgp.Entity) bool {
	if !e.PrivateKey.Encrypted && !e.PrivateKey.Dummy() {
		return true
	}
	return slices.ContainsFunc(e.Subkeys, func(sk openpgp.Subkey) bool {
		return sk.PrivateKey != nil && !sk.PrivateKey.Encrypted && !sk.PrivateKey.Dummy()
	})
}

// EncryptSecretKey encrypts a secret key file that isn't encrypted with a
// passphrase that must not be empty, and returns it armored. One that is encrypted
// in part is refused: it would have two passphrases.
func EncryptSecretKey(file []byte, now time.Time, ask Passphrase) ([]byte, error) {
	e, cert, err := readSecretKey(file)
	if err != nil {
		return nil, err
	}
	if encrypted(e) {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "encrypt key", "key %q has secret parts with a passphrase and others without", cert.Fingerprint)
	}
	return encryptEntity(e, keyConfig(now), ask)
}

// ArmorSecretKey returns a secret key file, armored or bare, armored. Nothing in it
// changes.
func ArmorSecretKey(file []byte) ([]byte, error) {
	if _, _, err := readSecretKey(file); err != nil {
		return nil, err
	}
	raw, err := dearmor(file, armorSecretKey)
	if err != nil {
		return nil, err
	}
	return enarmor(raw, armorSecretKey), nil
}
