package signing

import (
	"errors"
	"slices"
	"strings"
	"time"

	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// Issuers lists the keys that the signatures of a file say they are by. Nothing is
// verified: it is for telling a person, and decides nothing.
func Issuers(file []byte) (list []Fingerprint) {
	if len(file) > MaxSignatureFile {
		return nil
	}
	sigs, _, err := readSignatures(file)
	if err != nil {
		return nil
	}
	for _, s := range sigs {
		if !slices.Contains(list, s.issuer) {
			list = append(list, s.issuer)
		}
	}
	return list
}

// classify gives an error of the library its detail. Nothing in this file
// changes a verdict; it only says why.
func classify(err error, fpr Fingerprint) error {
	switch {
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return refuseFor(err, DetailKeyRevoked, "key %s is revoked", fpr)
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return refuseFor(err, DetailKeyExpired, "key %s has expired", fpr)
	case errors.Is(err, pgperrors.ErrSignatureExpired):
		return refuseFor(err, DetailSignatureExpired, "signature of %s has expired", fpr)
	case errors.Is(err, pgperrors.ErrSignatureOlderThanKey):
		return refuseFor(err, DetailOlderThanKey, "signature of %s is older than the key", fpr)
	}
	return classifyText(err, fpr)
}

// classifyText goes by the text where the library has no typed error.
func classifyText(err error, fpr Fingerprint) error {
	for _, c := range []struct {
		text   string
		detail Detail
		msg    string
	}{
		{"insecure", DetailWeakHash, "rests on a hash that is too weak"},
		{"minimum rsa", DetailWeakKey, "is too short"},
		{"elliptic curve", DetailAlgorithm, "has an algorithm that isn't accepted"},
		{"public key algorithm", DetailAlgorithm, "has an algorithm that isn't accepted"},
		{"critical", DetailCriticalUnknown, "rests on something critical and unknown"},
		{"no valid signing", DetailWrongUsage, "may not sign"},
		{"no valid binding", DetailWrongUsage, "isn't bound to its certificate"},
		{"self signature", DetailNoSelfSignature, "has no valid self signature"},
	} {
		if strings.Contains(err.Error(), c.text) {
			return refuseFor(err, c.detail, "key %s %s", fpr, c.msg)
		}
	}
	return refuseFor(err, DetailBadSignature, "bad signature by %s", fpr)
}

// sharpen looks for the cause behind the two details that the library gives to
// many faults of a certificate.
func sharpen(e *openpgp.Entity, s signature, cfg *packet.Config, was error) error {
	d := DetailOf(was)
	if d != DetailWrongUsage && d != DetailNoSelfSignature {
		return was
	}
	sk := subkeyOf(e, s.issuer)
	if sk == nil || d == DetailNoSelfSignature {
		return sharpenPrimary(e, s.issuer, cfg, was)
	}
	return sharpenSubkey(e, sk, s, cfg, was)
}

func sharpenPrimary(e *openpgp.Entity, fpr Fingerprint, cfg *packet.Config, was error) error {
	for _, id := range e.Identities {
		for _, r := range id.Revocations {
			if e.PrimaryKey.VerifyUserIdSignature(id.Name, e.PrimaryKey, r.Packet) == nil {
				return refuseFor(was, DetailKeyRevoked, "user id %q of key %s is revoked", id.Name, fpr)
			}
		}
		for _, c := range id.SelfCertifications {
			if err := acceptableSelf(c.Packet, fpr, cfg); err != nil {
				return err
			}
		}
	}
	return was
}

func sharpenSubkey(e *openpgp.Entity, sk *openpgp.Subkey, s signature, cfg *packet.Config, was error) error {
	at := s.packet.CreationTime
	if at.Before(sk.PublicKey.CreationTime) {
		return refuseFor(was, DetailOlderThanKey, "signature of %s is older than the key", s.issuer)
	}
	for _, b := range sk.Bindings {
		if err := sharpenBinding(e, sk, b.Packet, at, cfg); err != nil {
			return err
		}
	}
	if n, err := sk.PublicKey.BitLength(); err == nil && isRSA(sk.PublicKey) && n < cfg.MinimumRSABits() {
		return refuseFor(was, DetailWeakKey, "key %s has %d bits", s.issuer, n)
	}
	selected, err := sk.LatestValidBindingSignature(at, cfg)
	switch {
	case err != nil:
		return refuseFor(was, DetailKeyExpired, "no binding of key %s is valid at %s", s.issuer, stamp(at))
	case sk.Revoked(selected, at):
		return refuseFor(was, DetailKeyRevoked, "key %s is revoked", s.issuer)
	case sk.Expired(selected, at):
		return refuseFor(was, DetailKeyExpired, "key %s has expired", s.issuer)
	}
	return was
}

func sharpenBinding(e *openpgp.Entity, sk *openpgp.Subkey, b *packet.Signature, at time.Time, cfg *packet.Config) error {
	fpr := fingerprintOf(sk.PublicKey.Fingerprint)
	if !b.FlagSign {
		return refuse(DetailWrongUsage, "subkey %s may not sign", fpr)
	}
	if err := acceptableSelf(b, fpr, cfg); err != nil {
		return err
	}
	if err := e.PrimaryKey.VerifyKeySignature(sk.PublicKey, b); err != nil {
		return refuseFor(err, DetailNoCrossSignature, "subkey %s without a valid cross signature", fpr)
	}
	if cross := b.EmbeddedSignature; cross != nil && cross.SigExpired(at) {
		return refuse(DetailNoCrossSignature, "the cross signature of subkey %s has expired", fpr)
	}
	return nil
}

func isRSA(k *packet.PublicKey) bool {
	return k.PubKeyAlgo == packet.PubKeyAlgoRSA || k.PubKeyAlgo == packet.PubKeyAlgoRSASignOnly
}
