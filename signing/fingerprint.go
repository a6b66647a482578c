package signing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Fingerprint identifies an OpenPGP key: 40 (version 4) or 64 (version 6)
// lower-case hexadecimal digits. The zero value is no key at all.
type Fingerprint string

// ParseFingerprint reads a full fingerprint as people paste it: either case,
// spaces and colons between the digits, an optional leading "0x". A key id (8 or
// 16 digits) is refused, because it can be forged.
func ParseFingerprint(s string) (Fingerprint, error) {
	clean := strings.ToLower(strings.NewReplacer(" ", "", ":", "").Replace(strings.TrimSpace(s)))
	clean = strings.TrimPrefix(clean, "0x")
	if err := Fingerprint(clean).check(); err != nil {
		return "", abi.Errorf(abi.ErrInvalidArgs, "", "fingerprint %q: %w", s, err)
	}
	return Fingerprint(clean), nil
}

// Valid reports whether f has the canonical form: 40 or 64 lower-case digits.
func (f Fingerprint) Valid() bool { return f.check() == nil }

// Grouped returns the digits in groups of four, for comparison by eye.
func (f Fingerprint) Grouped() string {
	var b strings.Builder
	for i := 0; i < len(f); i += 4 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToUpper(string(f[i:min(i+4, len(f))])))
	}
	return b.String()
}

func (f Fingerprint) check() error {
	if len(f) != 40 && len(f) != 64 {
		if len(f) == 1 {
			return errors.New("has 1 character, want the full 40 or 64 hexadecimal digits")
		}
		return fmt.Errorf("has %d characters, want the full 40 or 64 hexadecimal digits", len(f))
	}
	for _, c := range []byte(f) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("holds %q, want hexadecimal digits", c)
		}
	}
	return nil
}

func fingerprintOf(b []byte) Fingerprint { return Fingerprint(hex.EncodeToString(b)) }
