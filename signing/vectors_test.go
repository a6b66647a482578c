package signing

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

const vectorDir = "../test/vectors/openpgp"

// A vector is one entry of test/vectors/openpgp/index.json.
type vector struct {
	ID      string `json:"id"`
	Desc    string `json:"desc"`
	Keyring string `json:"keyring"`
	Sig     string `json:"sig"`
	Data    string `json:"data"`
	Expect  string `json:"expect"`  // accept or reject, in Install mode
	Archive string `json:"archive"` // the same in Archive mode, where it differs
	Reason  Detail `json:"reason"`
}

func (v vector) want(m Mode) string {
	if m == Archive && v.Archive != "" {
		return v.Archive
	}
	return v.Expect
}

func loadVectors(tb testing.TB) (time.Time, []vector) {
	tb.Helper()
	var index struct {
		Now     time.Time `json:"now"`
		Vectors []vector  `json:"vectors"`
	}
	if err := json.Unmarshal(vectorFile(tb, "index.json"), &index); err != nil {
		tb.Fatal(err)
	}
	if len(index.Vectors) < 100 {
		tb.Fatalf("only %d vectors", len(index.Vectors))
	}
	return index.Now, index.Vectors
}

func vectorFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(vectorDir, name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// everyone trusts each certificate of a keyring that can be read.
func everyone(certs []byte) []Fingerprint {
	var out []Fingerprint
	entities, err := openpgp.ReadKeyRing(bytes.NewReader(certs))
	if err != nil {
		return nil
	}
	for _, e := range entities {
		out = append(out, fingerprintOf(e.PrimaryKey.Fingerprint))
	}
	return out
}

func trustOf(tb testing.TB, v vector, m Mode, now time.Time) Trust {
	tb.Helper()
	certs := vectorFile(tb, v.Keyring)
	return Trust{Certificates: certs, Fingerprints: everyone(certs), Mode: m, Now: now}
}

func TestVectors(t *testing.T) {
	now, vectors := loadVectors(t)
	for _, v := range vectors {
		for _, m := range []Mode{Install, Archive} {
			t.Run(v.ID+"/"+m.String(), func(t *testing.T) {
				verdict, err := Verify(vectorFile(t, v.Data), vectorFile(t, v.Sig), trustOf(t, v, m, now))
				if v.want(m) == "accept" {
					checkAccepted(t, v, m, verdict, err)
				} else {
					checkRefused(t, v, verdict, err)
				}
			})
		}
	}
}

func checkAccepted(t *testing.T, v vector, m Mode, verdict Verdict, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: refused (%s): %v", v.Desc, DetailOf(err), err)
	}
	s := verdict.Signer()
	if !verdict.Trusted() || !s.Primary.Valid() || !s.Key.Valid() || s.Created.IsZero() || verdict.Mode != m {
		t.Errorf("%s: accepted with an incomplete verdict %+v", v.Desc, verdict)
	}
}

func checkRefused(t *testing.T, v vector, verdict Verdict, err error) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: accepted", v.Desc)
	}
	if verdict.Trusted() {
		t.Errorf("%s: refused with signers %+v", v.Desc, verdict)
	}
	if got := DetailOf(err); got != v.Reason {
		t.Errorf("%s: detail %q, want %q (%v: %v)", v.Desc, got, v.Reason, err, errors.Unwrap(err))
	}
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != abi.ErrUntrusted || e.Reason != v.Reason.Reason() || e.Msg == "" {
		t.Errorf("%s: error %#v, want untrusted with reason %q", v.Desc, err, v.Reason.Reason())
	}
}
