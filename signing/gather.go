package signing

import (
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// maxGathered bounds the copies of revocations that one certificate is given.
const maxGathered = 4096

// gathered returns a bare certificate or secret key with each revocation, wherever
// it stands, also where it counts: that of the key behind the primary key, those of
// subkeys and user ids behind every one of them. Whom a signature is about is in
// what it signs and not in its place (RFC 9580, section 10.1, is an order that
// others may have changed); the library takes it from the place, and passes over one
// that stands elsewhere. A revocation in the wrong place would then be one that was
// not made. Whether it is genuine is still asked of each.
func gathered(raw []byte) ([]byte, error) {
	of := map[packet.SignatureType][]byte{}
	count := map[packet.SignatureType]int{}
	owners := map[packet.SignatureType]int{}
	err := eachPacket(raw, func(p rawPacket, _ []byte) {
		if kind, ok := revokes(p); ok {
			of[kind] = append(of[kind], packetOf(tagSignature, p.body)...)
			count[kind]++
		}
		owners[revokedBy(p.tag)]++
	})
	if err != nil || len(of) == 0 {
		return raw, err
	}
	copies := 0
	for kind, n := range count {
		copies += n * owners[kind]
	}
	if copies > maxGathered {
		return nil, refuse(DetailTooLarge, "certificate with revocations for %d places, the limit is %d", copies, maxGathered)
	}
	var out []byte
	err = eachPacket(raw, func(p rawPacket, whole []byte) {
		out = append(append(out, whole...), of[revokedBy(p.tag)]...)
	})
	return out, err
}

// eachPacket calls f with each packet, parsed and as it stands.
func eachPacket(raw []byte, f func(p rawPacket, whole []byte)) error {
	for len(raw) > 0 {
		p, rest, err := nextPacket(raw)
		if err != nil {
			return err
		}
		f(p, raw[:len(raw)-len(rest)])
		raw = rest
	}
	return nil
}

// revokes reports whether a packet is a revocation, and of which kind.
func revokes(p rawPacket) (kind packet.SignatureType, ok bool) {
	if p.tag != tagSignature || len(p.body) < 2 || !isRevocation(p.body[1]) {
		return 0, false
	}
	return packet.SignatureType(p.body[1]), true
}

// revokedBy is the kind of revocation that is about packets of a tag; 0 for none.
func revokedBy(tag byte) packet.SignatureType {
	switch tag {
	case tagPublicKey, tagSecretKey:
		return packet.SigTypeKeyRevocation
	case tagPublicSub, tagSecretSub:
		return packet.SigTypeSubkeyRevocation
	case tagUserID:
		return packet.SigTypeCertificationRevocation
	}
	return 0
}
