package signing

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/ProtonMail/go-crypto/openpgp/s2k"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Passphrase asks for the passphrase of the key with that fingerprint: on a
// terminal, or by reading a file descriptor. It is called once, and only when it
// is needed. The bytes are overwritten after use.
type Passphrase func(Fingerprint) ([]byte, error)

// MaxSecretKey is the largest secret key file that is read.
const MaxSecretKey = 128 << 10

// maxUserID bounds a user id, in bytes.
const maxUserID = 200

// GenerateKey makes a signing key and returns it armored and encrypted with the
// passphrase, which must not be empty. The key is Ed25519 in a version 4
// certificate, so that GnuPG 2.2 can verify its signatures and import it; it has
// no subkeys and doesn't expire. userID is "Name <address>" or a bare name.
func GenerateKey(userID string, now time.Time, ask Passphrase) (armored []byte, err error) {
	return GenerateKeyFor(userID, now, 0, ask)
}

// GenerateKeyFor is GenerateKey for a key that expires after life, in whole
// seconds; 0 is never.
func GenerateKeyFor(userID string, now time.Time, life time.Duration, ask Passphrase) (armored []byte, err error) {
	name, address, err := splitUserID(userID)
	if err != nil {
		return nil, err
	}
	secs := int64(life / time.Second)
	if secs < 0 || secs > math.MaxUint32 || secs == 0 && life != 0 {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "generate key", "a life of %q, want between a second and 136 years", life)
	}
	cfg := keyConfig(now)
	cfg.KeyLifetimeSecs = uint32(secs)
	e, err := openpgp.NewEntity(name, "", address, cfg)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	e.Subkeys = nil // the library adds one for encryption; this key only signs
	return encryptEntity(e, cfg, ask)
}

// keyConfig says how keys are made and encrypted.
func keyConfig(now time.Time) *packet.Config {
	return &packet.Config{
		Time:          func() time.Time { return now },
		Algorithm:     packet.PubKeyAlgoEdDSA,
		Curve:         packet.Curve25519,
		DefaultHash:   crypto.SHA512,
		DefaultCipher: packet.CipherAES256,
		S2KConfig:     &s2k.Config{S2KMode: s2k.IteratedSaltedS2K, Hash: crypto.SHA256, S2KCount: 65011712},
	}
}

// encryptEntity encrypts a key with a new passphrase and armors it.
func encryptEntity(e *openpgp.Entity, cfg *packet.Config, ask Passphrase) ([]byte, error) {
	pass, err := ask(fingerprintOf(e.PrimaryKey.Fingerprint))
	if err != nil {
		return nil, fmt.Errorf("asking for a passphrase: %w", err)
	}
	defer clear(pass)
	if len(pass) == 0 {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "generate key", "the passphrase is empty")
	}
	if err := e.EncryptPrivateKeys(pass, cfg); err != nil {
		return nil, fmt.Errorf("encrypting the key: %w", err)
	}
	var raw bytes.Buffer
	if err := e.SerializePrivateWithoutSigning(&raw, cfg); err != nil {
		return nil, fmt.Errorf("writing the key: %w", err)
	}
	return enarmor(raw.Bytes(), armorSecretKey), nil
}

// splitUserID takes "Name <address>" apart.
func splitUserID(s string) (name, address string, err error) {
	bad := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(s) > maxUserID || strings.TrimSpace(s) == "" || strings.ContainsFunc(s, bad) {
		return "", "", abi.Errorf(abi.ErrInvalidArgs, "generate key",
			"user id %q, want a name and an address of at most %d bytes", s, maxUserID)
	}
	name, address, found := strings.Cut(s, "<")
	if found {
		address, found = strings.CutSuffix(strings.TrimSpace(address), ">")
		if !found {
			return "", "", abi.Errorf(abi.ErrInvalidArgs, "generate key", "user id %q lacks its closing bracket", s)
		}
	}
	return strings.TrimSpace(name), address, nil
}

// A SecretKey is an opened key that signs. It holds the secret in memory; drop
// it as soon as the last signature is made. It is safe for concurrent use.
type SecretKey struct {
	mu          sync.Mutex // the library caches verdicts in the entity
	entity      *openpgp.Entity
	certificate Certificate
}

// OpenSecretKey reads an armored secret key, as GenerateKey or
// "gpg --export-secret-keys --armor" writes it, and decrypts it. ask isn't
// called for a key that has no passphrase. A wrong passphrase is an
// *abi.Error with [abi.ErrInvalidArgs].
func OpenSecretKey(armored []byte, ask Passphrase) (*SecretKey, error) {
	e, cert, err := readSecretKey(armored)
	if err != nil {
		return nil, err
	}
	if encrypted(e) {
		pass, err := ask(cert.Fingerprint)
		if err != nil {
			return nil, fmt.Errorf("asking for a passphrase: %w", err)
		}
		defer clear(pass)
		if err := e.DecryptPrivateKeys(pass); err != nil {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "open key", "wrong passphrase for key %q", cert.Fingerprint).
				WithHint("the same command again; a passphrase that is lost can't be found: drawbridge key new makes another key")
		}
	}
	return &SecretKey{entity: e, certificate: cert}, nil
}

