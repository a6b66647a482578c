package signing

import (
	"bytes"
	"crypto"
	"io"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// A keyring judges signatures against the certificates of one Trust.
type keyring struct {
	trust Trust
	certs []holding
}

// A holding is one certificate of the keyring and the keys in it. The bytes are
// parsed afresh for every question.
type holding struct {
	raw     []byte
	primary Fingerprint
	keys    []Fingerprint // primary, and the subkeys
}

func readKeyring(trust Trust) (*keyring, error) {
	parts, err := splitCertificates(trust.Certificates)
	if err != nil {
		return nil, err
	}
	k := &keyring{trust: trust}
	var unreadable error
	for _, part := range parts {
		e, err := readEntity(part)
		if err != nil {
			unreadable = err
			continue
		}
		h := holding{raw: part, primary: fingerprintOf(e.PrimaryKey.Fingerprint)}
		h.keys = []Fingerprint{h.primary}
		for _, sk := range e.Subkeys {
			h.keys = append(h.keys, fingerprintOf(sk.PublicKey.Fingerprint))
		}
		if !acceptableVersion(e) {
			h.keys = nil // it is there, and answers for nothing
		}
		k.certs = append(k.certs, h)
	}
	if len(k.certs) == 0 && unreadable != nil {
		return nil, unreadable
	}
	return k, nil
}

// fresh parses the certificate again.
func (h holding) fresh() *openpgp.Entity {
	e, err := readEntity(h.raw)
	if err != nil {
		panic("BUG: the same bytes gave another certificate")
	}
	return e
}

// judge looks for a trusted certificate that holds the issuer of s and verifies
// s with it. All copies of a certificate are tried: one that lacks a renewal
// doesn't spoil the others, and a revocation in any of them wins.
func (k *keyring) judge(s signature, data []byte) (Signer, error) {
	var good Signer
	var last error
	for _, h := range k.certs {
		if !slices.Contains(h.keys, s.issuer) || !slices.Contains(k.trust.Fingerprints, h.primary) {
			continue
		}
		signer, err := k.judgeWith(h, s, data)
		switch {
		case err == nil:
			good = signer
		case DetailOf(err) == DetailKeyRevoked:
			return Signer{}, err
		default:
			last = err
		}
	}
	switch {
	case good.Primary != "":
		return good, nil
	case last != nil:
		return Signer{}, last
	}
	return Signer{}, refuse(DetailUnknownSigner, "signed by %s, which isn't trusted for this", s.issuer)
}

// judgeWith verifies s with one certificate.
func (k *keyring) judgeWith(h holding, s signature, data []byte) (Signer, error) {
	e := h.fresh()
	at, cfg := s.packet.CreationTime, strictConfig(k.trust.Now)
	if at.After(k.trust.Now.Add(Skew)) {
		return Signer{}, refuse(DetailSignatureFuture, "signature of %s is dated %s, in the future", s.issuer, stamp(at))
	}
	if at.After(k.trust.Now) {
		cfg = strictConfig(at)
	}
	if revokedByOther(e) {
		return Signer{}, refuse(DetailKeyRevoked,
			"key %s names a designated revoker and carries a revocation by another key", s.issuer)
	}
	if err := k.valid(h, s, data, cfg); err != nil {
		return Signer{}, sharpen(h.fresh(), s, cfg, err)
	}
	return Signer{h.primary, s.issuer, at.UTC()}, nil
}

// valid verifies s, with the key as it stands at the dates that count.
func (k *keyring) valid(h holding, s signature, data []byte, cfg *packet.Config) error {
	e, install := h.fresh(), k.trust.Mode == Install
	dates := []time.Time{s.packet.CreationTime}
	if predates(e, s) {
		dates[0], install = cfg.Now(), false
		if err := verifyAsOfNow(e, s, data, cfg); err != nil {
			return err
		}
	} else if err := verifyAtItsDate(e, s, data, cfg); err != nil {
		return err
	}
	if install {
		dates = append(dates, cfg.Now())
		if err := validAt(h.fresh(), s.issuer, cfg.Now(), cfg); err != nil {
			return err
		}
	}
	if s.packet.SigExpired(cfg.Now().Add(time.Second)) {
		return refuse(DetailSignatureExpired, "signature of %s expires at this second", s.issuer)
	}
	for _, at := range dates {
		// RFC 9580 ends a key's life with the second in which it expires; the
		// library with the one after.
		if err := validAt(h.fresh(), s.issuer, at.Add(time.Second), cfg); DetailOf(err) == DetailKeyExpired {
			return err
		}
	}
	return nil
}

// strictConfig is the signature policy. Setting one of the maps replaces the
// library's default for it, so each is whole.
func strictConfig(now time.Time) *packet.Config {
	weak := map[crypto.Hash]bool{crypto.MD5: true, crypto.SHA1: true, crypto.RIPEMD160: true, crypto.SHA224: true}
	return &packet.Config{
		Time:                        func() time.Time { return now },
		MinRSABits:                  2048,
		RejectHashAlgorithms:        weak,
		RejectMessageHashAlgorithms: weak,
		RejectPublicKeyAlgorithms: map[packet.PublicKeyAlgorithm]bool{
			packet.PubKeyAlgoDSA: true, packet.PubKeyAlgoElGamal: true,
		},
		RejectCurves: map[packet.Curve]bool{
			packet.CurveSecP256k1: true, packet.CurveBrainpoolP256: true,
			packet.CurveBrainpoolP384: true, packet.CurveBrainpoolP512: true,
		},
	}
}

// keyOf returns the primary key or subkey of e with that fingerprint, or nil.
func keyOf(e *openpgp.Entity, fpr Fingerprint) *packet.PublicKey {
	if fingerprintOf(e.PrimaryKey.Fingerprint) == fpr {
		return e.PrimaryKey
	}
	if sk := subkeyOf(e, fpr); sk != nil {
		return sk.PublicKey
	}
	return nil
}

func subkeyOf(e *openpgp.Entity, fpr Fingerprint) *openpgp.Subkey {
	for i := range e.Subkeys {
		if fingerprintOf(e.Subkeys[i].PublicKey.Fingerprint) == fpr {
			return &e.Subkeys[i]
		}
	}
	return nil
}

// verifyAtItsDate verifies s with the key as it stood at the date of s. The
// library's answer is only there once the data was read to its end.
func verifyAtItsDate(e *openpgp.Entity, s signature, data []byte, cfg *packet.Config) error {
	md, err := openpgp.VerifyDetachedSignatureReader(openpgp.EntityList{e},
		bytes.NewReader(data), bytes.NewReader(s.bytes), cfg)
	if err != nil {
		return classify(err, s.issuer)
	}
	if _, err := io.Copy(io.Discard, md.UnverifiedBody); err != nil {
		return classify(err, s.issuer)
	}
	if md.SignatureError != nil {
		return classify(md.SignatureError, s.issuer)
	}
	if len(md.SignatureCandidates) != 1 || md.SignedBy == nil ||
		fingerprintOf(md.SignedBy.PublicKey.Fingerprint) != s.issuer {
		return refuse(DetailBadSignature, "signature by another key than %s, which it names", s.issuer)
	}
	return nil
}

// predates reports whether the certificate has no self signature as old as s
// left. gpg replaces self signatures when it extends an expiry, so that is what
// a refreshed key looks like.
func predates(e *openpgp.Entity, s signature) bool {
	if sk := subkeyOf(e, s.issuer); sk != nil && allAfter(sk.Bindings, s.packet.CreationTime) {
		return true
	}
	if e.PrimaryKey.Version == 6 {
		return allAfter(e.DirectSignatures, s.packet.CreationTime)
	}
	for _, id := range e.Identities {
		if len(id.SelfCertifications) > 0 && !allAfter(id.SelfCertifications, s.packet.CreationTime) {
			return false
		}
	}
	return true
}

func allAfter(sigs []*packet.VerifiableSignature, at time.Time) bool {
	return !slices.ContainsFunc(sigs, func(v *packet.VerifiableSignature) bool {
		return !v.Packet.CreationTime.After(at)
	})
}

// verifyAsOfNow verifies s with the key as it stands now, in either mode.
func verifyAsOfNow(e *openpgp.Entity, s signature, data []byte, cfg *packet.Config) error {
	if err := validAt(e, s.issuer, cfg.Now(), cfg); err != nil {
		return err
	}
	for _, n := range s.packet.Notations {
		if n.IsCritical {
			return refuse(DetailCriticalUnknown, "unknown critical notation %q", n.Name)
		}
	}
	key := keyOf(e, s.issuer)
	if s.packet.SigExpired(cfg.Now()) {
		return refuse(DetailSignatureExpired, "signature of %s has expired", s.issuer)
	}
	if s.packet.CreationTime.Before(key.CreationTime) {
		return refuse(DetailOlderThanKey, "signature of %s is older than the key", s.issuer)
	}
	hash, err := s.packet.PrepareVerify()
	if err != nil {
		return refuseFor(err, DetailMalformed, "signature packet can't be prepared")
	}
	hash.Write(data)
	if err := key.VerifySignature(hash, s.packet); err != nil {
		return classify(err, s.issuer)
	}
	return nil
}

// validAt asks whether the key may sign at a date, and whether all that it rests
// on there is strong enough.
func validAt(e *openpgp.Entity, fpr Fingerprint, at time.Time, cfg *packet.Config) error {
	if _, err := e.VerifyPrimaryKey(at, cfg); err != nil {
		return classify(err, fpr)
	}
	if sk := subkeyOf(e, fpr); sk != nil {
		if _, err := sk.Verify(at, cfg); err != nil {
			return classify(err, fpr)
		}
	}
	key, ok := e.SigningKeyById(at, keyOf(e, fpr).KeyId, cfg)
	if !ok || fingerprintOf(key.PublicKey.Fingerprint) != fpr {
		return refuse(DetailWrongUsage, "key %s may not sign at %s", fpr, stamp(at))
	}
	chain := []*packet.Signature{key.PrimarySelfSignature, key.SelfSignature}
	if !key.IsPrimary() {
		chain = append(chain, key.SelfSignature.EmbeddedSignature)
	}
	for _, sig := range chain {
		if err := acceptableSelf(sig, fpr, cfg); err != nil {
			return err
		}
	}
	return nil
}

// acceptableSelf checks a self signature, binding or cross signature.
func acceptableSelf(sig *packet.Signature, fpr Fingerprint, cfg *packet.Config) error {
	if sig == nil {
		return refuse(DetailNoCrossSignature, "subkey %s without a cross signature", fpr)
	}
	if cfg.RejectHashAlgorithm(sig.Hash) {
		return refuse(DetailWeakHash, "key %s rests on a self signature over %v", fpr, sig.Hash)
	}
	for _, n := range sig.Notations {
		if n.IsCritical {
			return refuse(DetailCriticalUnknown, "key %s rests on an unknown critical notation %q", fpr, n.Name)
		}
	}
	return nil
}

// revokedByOther reports whether another key revoked e and e named somebody who
// may. The library doesn't evaluate designated revokers, so the answer is the
// careful one.
func revokedByOther(e *openpgp.Entity) bool {
	foreign := slices.ContainsFunc(e.Revocations, func(r *packet.VerifiableSignature) bool {
		return !r.Packet.CheckKeyIdOrFingerprint(e.PrimaryKey)
	})
	return foreign && slices.ContainsFunc(e.DirectSignatures, func(d *packet.VerifiableSignature) bool {
		return namesRevoker(d.Packet) && e.PrimaryKey.VerifyDirectKeySignature(d.Packet) == nil
	})
}

// namesRevoker looks for a designated revoker in a parsed signature's own bytes.
func namesRevoker(sig *packet.Signature) bool {
	var b bytes.Buffer
	if err := sig.Serialize(&b); err != nil {
		return true
	}
	p, _, err := nextPacket(b.Bytes())
	if err != nil || len(p.body) < 4 {
		return true
	}
	return hasRevoker(p.body)
}

// hasRevoker reports whether the hashed area of a signature's body names a
// designated revoker, or can't be read.
func hasRevoker(body []byte) bool {
	hashed, _, err := areas(body)
	if err != nil {
		return true
	}
	list, err := subpackets(hashed)
	return err != nil || slices.ContainsFunc(list, func(sp subpacket) bool { return sp.kind == subRevoker })
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
