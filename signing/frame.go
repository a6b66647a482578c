package signing

import "encoding/binary"

// Packet tags of RFC 9580, section 5, that this package looks at.
const (
	tagSignature = 2
	tagSecretKey = 5
	tagPublicKey = 6
	tagSecretSub = 7
	tagMarker    = 10
	tagUserID    = 13
	tagPublicSub = 14
)

// A rawPacket is one packet as it stands in the file.
type rawPacket struct {
	tag  byte
	body []byte
}

// nextPacket frames the first packet of b and returns what follows it. The
// library's own reader drops packets that it doesn't know, goes on after junk
// inside a packet and unpacks compressed ones; this one does none of it. Lengths
// that aren't stated up front (partial, indeterminate) are refused.
func nextPacket(b []byte) (p rawPacket, rest []byte, err error) {
	if len(b) < 2 || b[0]&0x80 == 0 {
		return rawPacket{}, nil, refuse(DetailMalformed, "not an OpenPGP packet")
	}
	var length uint64
	var header int
	if b[0]&0x40 != 0 {
		p.tag = b[0] & 0x3f
		length, header = newLength(b)
	} else {
		p.tag = b[0] & 0x3f >> 2
		length, header = oldLength(b)
	}
	if header == 0 {
		return rawPacket{}, nil, refuse(badLength(p.tag), "packet of tag %d without a fixed length", p.tag)
	}
	if header > len(b) || length > uint64(len(b)-header) {
		return rawPacket{}, nil, refuse(DetailMalformed, "packet of tag %d is cut off", p.tag)
	}
	end := header + int(length)
	p.body = b[header:end]
	return p, b[end:], nil
}

// badLength names the fault of a packet without a fixed length: only data
// packets may have one, so such a file isn't a detached signature.
func badLength(tag byte) Detail {
	if tag == tagSignature {
		return DetailMalformed
	}
	return DetailNotDetached
}

// newLength reads a length of the current packet format. The header is 0 long
// for a partial length, and longer than b when b is too short.
func newLength(b []byte) (length uint64, header int) {
	switch c := b[1]; {
	case c < 192:
		return uint64(c), 2
	case c < 224:
		if len(b) < 3 {
			return 0, 3
		}
		return uint64(c-192)<<8 + uint64(b[2]) + 192, 3
	case c == 255:
		if len(b) < 6 {
			return 0, 6
		}
		return uint64(binary.BigEndian.Uint32(b[2:])), 6
	}
	return 0, 0
}

// oldLength is newLength for the packet format before RFC 2440.
func oldLength(b []byte) (length uint64, header int) {
	switch b[0] & 3 {
	case 0:
		return uint64(b[1]), 2
	case 1:
		if len(b) < 3 {
			return 0, 3
		}
		return uint64(binary.BigEndian.Uint16(b[1:])), 3
	case 2:
		if len(b) < 5 {
			return 0, 5
		}
		return uint64(binary.BigEndian.Uint32(b[1:])), 5
	}
	return 0, 0
}

// packetOf frames a body in the current format with a four-octet length.
func packetOf(tag byte, body []byte) []byte {
	out := make([]byte, 0, len(body)+6)
	out = append(out, 0xc0|tag, 255)
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	return append(out, body...)
}

// A subpacket is one entry of a signature's hashed area.
type subpacket struct {
	kind     byte
	critical bool
	value    []byte
}

// subpackets splits a subpacket area.
func subpackets(area []byte) ([]subpacket, error) {
	var out []subpacket
	for len(area) > 0 {
		length, header := subpacketLength(area)
		if header > len(area) || length < 1 || length > uint64(len(area)-header) {
			return nil, refuse(DetailMalformed, "subpacket longer than its area")
		}
		end := header + int(length)
		out = append(out, subpacket{area[header] & 0x7f, area[header]&0x80 != 0, area[header+1 : end]})
		area = area[end:]
	}
	return out, nil
}

func subpacketLength(b []byte) (length uint64, header int) {
	switch c := b[0]; {
	case c < 192:
		return uint64(c), 1
	case c < 255:
		if len(b) < 2 {
			return 0, 2
		}
		return uint64(c-192)<<8 + uint64(b[1]) + 192, 2
	}
	if len(b) < 5 {
		return 0, 5
	}
	return uint64(binary.BigEndian.Uint32(b[1:])), 5
}
