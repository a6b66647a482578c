package signing

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// RenewKey gives a secret key that GenerateKey made, or one of the same form,
// another expiry: life from now, or never for 0. It returns the file with the new
// self signatures beside the old ones, encrypted with the passphrase that it had.
// Other certificates of the key are as they were: hand the new one out.
func RenewKey(file []byte, now time.Time, life time.Duration, ask Passphrase) ([]byte, error) {
	e, cert, err := readSecretKey(file)
	if err != nil {
		return nil, err
	}
	if e.PrimaryKey.Version != 4 || len(e.Subkeys) > 0 || e.PrivateKey.Dummy() || len(e.Identities) == 0 {
		return nil, abi.Errorf(abi.ErrUnsupportedAction, "renew key", "key %s has subkeys or isn't of version 4", cert.Fingerprint).
			WithHint("gpg --quick-set-expire, where the key came from, and import it again")
	}
	secs := int64(0)
	if life != 0 {
		secs = int64(now.Add(life).Sub(e.PrimaryKey.CreationTime) / time.Second)
	}
	if life < 0 || secs < 0 || secs > math.MaxUint32 {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "renew key", "a life of %q, want up to 136 years after the key was made", life)
	}
	var kept []byte // the passphrase, for the other direction
	defer func() { clear(kept) }()
	again := func(f Fingerprint) ([]byte, error) {
		p, err := ask(f)
		kept = slices.Clone(p)
		return p, err
	}
	k, err := OpenSecretKey(file, again)
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "renew key", "key %s has no passphrase", cert.Fingerprint)
	}
	cfg := keyConfig(now)
	if err := certifyAgain(k.entity, e, uint32(secs), cfg); err != nil {
		return nil, err
	}
	return encryptEntity(k.entity, cfg, func(Fingerprint) ([]byte, error) { return slices.Clone(kept), nil })
}

// certifyAgain adds to each user id of e its newest self signature once more, with
// another life of the key. shape is another reading of the same key.
func certifyAgain(e, shape *openpgp.Entity, secs uint32, cfg *packet.Config) error {
	for name, id := range e.Identities {
		self, err := shape.Identities[name].LatestValidSelfCertification(cfg.Now(), strictConfig(cfg.Now()))
		if err != nil {
			return fmt.Errorf("reading self signature of %q: %w", name, err)
		}
		self.CreationTime, self.KeyLifetimeSecs, self.Notations, self.Hash = cfg.Now(), &secs, nil, cfg.DefaultHash
		if err := self.SignUserId(id.UserId.Id, e.PrimaryKey, e.PrivateKey, cfg); err != nil {
			return fmt.Errorf("signing %q: %w", name, err)
		}
		id.SelfCertifications = append(id.SelfCertifications, packet.NewVerifiableSig(self))
	}
	var raw bytes.Buffer
	return e.Serialize(&raw) // what can't be written must not be kept
}
