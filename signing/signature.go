package signing

import (
	"bytes"
	"encoding/binary"
	"errors"

	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// The subpackets of a document signature that this package acts on. A critical
// one that isn't listed makes the signature invalid.
const (
	subCreated     = 2
	subExpires     = 3
	subExportable  = 4
	subRevoker     = 12
	subIssuer      = 16
	subNotation    = 20
	subSignerID    = 28
	subFingerprint = 33
	subRecipient   = 35
)

// Hash ids of RFC 9580, section 9.5.
const (
	hashMD5       = 1
	hashSHA1      = 2
	hashRIPEMD160 = 3
	hashSHA256    = 8
	hashSHA384    = 9
	hashSHA512    = 10
	hashSHA224    = 11
	hashSHA3x256  = 12
	hashSHA3x512  = 14
)

// A signature is one signature packet, read strictly.
type signature struct {
	packet *packet.Signature
	bytes  []byte      // the packet with its unsigned area emptied
	issuer Fingerprint // from the signed area
}

// readSignatures reads every signature of a file. Structure that is wrong
// refuses the whole file; a signature of a kind that isn't accepted comes back
// as an error in its place, so that another one may still count.
func readSignatures(file []byte) (sigs []signature, unusable []error, err error) {
	raw, err := dearmor(file, armorSignature)
	if err != nil {
		return nil, nil, err
	}
	count := 0
	for len(raw) > 0 {
		var p rawPacket
		if p, raw, err = nextPacket(raw); err != nil {
			return nil, nil, err
		}
		if p.tag == tagMarker && string(p.body) == "PGP" {
			continue // RFC 9580, section 5.8: must be ignored
		}
		if p.tag != tagSignature {
			return nil, nil, refuse(DetailNotDetached, "packet of tag %d where a signature belongs", p.tag)
		}
		if count++; count > MaxSignatures {
			return nil, nil, refuse(DetailTooManySignatures, "more than %d signatures", MaxSignatures)
		}
		s, skip, err := readSignature(p.body)
		switch {
		case err != nil:
			return nil, nil, err
		case skip != nil:
			unusable = append(unusable, skip)
		default:
			sigs = append(sigs, s)
		}
	}
	if count == 0 {
		return nil, nil, refuse(DetailMalformed, "no signature in the file")
	}
	return sigs, unusable, nil
}

// readSignature reads the body of one packet. skip says that it is well formed
// and of a kind that isn't accepted.
func readSignature(body []byte) (s signature, skip, err error) {
	if len(body) < 4 {
		return signature{}, nil, refuse(DetailMalformed, "signature packet of %d bytes", len(body))
	}
	if skip = acceptableKind(body); skip != nil {
		return signature{}, skip, nil
	}
	hashed, tail, err := areas(body)
	if err != nil {
		return signature{}, nil, err
	}
	s.bytes = packetOf(tagSignature, withoutUnhashed(body, hashed, tail))
	r := bytes.NewReader(s.bytes)
	p, err := packet.Read(r)
	if unsupported := pgperrors.UnsupportedError(""); errors.As(err, &unsupported) {
		if _, skip := readHashed(hashed); skip != nil && DetailOf(skip) != DetailNoIssuer {
			return signature{}, skip, nil
		}
		return signature{}, refuseFor(err, DetailUnsupported, "a kind of signature that isn't supported"), nil
	}
	if err != nil {
		return signature{}, nil, refuseFor(err, DetailMalformed, "signature packet can't be read")
	}
	var ok bool
	if s.packet, ok = p.(*packet.Signature); !ok || r.Len() != 0 {
		return signature{}, nil, refuse(DetailMalformed, "%d bytes after the signature's value", r.Len())
	}
	if s.issuer, skip = readHashed(hashed); skip != nil {
		return signature{}, skip, nil
	}
	return s, nil, nil
}

// acceptableKind checks version, type and hash, which stand at the same place in
// every version that is accepted.
func acceptableKind(body []byte) error {
	if version := body[0]; version != 4 && version != 6 {
		return refuse(DetailUnsupported, "signature of version %d, want 4 or 6", version)
	}
	if kind := body[1]; kind != byte(packet.SigTypeBinary) {
		return refuse(DetailNotBinary, "signature of type 0x%02x, want a binary document's 0x00", kind)
	}
	switch id := body[3]; id {
	case hashSHA256, hashSHA384, hashSHA512, hashSHA3x256, hashSHA3x512:
		return nil
	case hashMD5, hashSHA1, hashRIPEMD160, hashSHA224:
		return refuse(DetailWeakHash, "signature over a hash that is too weak (id %d)", id)
	default:
		return refuse(DetailUnsupported, "signature over an unknown hash (id %d)", id)
	}
}

// areas returns the hashed area, and all that follows the unhashed one.
func areas(body []byte) (hashed, tail []byte, err error) {
	rest := body[4:]
	if hashed, rest, err = sized(rest, body[0]); err != nil {
		return nil, nil, err
	}
	if _, rest, err = sized(rest, body[0]); err != nil {
		return nil, nil, err
	}
	return hashed, rest, nil
}

// sized takes one area off b: its length has two octets, four in version 6.
func sized(b []byte, version byte) (area, rest []byte, err error) {
	width := 2
	if version == 6 {
		width = 4
	}
	if len(b) < width {
		return nil, nil, refuse(DetailMalformed, "signature packet is cut off")
	}
	var n uint64
	if version == 6 {
		n = uint64(binary.BigEndian.Uint32(b))
	} else {
		n = uint64(binary.BigEndian.Uint16(b))
	}
	b = b[width:]
	if n > uint64(len(b)) {
		return nil, nil, refuse(DetailMalformed, "subpackets longer than the signature")
	}
	return b[:n], b[n:], nil
}

// withoutUnhashed rebuilds the packet with an empty unhashed area. Nothing in it
// is signed, and the library lets an issuer there override the signed one.
func withoutUnhashed(body, hashed, tail []byte) []byte {
	out := append([]byte{}, body[:4]...)
	if body[0] == 6 {
		out = binary.BigEndian.AppendUint32(out, uint32(len(hashed)))
		out = append(append(out, hashed...), 0, 0, 0, 0)
	} else {
		out = binary.BigEndian.AppendUint16(out, uint16(len(hashed)))
		out = append(append(out, hashed...), 0, 0)
	}
	return append(out, tail...)
}

// readHashed takes the facts out of the signed area: exactly one creation time,
// exactly one issuer fingerprint, at most one expiry, and nothing critical that
// this package doesn't act on.
func readHashed(area []byte) (Fingerprint, error) {
	list, err := subpackets(area)
	if err != nil {
		return "", err
	}
	var issuer []byte
	count := map[byte]int{}
	for _, sp := range list {
		count[sp.kind]++
		if sp.critical && !actedOn(sp.kind) {
			return "", refuse(DetailCriticalUnknown, "critical subpacket of unknown type %d", sp.kind)
		}
		if sp.kind == subFingerprint {
			issuer = sp.value
		}
	}
	if count[subCreated] != 1 || count[subFingerprint] > 1 || count[subExpires] > 1 {
		return "", refuse(DetailMalformed, "%d creation times, %d issuers, %d expiries",
			count[subCreated], count[subFingerprint], count[subExpires])
	}
	if len(issuer) == 0 {
		return "", refuse(DetailNoIssuer, "no issuer fingerprint in the signed part")
	}
	fpr := fingerprintOf(issuer[1:])
	if !fpr.Valid() {
		return "", refuse(DetailMalformed, "issuer fingerprint of %d bytes", len(issuer)-1)
	}
	return fpr, nil
}

func actedOn(kind byte) bool {
	switch kind {
	case subCreated, subExpires, subExportable, subIssuer, subNotation, subSignerID, subFingerprint, subRecipient:
		return true
	}
	return false
}
