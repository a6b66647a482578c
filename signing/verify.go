package signing

import (
	"maps"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Limits on input, checked before anything is parsed.
const (
	MaxSignatureFile = 128 << 10 // the largest post-quantum signature has 50 kB
	MaxKeyring       = 1 << 20
	MaxData          = 1 << 20
	MaxSignatures    = 8 // in one file
)

// Skew is how far ahead of our clock a signature may be dated.
const Skew = 5 * time.Minute

// A Mode says at which instants a signing key must be valid.
type Mode int

// The modes. The zero value is the stricter one.
const (
	// Install asks for a key that was valid when it signed and still is. A
	// signature made with a stolen key of the past can carry any date.
	Install Mode = iota
	// Archive asks for a key that was valid when it signed. It is for bytes that
	// were verified in Install mode before and are pinned by their hash.
	Archive
)

// String returns "install" or "archive".
func (m Mode) String() string {
	if m == Archive {
		return "archive"
	}
	return "install"
}

// Trust is what a signature is judged against.
type Trust struct {
	// Certificates holds bare (not armored) certificates, one after the other,
	// at most MaxKeyring bytes. Being in here means nothing by itself.
	Certificates []byte
	// Fingerprints are the primary keys whose signatures count.
	Fingerprints []Fingerprint
	// Threshold is how many different primary keys must have signed; 0 means 1.
	Threshold int
	// Mode says when the keys must be valid.
	Mode Mode
	// Now is the present. With a zero Now every signature is refused.
	Now time.Time
}

// A Signer is one trusted signature: who, with which key, when. The zero Signer
// is nobody.
type Signer struct {
	Primary Fingerprint // the certificate, one of Trust.Fingerprints
	Key     Fingerprint // the key that signed: Primary itself, or a subkey of it
	Created time.Time   // what the signature says; a thief of the key may choose it
}

// A Verdict is the answer of Verify. The zero Verdict names no signer and means
// untrusted.
type Verdict struct {
	Signers []Signer // one per primary key, sorted by it
	Mode    Mode
}

// Trusted reports whether anybody signed.
func (v Verdict) Trusted() bool { return len(v.Signers) > 0 }

// Signer returns the first signer, or the zero Signer of an untrusted verdict.
func (v Verdict) Signer() Signer {
	if len(v.Signers) == 0 {
		return Signer{}
	}
	return v.Signers[0]
}

// Verify checks file, a detached signature file (armored or bare, with one or
// more signatures), over data. It returns a Verdict with at least
// trust.Threshold different signers, or the zero Verdict and an *abi.Error with
// [abi.ErrUntrusted], a Reason, and a [Detail] in its chain. When several
// signatures fail, the first one's error is told.
//
// Certificates are parsed afresh in every call: the library caches verdicts in
// them, which is neither safe for concurrent use nor right when the date changes.
func Verify(data, file []byte, trust Trust) (Verdict, error) {
	if err := checkSizes(data, file, trust); err != nil {
		return Verdict{}, err
	}
	sigs, failures, err := readSignatures(file)
	if err != nil {
		return Verdict{}, err
	}
	ring, err := readKeyring(trust)
	if err != nil {
		return Verdict{}, err
	}
	found := map[Fingerprint]Signer{}
	for _, s := range sigs {
		signer, err := ring.judge(s, data)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		found[signer.Primary] = signer
	}
	if need := max(1, trust.Threshold); len(found) < need {
		return Verdict{}, shortfall(failures, found, need)
	}
	v := Verdict{Mode: trust.Mode}
	for _, fpr := range slices.Sorted(maps.Keys(found)) {
		v.Signers = append(v.Signers, found[fpr])
	}
	return v, nil
}

func checkSizes(data, file []byte, trust Trust) error {
	switch {
	case len(file) > MaxSignatureFile:
		return tooLarge("signature file", MaxSignatureFile)
	case len(trust.Certificates) > MaxKeyring:
		return tooLarge("certificates", MaxKeyring)
	case len(data) > MaxData:
		return tooLarge("signed file", MaxData)
	}
	return nil
}

func shortfall(failures []error, found map[Fingerprint]Signer, need int) error {
	if len(failures) > 0 {
		return failures[0]
	}
	return refuse(DetailThreshold, "signed by %d of the trusted keys, want %d", len(found), need)
}

var _ error = (*abi.Error)(nil) // every error of this package is one
