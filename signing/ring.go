package signing

import (
	"bytes"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// MaxKeyringFile is the largest keyring file that is read: MaxKeyring bytes, and
// what armor adds to them.
const MaxKeyringFile = 2 << 20

// maxKeyringPackets bounds the work that a keyring can ask for.
const maxKeyringPackets = 20_000

// A Ring is the certificates of one keyring file.
type Ring struct {
	// Raw holds every certificate, bare, ready to be Trust.Certificates.
	Raw []byte
	// Certificates are those that can be read, in the order of the file. A copy of
	// one comes twice.
	Certificates []Certificate
}

// ReadRing reads a keyring file: bare certificates one after the other, or armored
// blocks of them with nothing but white space between. A certificate of a kind that
// isn't known is passed over; bytes that are no packet, and secret keys, refuse the
// file. The errors are like Verify's.
func ReadRing(file []byte) (Ring, error) {
	if len(file) > MaxKeyringFile {
		return Ring{}, tooLarge("keyring file", MaxKeyringFile)
	}
	raw, err := dearmorBlocks(file, armorPublicKey)
	if err != nil {
		return Ring{}, err
	}
	if len(raw) > MaxKeyring {
		return Ring{}, tooLarge("certificates", MaxKeyring)
	}
	parts, err := splitCertificates(raw)
	if err != nil {
		return Ring{}, err
	}
	r := Ring{Raw: raw}
	for _, part := range parts {
		if e, err := readEntity(part); err == nil && acceptableVersion(e) {
			r.Certificates = append(r.Certificates, Certificate{fingerprintOf(e.PrimaryKey.Fingerprint), part})
		}
	}
	return r, nil
}

// Fingerprints lists whose certificates r holds. To trust them all is the caller's
// decision.
func (r Ring) Fingerprints() []Fingerprint {
	out := make([]Fingerprint, len(r.Certificates))
	for i, c := range r.Certificates {
		out[i] = c.Fingerprint
	}
	return out
}

// splitCertificates cuts bare certificates apart, each from its primary key to the
// next one.
func splitCertificates(raw []byte) (parts [][]byte, err error) {
	start, count := raw, 0
	cut := func(rest []byte) {
		if n := len(start) - len(rest); n > 0 {
			parts = append(parts, start[:n:n])
		}
		start = rest
	}
	for rest := raw; len(rest) > 0; {
		at := rest
		var p rawPacket
		if p, rest, err = nextPacket(rest); err != nil {
			return nil, err
		}
		if count++; count > maxKeyringPackets {
			return nil, refuse(DetailTooLarge, "keyring of more than %d packets", maxKeyringPackets)
		}
		switch p.tag {
		case tagSecretKey, tagSecretSub:
			return nil, refuse(DetailWrongCertificate, "a secret key where a public one belongs")
		case tagPublicKey:
			cut(at)
		}
	}
	cut(nil)
	return parts, nil
}

// readEntity reads the one certificate of raw.
func readEntity(raw []byte) (*openpgp.Entity, error) {
	raw, err := gathered(raw)
	if err != nil {
		return nil, err
	}
	entities, err := openpgp.ReadKeyRing(bytes.NewReader(raw))
	if err != nil || len(entities) != 1 {
		return nil, refuseFor(err, DetailNoSelfSignature, "no usable certificate among the trusted ones")
	}
	return entities[0], nil
}

func acceptableVersion(e *openpgp.Entity) bool {
	v := e.PrimaryKey.Version
	return v == 4 || v == 6
}

// revocations lists the revocations that c carries, each as the bytes
// of its packet.
func (c Certificate) revocations() (list [][]byte) {
	_ = eachPacket(c.Raw, func(p rawPacket, _ []byte) { // what was read once has no errors
		if _, ok := revokes(p); ok {
			list = append(list, p.body)
		}
	})
	return list
}

func isRevocation(kind byte) bool {
	return slices.Contains([]packet.SignatureType{
		packet.SigTypeKeyRevocation, packet.SigTypeSubkeyRevocation, packet.SigTypeCertificationRevocation,
	}, packet.SignatureType(kind))
}

// KeepsRevocationsOf reports whether c carries every revocation that old does. A
// copy that lacks one must not take old's place.
func (c Certificate) KeepsRevocationsOf(old Certificate) bool {
	mine := c.revocations()
	for _, r := range old.revocations() {
		if !slices.ContainsFunc(mine, func(m []byte) bool { return bytes.Equal(m, r) }) {
			return false
		}
	}
	return true
}
