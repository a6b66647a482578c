package signing

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// ringOf returns a bare certificate of a test key and what it is called.
func ringOf(t *testing.T, keys ...*SecretKey) (raw []byte, fprs []Fingerprint) {
	t.Helper()
	for _, k := range keys {
		raw = append(raw, k.Certificate().Raw...)
		fprs = append(fprs, k.Fingerprint())
	}
	return raw, fprs
}

func TestReadRing(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	ada, bob := newKey(t, "Ada", now), newKey(t, "Bob", now)
	both, fprs := ringOf(t, ada, bob)
	v6 := vectorFile(t, "j-v6-curve25519.pgp")
	blocks := append(ada.Certificate().Armored(), bob.Certificate().Armored()...)
	unreadable := vectorFile(t, "m-no-selfsig.pgp")
	marker := packetOf(tagMarker, []byte("PGP"))
	for name, c := range map[string]struct {
		file []byte
		want []Fingerprint
	}{
		"nothing":                     {nil, nil},
		"white space":                 {[]byte(" \r\n\n"), nil},
		"one, bare":                   {ada.Certificate().Raw, fprs[:1]},
		"one, armored":                {ada.Certificate().Armored(), fprs[:1]},
		"two, bare":                   {both, fprs},
		"two in one block":            {enarmor(both, armorPublicKey), fprs},
		"two blocks":                  {blocks, fprs},
		"two blocks, CRLF":            {bytes.ReplaceAll(blocks, []byte("\n"), []byte("\r\n")), fprs},
		"two blocks, space around":    {[]byte("\n\n" + string(blocks) + "\n\n"), fprs},
		"one twice":                   {slices.Concat(ada.Certificate().Raw, ada.Certificate().Raw), []Fingerprint{fprs[0], fprs[0]}},
		"version 6 among version 4":   {slices.Concat(ada.Certificate().Raw, v6, bob.Certificate().Raw), []Fingerprint{fprs[0], everyone(v6)[0], fprs[1]}},
		"one that can't be read":      {slices.Concat(unreadable, ada.Certificate().Raw), fprs[:1]},
		"one that can't be read last": {slices.Concat(ada.Certificate().Raw, unreadable), fprs[:1]},
		"marker first":                {slices.Concat(marker, ada.Certificate().Raw), fprs[:1]},
	} {
		r, err := ReadRing(c.file)
		if err != nil || !slices.Equal(r.Fingerprints(), c.want) {
			t.Errorf("%s: %v, %v, want %v", name, r.Fingerprints(), err, c.want)
		}
	}
}

func TestReadRingRefuses(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	ada := newKey(t, "Ada", now)
	raw, armored := ada.Certificate().Raw, ada.Certificate().Armored()
	secret := newArmoredKey(t, "Ada", now)
	for name, c := range map[string]struct {
		file []byte
		want Detail
	}{
		"noise":                       {[]byte("noise"), DetailMalformed},
		"garbage after":               {slices.Concat(raw, []byte("garbage")), DetailMalformed},
		"garbage between":             {slices.Concat(raw, []byte{0}, raw), DetailMalformed},
		"cut off":                     {raw[:len(raw)-1], DetailMalformed},
		"text before a block":         {append([]byte("Ada's key:\n"), armored...), DetailMalformed},
		"text after a block":          {append(bytes.Clone(armored), "more"...), DetailMalformed},
		"text between blocks":         {slices.Concat(armored, []byte("more\n"), armored), DetailMalformed},
		"bare after a block":          {slices.Concat(armored, raw, armored), DetailMalformed},
		"signature between blocks":    {slices.Concat(armored, enarmor(nil, armorSignature), armored), DetailMalformed},
		"a block without an end":      {slices.Concat(armored, armored[:len(armored)/2]), DetailMalformed},
		"secret key":                  {mustDearmor(t, secret), DetailWrongCertificate},
		"armored secret key":          {secret, DetailMalformed},
		"secret key after a good one": {slices.Concat(raw, mustDearmor(t, secret)), DetailWrongCertificate},
		"file too large":              {make([]byte, MaxKeyringFile+1), DetailTooLarge},
		"certificates too large":      {bytes.Repeat(raw, MaxKeyring/len(raw)+1), DetailTooLarge},
		"too many packets":            {bytes.Repeat([]byte{0xca, 0}, maxKeyringPackets+1), DetailTooLarge},
	} {
		r, err := ReadRing(c.file)
		if DetailOf(err) != c.want || r.Raw != nil || r.Certificates != nil {
			t.Errorf("%s: %d certificates, detail %q (%v), want %q", name, len(r.Certificates), DetailOf(err), err, c.want)
		}
	}
}

