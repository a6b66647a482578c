package signing

import (
	"bytes"
	"encoding/base64"
)

// Block types of ASCII armor.
//
//nolint:gosec // names, not keys
const (
	armorSignature = "PGP SIGNATURE"
	armorPublicKey = "PGP PUBLIC KEY BLOCK"
	armorSecretKey = "PGP PRIVATE KEY BLOCK"
)

// maxArmorHeaders bounds the "Key: value" lines above the data.
const maxArmorHeaders = 16

// dearmor returns the packets of data, which is either bare packets (their first
// bit is set) or exactly one armored block of the given type with nothing but
// white space around it. Headers are skipped, and so is the checksum, which
// RFC 9580 says need not be checked: it protects nothing. The caller has checked
// the size. It runs in linear time, which the library's decoder doesn't.
func dearmor(data []byte, blockType string) ([]byte, error) {
	if len(data) > 0 && data[0]&0x80 != 0 {
		return data, nil
	}
	lines := bytes.Split(bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\r\n"), []byte("\n")), []byte("\n"))
	begin, end := "-----BEGIN "+blockType+"-----", "-----END "+blockType+"-----"
	if string(lines[0]) == "-----BEGIN PGP SIGNED MESSAGE-----" {
		return nil, refuse(DetailNotDetached, "a clearsigned document instead of a detached signature")
	}
	if len(lines) < 3 || string(lines[0]) != begin || string(lines[len(lines)-1]) != end {
		return nil, refuse(DetailMalformed, "not one block of %q", blockType)
	}
	body, err := skipHeaders(lines[1 : len(lines)-1])
	if err != nil {
		return nil, err
	}
	return decodeBody(body)
}

// dearmorBlocks is dearmor for any number of armored blocks, one after the other.
func dearmorBlocks(data []byte, blockType string) ([]byte, error) {
	end := []byte("-----END " + blockType + "-----")
	if len(data) > 0 && data[0]&0x80 != 0 || bytes.Count(data, end) < 2 {
		if len(bytes.TrimSpace(data)) == 0 {
			return nil, nil
		}
		return dearmor(data, blockType)
	}
	var all []byte
	for rest := bytes.TrimSpace(data); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		text, after, _ := bytes.Cut(rest, end)
		block := rest[:min(len(rest), len(text)+len(end))]
		if block[0]&0x80 != 0 {
			return nil, refuse(DetailMalformed, "bare packets after an armored block")
		}
		raw, err := dearmor(block, blockType)
		if err != nil {
			return nil, err
		}
		all, rest = append(all, raw...), after
	}
	return all, nil
}

// skipHeaders returns the lines below the blank one that ends the headers.
func skipHeaders(lines [][]byte) ([][]byte, error) {
	for i, l := range lines {
		if len(bytes.TrimSpace(l)) == 0 {
			return lines[i+1:], nil
		}
		if i >= maxArmorHeaders || !bytes.Contains(l, []byte(": ")) {
			break
		}
	}
	return nil, refuse(DetailMalformed, "armor without a blank line after its headers")
}

func decodeBody(lines [][]byte) ([]byte, error) {
	var b64 []byte
	for i, l := range lines {
		l = bytes.TrimRight(l, " \t")
		if i == len(lines)-1 && len(l) == 5 && l[0] == '=' {
			break // the checksum
		}
		b64 = append(b64, l...)
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(b64)))
	n, err := base64.StdEncoding.Strict().Decode(raw, b64)
	if err != nil {
		return nil, refuseFor(err, DetailMalformed, "armor holds broken base64")
	}
	return raw[:n], nil
}

// enarmor is the other direction. It writes the checksum line, because GnuPG 2.2
// reads past the end of some blocks without it.
func enarmor(raw []byte, blockType string) []byte {
	var out bytes.Buffer
	out.WriteString("-----BEGIN " + blockType + "-----\n\n")
	b64 := base64.StdEncoding.EncodeToString(raw)
	for len(b64) > 0 {
		n := min(64, len(b64))
		out.WriteString(b64[:n] + "\n")
		b64 = b64[n:]
	}
	sum := crc24(raw)
	out.WriteString("=" + base64.StdEncoding.EncodeToString([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)}) + "\n")
	out.WriteString("-----END " + blockType + "-----\n")
	return out.Bytes()
}

// crc24 is the checksum of RFC 9580, section 6.1.
func crc24(b []byte) uint32 {
	sum := uint32(0xb704ce)
	for _, c := range b {
		sum ^= uint32(c) << 16
		for range 8 {
			if sum <<= 1; sum&0x1000000 != 0 {
				sum ^= 0x1864cfb
			}
		}
	}
	return sum & 0xffffff
}
