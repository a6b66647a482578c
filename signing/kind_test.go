package signing

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLooksLike(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("../test/vectors/openpgp", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	sig, cert := read("g-ed25519.sig"), read("g-ed25519.pgp")
	armored := enarmor(sig, armorSignature)
	for name, c := range map[string]struct {
		file []byte
		want Kind
	}{
		"nothing":                 {nil, KindEmpty},
		"white space":             {[]byte(" \r\n\n"), KindEmpty},
		"text":                    {[]byte("hello"), KindOther},
		"json":                    {read("data.json"), KindOther},
		"html":                    {[]byte("<!doctype html><p>-----BEGIN PGP SIGNATURE-----"), KindOther},
		"signature":               {sig, KindSignature},
		"signature, cut off":      {sig[:len(sig)-1], KindCutOff},
		"two, the second cut off": {bytes.Join([][]byte{sig, sig[:9]}, nil), KindCutOff},
		"armored":                 {armored, KindSignature},
		"armored, cut off":        {armored[:len(armored)/2], KindCutOff},
		"armor of Windows":        {bytes.ReplaceAll(armored, []byte("\n"), []byte("\r\n")), KindSignature},
		"certificate":             {cert, KindCertificate},
		"certificate, cut off":    {cert[:20], KindCutOff},
		"armored certificate":     {enarmor(cert, armorPublicKey), KindCertificate},
		"armored secret key":      {enarmor(cert, armorSecretKey), KindSecretKey},
		"message":                 {enarmor(sig, "PGP MESSAGE"), KindMessage},
		"bare message":            {[]byte{0xa3, 1, 2, 3}, KindMessage},
		"clearsigned":             {append([]byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nx\n"), armored...), KindClearsigned},
		"clearsigned, cut off":    {[]byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nx\n"), KindCutOff},
		"behind a marker":         {append([]byte{0xca, 3, 'P', 'G', 'P'}, sig...), KindSignature},
		"picture":                 {[]byte("\x89PNG\r\n\x1a\n"), KindCutOff}, // tag 2 in the old format
		"some binary":             {[]byte("\xfe\xed\xfa\xce"), KindOther},
	} {
		if got := LooksLike(c.file); got != c.want {
			t.Errorf("%s: it is %s, want %s", name, got, c.want)
		}
	}
}

func TestCheckSignatureFile(t *testing.T) {
	sig, err := os.ReadFile("../test/vectors/openpgp/g-ed25519.sig")
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckSignatureFile(sig); err != nil {
		t.Errorf("a signature: %v", err)
	}
	for text, want := range map[string]Detail{"": DetailMalformed, "hello": DetailMalformed, string(sig[:30]): DetailMalformed, strings.Repeat("x", MaxSignatureFile+1): DetailTooLarge} {
		if err := CheckSignatureFile([]byte(text)); DetailOf(err) != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

// Whatever a file holds, its kind decides nothing: Verify refuses by itself.
func FuzzLooksLike(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----"))
	f.Add([]byte{0xc2, 255, 0, 0, 0, 1, 4})
	f.Fuzz(func(t *testing.T, file []byte) {
		kind := LooksLike(file)
		if CheckSignatureFile(file) == nil && kind != KindSignature {
			t.Errorf("a signature looks like %s", kind)
		}
	})
}
