package signing

import "bytes"

// A Kind is what a file looks like. It is for telling a person, and decides nothing.
type Kind string

// The kinds, in words that follow "it is".
const (
	KindEmpty       Kind = "empty"
	KindCutOff      Kind = "cut off"
	KindSignature   Kind = "a signature"
	KindCertificate Kind = "a certificate"
	KindSecretKey   Kind = "a secret key"
	KindClearsigned Kind = "a clearsigned document"
	KindMessage     Kind = "an OpenPGP message"
	KindOther       Kind = "no OpenPGP file"
)

// armorKinds are the blocks that files begin with.
func armorKinds() map[string]Kind {
	return map[string]Kind{
		armorSignature: KindSignature, armorPublicKey: KindCertificate, armorSecretKey: KindSecretKey,
		"PGP SIGNED MESSAGE": KindClearsigned, "PGP MESSAGE": KindMessage,
	}
}

// LooksLike says what a file of any bytes looks like by its beginning, and whether
// its end is there.
func LooksLike(file []byte) Kind {
	text := bytes.TrimSpace(file)
	if len(text) == 0 {
		return KindEmpty
	}
	if file[0]&0x80 != 0 {
		return bareKind(file)
	}
	for block, kind := range armorKinds() {
		if !bytes.HasPrefix(text, []byte("-----BEGIN "+block+"-----")) {
			continue
		}
		if kind == KindClearsigned {
			block = armorSignature
		}
		if !bytes.Contains(text, []byte("\n-----END "+block+"-----")) {
			return KindCutOff
		}
		return kind
	}
	return KindOther
}

// bareKind is LooksLike for packets.
func bareKind(file []byte) Kind {
	for p, rest, err := nextPacket(file); err == nil && p.tag == tagMarker && len(rest) > 0; p, rest, err = nextPacket(rest) {
		file = rest
	}
	tag := file[0] & 0x3f
	if file[0]&0x40 == 0 {
		tag >>= 2
	}
	kind := KindOther
	switch tag {
	case tagSignature:
		kind = KindSignature
	case tagPublicKey:
		kind = KindCertificate
	case tagSecretKey:
		kind = KindSecretKey
	case 1, 3, 4, 8, 9, 11, 18, 20: // RFC 9580, section 10.3
		return KindMessage // its packets may have no fixed length
	}
	for rest := file; kind != KindOther && len(rest) > 0; {
		var err error
		if _, rest, err = nextPacket(rest); err != nil {
			return KindCutOff
		}
	}
	return kind
}

// CheckSignatureFile says what keeps a file from being read as a signature, without
// judging it; nil if nothing does. The errors are Verify's.
func CheckSignatureFile(file []byte) error {
	if len(file) > MaxSignatureFile {
		return tooLarge("signature file", MaxSignatureFile)
	}
	_, _, err := readSignatures(file)
	return err
}

// tooLarge refuses what has more than limit bytes. How many more isn't known to whoever
// stopped reading there.
func tooLarge(what string, limit int) error {
	return refuse(DetailTooLarge, "%s of more than %d bytes", what, limit)
}
