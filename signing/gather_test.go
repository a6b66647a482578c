package signing

import (
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// moved puts every revocation of a certificate behind the packet at, or at the end.
func moved(t *testing.T, raw []byte, at func(rawPacket) bool, before []byte) []byte {
	t.Helper()
	var out, revocations []byte
	walk := func(f func(rawPacket, []byte)) {
		if err := eachPacket(raw, f); err != nil {
			t.Fatal(err)
		}
	}
	walk(func(p rawPacket, whole []byte) {
		if _, ok := revokes(p); ok {
			revocations = append(revocations, whole...)
		}
	})
	revocations = append(before, revocations...)
	walk(func(p rawPacket, whole []byte) {
		if _, ok := revokes(p); ok {
			return
		}
		if out = append(out, whole...); at(p) {
			out, revocations = append(out, revocations...), nil
		}
	})
	return append(out, revocations...)
}

// A revocation counts wherever it stands: whoever hands a certificate on can move
// its packets, and can't make it good by that.
func TestRevocationsInAnyPlace(t *testing.T) {
	now, all := loadVectors(t)
	never := func(rawPacket) bool { return false }
	places := map[string]struct {
		at     func(rawPacket) bool
		before []byte
	}{
		"at the end":                {never, nil},
		"behind the primary key":    {func(p rawPacket) bool { return p.tag == tagPublicKey }, nil},
		"behind an unknown subkey":  {never, packetOf(tagPublicSub, []byte{99, 0, 0, 0, 0, 99})},
		"behind an unknown key":     {never, packetOf(tagPublicSub, []byte{4, 0x50, 0, 0, 0, 99, 0, 0})},
		"behind a user id":          {never, packetOf(tagUserID, []byte("x"))},
		"behind a private packet":   {never, packetOf(60, []byte("x"))},
		"behind the first user id":  {func(p rawPacket) bool { return p.tag == tagUserID }, nil},
		"behind the first subkey's": {func(p rawPacket) bool { return p.tag == tagPublicSub }, nil},
	}
	tried := 0
	for _, v := range all {
		if v.Expect != "reject" || v.Reason != DetailKeyRevoked {
			continue
		}
		ring, err := ReadRing(vectorFile(t, v.Keyring))
		if err != nil || len(ring.Certificates) == 0 {
			t.Fatalf("%s: %v", v.ID, err)
		}
		tried++
		data, sig := vectorFile(t, v.Data), vectorFile(t, v.Sig)
		for name, place := range places {
			var certs []byte
			for _, c := range ring.Certificates {
				certs = append(certs, moved(t, c.Raw, place.at, place.before)...)
			}
			_, err := Verify(data, sig, Trust{Certificates: certs, Fingerprints: ring.Fingerprints(), Now: now})
			if DetailOf(err) != DetailKeyRevoked {
				t.Errorf("%s, revocation %s: %v", v.ID, name, err)
			}
		}
	}
	if tried < 7 {
		t.Errorf("%d vectors are about revocations", tried)
	}
}

// What would take more copies than anybody needs is refused, and not tried.
func TestTooManyRevocations(t *testing.T) {
	k := newKey(t, "Ada", time.Unix(1.8e9, 0))
	revocation := packetOf(tagSignature, []byte{4, byte(packet.SigTypeCertificationRevocation), 0, 0})
	raw := append(k.Certificate().Raw, []byte(strings.Repeat(string(packetOf(tagUserID, []byte("x")))+string(revocation), 70))...)
	_, err := Certificate{k.Fingerprint(), raw}.Info(time.Unix(1.8e9, 0))
	if DetailOf(err) != DetailTooLarge {
		t.Error(err)
	}
}
