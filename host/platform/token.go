package platform

import (
	"crypto/rand"
	"encoding/base64"
)

// NewToken returns 256 random bits as 43 characters of base64url without
// padding. It can't fail.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never returns an error: see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b[:])
}
