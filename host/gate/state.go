package gate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// A claim is what the state of a question says. It travels through the client,
// which can read it, and can change nothing of it.
type claim struct {
	request   string // id
	digest    Digest
	expires   int64 // Unix time
	nonce     string
	principal string // id
}

const (
	stateDomain = "drawbridge question v1\n"
	maxState    = 1024 // bytes
)

// seal writes a claim: its lines and their HMAC, as base64url without padding.
// The principal's id stands last, so that nothing in it can pass for a line.
func (g *Gate) seal(c claim) string {
	body := strings.Join([]string{c.request, string(c.digest), strconv.FormatInt(c.expires, 10), c.nonce, c.principal}, "\n")
	return base64.RawURLEncoding.EncodeToString(append([]byte(body), g.mac(body)...))
}

func (g *Gate) mac(body string) []byte {
	h := hmac.New(sha256.New, g.key[:])
	h.Write([]byte(stateDomain + body))
	return h.Sum(nil)
}

// unseal reads a state. There is one text for each claim: Go's decoder ignores
// line ends, and a lax one the bits that are left over at the end.
func (g *Gate) unseal(state string) (claim, error) {
	malformed := notCounted("it is none of ours")
	if len(state) > maxState {
		return claim{}, malformed
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(raw) < sha256.Size || base64.RawURLEncoding.EncodeToString(raw) != state {
		return claim{}, malformed
	}
	body, sum := string(raw[:len(raw)-sha256.Size]), raw[len(raw)-sha256.Size:]
	if !hmac.Equal(sum, g.mac(body)) {
		return claim{}, malformed
	}
	part := strings.SplitN(body, "\n", 5)
	if len(part) != 5 {
		return claim{}, malformed
	}
	expires, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil {
		return claim{}, malformed
	}
	return claim{request: part[0], digest: Digest(part[1]), expires: expires, nonce: part[3], principal: part[4]}, nil
}
