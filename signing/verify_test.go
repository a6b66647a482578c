package signing

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestZeroVerdictIsUntrusted(t *testing.T) {
	var v Verdict
	if v.Trusted() || v.Signer() != (Signer{}) || v.Signer().Primary.Valid() {
		t.Errorf("the zero verdict names %+v", v.Signer())
	}
}

func TestVerifyWithoutTrust(t *testing.T) {
	now, _ := loadVectors(t)
	data, sig, certs := vectorFile(t, "data.json"), vectorFile(t, "g-ed25519.sig"), vectorFile(t, "g-ed25519.pgp")
	all := everyone(certs)
	for name, c := range map[string]struct {
		trust Trust
		want  Detail
	}{
		"no fingerprints":        {Trust{Certificates: certs, Now: now}, DetailUnknownSigner},
		"no certificates":        {Trust{Fingerprints: all, Now: now}, DetailUnknownSigner},
		"no time":                {Trust{Certificates: certs, Fingerprints: all}, DetailSignatureFuture},
		"another fingerprint":    {Trust{Certificates: certs, Fingerprints: []Fingerprint{"00"}, Now: now}, DetailUnknownSigner},
		"key id only":            {Trust{Certificates: certs, Fingerprints: []Fingerprint{all[0][24:]}, Now: now}, DetailUnknownSigner},
		"upper case":             {Trust{Certificates: certs, Fingerprints: []Fingerprint{Fingerprint(strings.ToUpper(string(all[0])))}, Now: now}, DetailUnknownSigner},
		"certificates are noise": {Trust{Certificates: []byte("noise"), Fingerprints: all, Now: now}, DetailMalformed},
	} {
		if _, err := Verify(data, sig, c.trust); DetailOf(err) != c.want {
			t.Errorf("%s: detail %q (%v), want %q", name, DetailOf(err), err, c.want)
		}
	}
	if _, err := Verify(data, sig, Trust{Certificates: certs, Fingerprints: all, Now: now}); err != nil {
		t.Fatalf("with trust: %v", err)
	}
}

func TestLimitsComeFirst(t *testing.T) {
	big := bytes.Repeat([]byte("x"), MaxData+1)
	for name, err := range map[string]error{
		"data":      second(Verify(big, nil, Trust{})),
		"signature": second(Verify(nil, big[:MaxSignatureFile+1], Trust{})),
		"keyring":   second(Verify(nil, nil, Trust{Certificates: big})),
	} {
		if DetailOf(err) != DetailTooLarge {
			t.Errorf("%s: %v, want too-large", name, err)
		}
	}
}

func second(_ Verdict, err error) error { return err }

func TestThresholdCountsPeople(t *testing.T) {
	now, _ := loadVectors(t)
	data := vectorFile(t, "data.json")
	both := append(vectorFile(t, "g-two-known-first.pgp"), vectorFile(t, "g-two-unknown-first.pgp")...)
	trust := Trust{Certificates: both, Fingerprints: everyone(both), Threshold: 2, Now: now}
	v, err := Verify(data, vectorFile(t, "g-two-known-first.sig"), trust)
	if err != nil || len(v.Signers) != 2 || v.Signers[0].Primary >= v.Signers[1].Primary {
		t.Fatalf("two signers: %+v, %v", v, err)
	}
	trust.Fingerprints = trust.Fingerprints[:1]
	if v, err := Verify(data, vectorFile(t, "g-two-known-first.sig"), trust); err == nil || v.Trusted() {
		t.Errorf("one trusted of two signers reached a threshold of 2: %+v", v)
	}

	twice := vectorFile(t, "m-twice-same.pgp")
	_, err = Verify(data, vectorFile(t, "m-twice-same.sig"),
		Trust{Certificates: twice, Fingerprints: everyone(twice), Threshold: 2, Now: now})
	if DetailOf(err) != DetailThreshold || !isReason(err, abi.ReasonUnsigned) {
		t.Errorf("the same signer twice: %v, want threshold", err)
	}
}

// A changed bit is refused, or it was in a part that isn't signed, and then
// signer and time are the same as before.
func TestBitFlips(t *testing.T) {
	now, vectors := loadVectors(t)
	rng := rand.New(rand.NewPCG(1, 2))
	flips, survived := 0, 0
	for _, v := range vectors {
		sig := vectorFile(t, v.Sig)
		if v.Expect != "accept" || len(sig) > 600 {
			continue
		}
		data, trust := vectorFile(t, v.Data), trustOf(t, v, Install, now)
		want := second2(t, data, sig, trust)
		for range 50 {
			bad := flip(sig, rng.IntN(len(sig)*8))
			flips++
			if got, err := Verify(data, bad, trust); err == nil {
				survived++
				if got.Signer() != want {
					t.Errorf("%s: a flipped bit gives %+v, want %+v", v.ID, got.Signer(), want)
				}
			}
			if _, err := Verify(flip(data, rng.IntN(len(data)*8)), sig, trust); err == nil {
				t.Errorf("%s: data with a flipped bit is accepted", v.ID)
			}
		}
	}
	if flips < 2000 || survived == flips {
		t.Errorf("%d flips of which %d survived: the test shows nothing", flips, survived)
	}
}