// What the keyring holds beside the signer's certificate doesn't change a verdict,
// and a keyring at its limit is no work.
func TestSignerAmongMany(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	ada, bob, eve := newKey(t, "Ada", now), newKey(t, "Bob", now), newKey(t, "Ada <2>", now)
	sig, err := ada.Sign([]byte("x"), now)
	if err != nil {
		t.Fatal(err)
	}
	raw, fprs := ringOf(t, bob, eve)
	many := bytes.Repeat(raw, (MaxKeyring-len(ada.Certificate().Raw))/len(raw))
	for name, certs := range map[string][]byte{
		"alone":           ada.Certificate().Raw,
		"last of many":    slices.Concat(many, ada.Certificate().Raw),
		"first of many":   slices.Concat(ada.Certificate().Raw, many),
		"after a bad one": slices.Concat(vectorFile(t, "m-no-selfsig.pgp"), ada.Certificate().Raw),
	} {
		v, err := Verify([]byte("x"), sig, Trust{Certificates: certs, Fingerprints: append(fprs, ada.Fingerprint()), Now: now})
		if err != nil || v.Signer().Primary != ada.Fingerprint() {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if _, err := Verify([]byte("x"), sig, Trust{Certificates: many, Fingerprints: append(fprs, ada.Fingerprint()), Now: now}); DetailOf(err) != DetailUnknownSigner {
		t.Errorf("without the signer: %v", err)
	}
}

// A key is good from the second of its making to the second before it expires, and
// so is a signature that has an expiry of its own.
func TestEdgesOfLife(t *testing.T) {
	made := time.Unix(1.8e9, 0)
	key := newKeyFor(t, "Ada", made, 1000*time.Second)
	trust := Trust{Certificates: key.Certificate().Raw, Fingerprints: []Fingerprint{key.Fingerprint()}}
	early, err := key.Sign([]byte("x"), made)
	if err != nil {
		t.Fatal(err)
	}
	late, err := key.Sign([]byte("x"), made.Add(999*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sig  []byte
		mode Mode
		at   time.Duration // after the key was made
		want Detail
	}{
		{early, Install, 0, ""},
		{early, Install, 999 * time.Second, ""},
		{early, Install, 1000*time.Second - 1, ""},
		{early, Install, 1000 * time.Second, DetailKeyExpired},
		{early, Install, 1001 * time.Second, DetailKeyExpired},
		{early, Archive, 1000 * time.Second, ""},
		{early, Archive, 9000 * time.Second, ""},
		{early, Install, -Skew, ""},
		{early, Install, -Skew - time.Second, DetailSignatureFuture},
		{late, Install, 999 * time.Second, ""},
		{late, Install, 1000 * time.Second, DetailKeyExpired},
		{late, Archive, 1000 * time.Second, ""},
	} {
		trust.Mode, trust.Now = c.mode, made.Add(c.at)
		if _, err := Verify([]byte("x"), c.sig, trust); DetailOf(err) != c.want {
			t.Errorf("%s, %s after: detail %q (%v), want %q", c.mode, c.at, DetailOf(err), err, c.want)
		}
	}
	for _, at := range []time.Duration{-time.Second, 1000 * time.Second, 1001 * time.Second} {
		if _, err := key.Sign([]byte("x"), made.Add(at)); err == nil {
			t.Errorf("the key signs %s after it was made", at)
		}
	}
}

func FuzzReadRing(f *testing.F) {
	_, vectors := loadVectors(f)
	for _, v := range vectors {
		f.Add(vectorFile(f, v.Keyring))
	}
	armored := newArmoredKey(f, "Ada", time.Unix(1.8e9, 0))
	public, _, err := PublicKey(armored)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(bytes.Clone(public), public...))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := ReadRing(file)
		if err != nil {
			if DetailOf(err) == "" || r.Raw != nil {
				t.Errorf("error %v with %d bytes", err, len(r.Raw))
			}
			return
		}
		for _, c := range r.Certificates {
			if !c.Fingerprint.Valid() || !bytes.Contains(r.Raw, c.Raw) {
				t.Errorf("certificate %q isn't of the file", c.Fingerprint)
			}
		}
	})
}

func FuzzParseFingerprint(f *testing.F) {
	for _, s := range []string{"", "0x", strings.Repeat("ab", 20), strings.Repeat("AB:", 32), "0123456789abcdef"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseFingerprint(s)
		if err == nil != got.Valid() {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	})
}
