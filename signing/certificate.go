package signing

import (
	"bytes"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// MaxCertificate is the largest certificate file that is read.
const MaxCertificate = 128 << 10

// maxCertificatePackets bounds the work that one certificate can ask for.
const maxCertificatePackets = 1000

// A Certificate is a public key with its user ids, subkeys and self signatures.
type Certificate struct {
	Fingerprint Fingerprint
	Raw         []byte // bare packets, ready to be appended to Trust.Certificates
}

// ReadCertificate reads a file (armored or bare) that has to hold exactly the
// certificate with the fingerprint want and nothing else. It refuses secret
// keys, versions other than 4 and 6, and certificates that name a designated
// revoker, whose revocations couldn't be checked. The errors are like Verify's.
func ReadCertificate(file []byte, want Fingerprint) (Certificate, error) {
	if len(file) > MaxCertificate {
		return Certificate{}, refuse(DetailTooLarge, "certificate file of %d bytes, the limit is %d",
			len(file), MaxCertificate)
	}
	raw, err := dearmor(file, armorPublicKey)
	if err != nil {
		return Certificate{}, err
	}
	if err := checkCertificatePackets(raw); err != nil {
		return Certificate{}, err
	}
	entities, err := openpgp.ReadKeyRing(bytes.NewReader(raw))
	if err != nil || len(entities) != 1 {
		return Certificate{}, refuseFor(err, DetailMalformed, "file doesn't hold one usable certificate")
	}
	key := entities[0].PrimaryKey
	if v := key.Version; v != 4 && v != 6 {
		return Certificate{}, refuse(DetailUnsupported, "key of version %d, want 4 or 6", v)
	}
	if got := fingerprintOf(key.Fingerprint); got != want {
		return Certificate{}, refuse(DetailWrongCertificate, "certificate %s where %s was expected", got, want)
	}
	return Certificate{want, raw}, nil
}

func checkCertificatePackets(raw []byte) error {
	count, primaries := 0, 0
	for len(raw) > 0 {
		p, rest, err := nextPacket(raw)
		if err != nil {
			return err
		}
		raw = rest
		if count++; count > maxCertificatePackets {
			return refuse(DetailTooLarge, "certificate of more than %d packets", maxCertificatePackets)
		}
		switch p.tag {
		case tagPublicKey:
			primaries++
		case tagSecretKey, tagSecretSub:
			return refuse(DetailWrongCertificate, "a secret key where a public one belongs")
		case tagSignature:
			if isDirectWithRevoker(p.body) {
				return refuse(DetailDesignatedRevoker, "certificate names a designated revoker")
			}
		}
	}
	if primaries != 1 {
		return refuse(DetailMalformed, "%d certificates in the file, want one", primaries)
	}
	return nil
}

func isDirectWithRevoker(body []byte) bool {
	return len(body) >= 4 && (body[0] == 4 || body[0] == 6) &&
		body[1] == byte(packet.SigTypeDirectSignature) && hasRevoker(body)
}