func second2(t *testing.T, data, sig []byte, trust Trust) Signer {
	t.Helper()
	v, err := Verify(data, sig, trust)
	if err != nil {
		t.Fatal(err)
	}
	return v.Signer()
}

func flip(b []byte, bit int) []byte {
	out := bytes.Clone(b)
	out[bit/8] ^= 1 << (bit % 8)
	return out
}

func TestTruncatedSignatures(t *testing.T) {
	now, _ := loadVectors(t)
	data := vectorFile(t, "data.json")
	for _, id := range []string{"g-ed25519", "m-rsa", "m-armor", "c-v6-ecdsa", "g-sub-ok"} {
		certs, sig := vectorFile(t, id+".pgp"), vectorFile(t, id+".sig")
		trust := Trust{Certificates: certs, Fingerprints: everyone(certs), Now: now}
		for n := range len(bytes.TrimSpace(sig)) {
			if _, err := Verify(data, sig[:n], trust); err == nil {
				t.Errorf("%s cut to %d of %d bytes is accepted", id, n, len(sig))
			}
		}
	}
}

// The library caches verdicts inside parsed certificates; ours must not depend
// on what was asked before.
func TestVerdictDoesNotDependOnOrder(t *testing.T) {
	now, _ := loadVectors(t)
	data, sig, certs := vectorFile(t, "data.json"), vectorFile(t, "g-exp-before-now.sig"), vectorFile(t, "g-exp-before-now.pgp")
	trust := Trust{Certificates: certs, Fingerprints: everyone(certs), Now: now}
	for range 2 {
		trust.Mode = Install
		if _, err := Verify(data, sig, trust); DetailOf(err) != DetailKeyExpired {
			t.Errorf("install: %v, want key-expired", err)
		}
		trust.Mode = Archive
		if _, err := Verify(data, sig, trust); err != nil {
			t.Errorf("archive: %v", err)
		}
	}
}

func TestParallelVerify(t *testing.T) {
	now, _ := loadVectors(t)
	data, sig, certs := vectorFile(t, "data.json"), vectorFile(t, "g-sub-ok.sig"), vectorFile(t, "g-sub-ok.pgp")
	trust := Trust{Certificates: certs, Fingerprints: everyone(certs), Now: now}
	done := make(chan error)
	for range 64 {
		go func() { done <- second(Verify(data, sig, trust)) }()
	}
	for range 64 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestSkew(t *testing.T) {
	key := newKey(t, "Ada", time.Unix(1.8e9, 0))
	sig, err := key.Sign([]byte("x"), time.Unix(1.8e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	trust := Trust{Certificates: key.Certificate().Raw, Fingerprints: []Fingerprint{key.Fingerprint()}}
	for ahead, want := range map[time.Duration]Detail{0: "", Skew: "", Skew + time.Second: DetailSignatureFuture} {
		trust.Now = time.Unix(1.8e9, 0).Add(-ahead)
		if _, err := Verify([]byte("x"), sig, trust); DetailOf(err) != want {
			t.Errorf("dated %s ahead: %v, want detail %q", ahead, err, want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	now, vectors := loadVectors(f)
	for _, v := range vectors {
		if sig := vectorFile(f, v.Sig); len(sig) < 10_000 {
			f.Add(vectorFile(f, v.Keyring), sig)
		}
	}
	data := vectorFile(f, "data.json")
	f.Fuzz(func(t *testing.T, certs, sig []byte) {
		if len(certs) > 20_000 || len(sig) > 20_000 {
			return
		}
		trusted := everyone(certs)
		v, err := Verify(data, sig, Trust{Certificates: certs, Fingerprints: trusted, Now: now})
		if (err == nil) != v.Trusted() {
			t.Errorf("verdict %+v with error %v", v, err)
		}
		if err != nil && DetailOf(err) == "" {
			t.Errorf("error without a detail: %v", err)
		}
	})
}

// FuzzForge changes the signature but not the key: none of the seeds is by it.
func FuzzForge(f *testing.F) {
	now, vectors := loadVectors(f)
	for _, v := range vectors {
		if sig := vectorFile(f, v.Sig); len(sig) < 3000 && v.Expect != "accept" {
			f.Add(sig)
		}
	}
	certs, data := vectorFile(f, "g-p256.pgp"), vectorFile(f, "data.json")
	trust := Trust{Certificates: certs, Fingerprints: everyone(certs), Now: now, Mode: Archive}
	f.Fuzz(func(t *testing.T, sig []byte) {
		if v, err := Verify(data, sig, trust); err == nil {
			t.Fatalf("forged %+v", v)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	now, _ := loadVectors(b)
	for _, id := range []string{"g-ed25519", "g-sub-ok", "g-rsa3072", "c-v6-mldsa65"} {
		b.Run(id, func(b *testing.B) {
			data, sig, certs := vectorFile(b, "data.json"), vectorFile(b, id+".sig"), vectorFile(b, id+".pgp")
			trust := Trust{Certificates: certs, Fingerprints: everyone(certs), Now: now}
			for b.Loop() {
				if _, err := Verify(data, sig, trust); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