// readSecretKey reads the one secret key of a file, without its passphrase.
func readSecretKey(armored []byte) (*openpgp.Entity, Certificate, error) {
	none := func(err error) (*openpgp.Entity, Certificate, error) { return nil, Certificate{}, err }
	if len(armored) > MaxSecretKey {
		return none(abi.Errorf(abi.ErrInvalidArgs, "open key", "key file of %d bytes, the limit is %d",
			len(armored), MaxSecretKey))
	}
	raw, err := dearmor(armored, armorSecretKey)
	if err != nil {
		return none(abi.Errorf(abi.ErrInvalidArgs, "open key", "not an armored secret key: %w", err))
	}
	entities, err := openpgp.ReadKeyRing(bytes.NewReader(raw))
	if err != nil || len(entities) != 1 || entities[0].PrivateKey == nil {
		return none(abi.Errorf(abi.ErrInvalidArgs, "open key", "the file doesn't hold exactly one secret key"))
	}
	var public bytes.Buffer
	if err := entities[0].Serialize(&public); err != nil {
		return none(fmt.Errorf("writing the public key: %w", err))
	}
	fpr := fingerprintOf(entities[0].PrimaryKey.Fingerprint)
	cert, err := ReadCertificate(public.Bytes(), fpr)
	if err != nil {
		return none(fmt.Errorf("reading the public part: %w", err))
	}
	return entities[0], cert, nil
}

func encrypted(e *openpgp.Entity) bool {
	if e.PrivateKey.Encrypted {
		return true
	}
	for _, sk := range e.Subkeys {
		if sk.PrivateKey != nil && sk.PrivateKey.Encrypted {
			return true
		}
	}
	return false
}

// PublicKey returns the certificate of an armored secret key, armored, and its
// fingerprint. It needs no passphrase.
func PublicKey(armored []byte) ([]byte, Fingerprint, error) {
	_, cert, err := readSecretKey(armored)
	if err != nil {
		return nil, "", err
	}
	return cert.Armored(), cert.Fingerprint, nil
}

// Armored returns the certificate as a file to hand out.
func (c Certificate) Armored() []byte { return enarmor(c.Raw, armorPublicKey) }

// Certificate returns the public part of the key.
func (k *SecretKey) Certificate() Certificate { return k.certificate }

// Fingerprint returns the primary key's fingerprint.
func (k *SecretKey) Fingerprint() Fingerprint { return k.certificate.Fingerprint }

// Sign returns an armored detached signature over data, dated now. It verifies
// it before returning it, so a key whose signatures this package would refuse
// (expired, too weak, not for signing) can't publish anything.
func (k *SecretKey) Sign(data []byte, now time.Time) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	cfg := strictConfig(now)
	cfg.DefaultHash = crypto.SHA512
	var raw bytes.Buffer
	if err := openpgp.DetachSign(&raw, []*openpgp.Entity{k.entity}, bytes.NewReader(data), cfg); err != nil {
		return nil, fmt.Errorf("signing with %s: %w", k.Fingerprint(), err)
	}
	file := enarmor(raw.Bytes(), armorSignature)
	_, err := Verify(data, file, Trust{
		Certificates: k.certificate.Raw, Fingerprints: []Fingerprint{k.Fingerprint()}, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("checking the signature just made with %s: %w", k.Fingerprint(), err)
	}
	return file, nil
}

// Sign opens an armored secret key, signs data with it and returns the armored
// detached signature.
func Sign(data, armoredSecretKey []byte, now time.Time, ask Passphrase) ([]byte, error) {
	k, err := OpenSecretKey(armoredSecretKey, ask)
	if err != nil {
		return nil, err
	}
	return k.Sign(data, now)
}

// Join makes one signature file of several, for a threshold of signers.
func Join(files ...[]byte) ([]byte, error) {
	if len(files) == 0 || len(files) > MaxSignatures {
		return nil, errors.New("joining signatures: want between 1 and 8 files")
	}
	var all []byte
	for _, f := range files {
		if len(f) > MaxSignatureFile {
			return nil, refuse(DetailTooLarge, "signature file of %d bytes, the limit is %d", len(f), MaxSignatureFile)
		}
		raw, err := dearmor(f, armorSignature)
		if err != nil {
			return nil, err
		}
		all = append(all, raw...)
	}
	return enarmor(all, armorSignature), nil
}
