package keyring_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
	"github.com/drawbridge-mcp/drawbridge/signing/keyring"
)

var now = time.Unix(1.8e9, 0)

// adas is one key for all tests: making one is slow on purpose.
var adas = sync.OnceValues(func() ([]byte, error) {
	return signing.GenerateKey("Ada", now, func(signing.Fingerprint) ([]byte, error) { return []byte("a long passphrase"), nil })
})

func ada(t *testing.T) (armored []byte, c signing.Certificate) {
	t.Helper()
	armored, err := adas()
	if err != nil {
		t.Fatal(err)
	}
	i, err := signing.InspectKey(armored, now)
	if err != nil {
		t.Fatal(err)
	}
	return armored, i.Certificate
}

// vector returns the certificate of one of the shared vectors.
func vector(t *testing.T, id string) signing.Certificate {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "test", "vectors", "openpgp", id+".pgp"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := signing.ReadRing(file)
	if err != nil || len(r.Certificates) == 0 {
		t.Fatal(id, err)
	}
	return r.Certificates[0]
}

func open(t *testing.T) (*keyring.Ring, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "keys")
	return keyring.Open(dir), dir
}

func TestSecretKey(t *testing.T) {
	armored, cert := ada(t)
	r, dir := open(t)
	if list, err := r.Entries(); err != nil || len(list) != 0 {
		t.Fatalf("a new ring holds %v, %v", list, err)
	}
	if _, err := r.AddCertificate(cert, now); err != nil {
		t.Fatal(err)
	}
	e, err := r.AddSecret(armored, now)
	if err != nil {
		t.Fatal(err)
	}
	file, info, err := r.Read(e, now)
	if err != nil || !bytes.Equal(file, armored) || !info.Secret || info.Certificate.Fingerprint != cert.Fingerprint {
		t.Errorf("read %d bytes, %+v, %v", len(file), info, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("the directory holds %v, %v: the certificate is in the secret key's file", files, err)
	}
	for path, mode := range map[string]os.FileMode{e.Path: 0o600, dir: 0o700} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	for _, again := range []func() (keyring.Entry, error){
		func() (keyring.Entry, error) { return r.AddSecret(armored, now) },
		func() (keyring.Entry, error) { return r.AddCertificate(cert, now) },
	} {
		if got, err := again(); err != nil || got != e {
			t.Errorf("the same again: %+v, %v", got, err)
		}
	}
	if err := r.Remove(e.Fingerprint); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Find(string(e.Fingerprint)); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("removed, and found: %v", err)
	}
}

func TestAddRefuses(t *testing.T) {
	armored, cert := ada(t)
	r, dir := open(t)
	for name, file := range map[string][]byte{
		"a certificate":      cert.Armored(),
		"without passphrase": naked(t),
		"noise":              []byte("noise"),
		"nothing":            nil,
	} {
		if e, err := r.AddSecret(file, now); err == nil {
			t.Errorf("%s is kept as %s", name, e.Path)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("refused, and there are %v", files)
	}
	if _, err := r.AddSecret(armored, now); err != nil {
		t.Fatal(err)
	}
	spaced := append(bytes.Clone(armored), '\n')
	if _, err := r.AddSecret(spaced, now); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("another copy: %v", err)
	}
	if e, err := r.Find(string(cert.Fingerprint)); err != nil || !holds(t, e.Path, armored) {
		t.Errorf("the first copy is gone: %v", err)
	}
}

// naked is a secret key without a passphrase.
func naked(t *testing.T) []byte {
	t.Helper()
	e, err := openpgp.NewEntity("Ada", "", "", &packet.Config{Time: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := e.SerializePrivateWithoutSigning(&raw, nil); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

func TestReplace(t *testing.T) {
	armored, cert := ada(t)
	r, _ := open(t)
	if _, err := r.Replace(armored, now); err == nil {
		t.Error("a key that isn't there is replaced")
	}
	e, err := r.AddSecret(armored, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"the certificate": cert.Armored(), "noise": []byte("noise"), "another key": naked(t)} {
		if _, err := r.Replace(file, now); err == nil || !holds(t, e.Path, armored) {
			t.Errorf("%s takes its place: %v", name, err)
		}
	}
	renewed, err := signing.RenewKey(armored, now, 1000*time.Second, func(signing.Fingerprint) ([]byte, error) { return []byte("a long passphrase"), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Replace(renewed, now); err != nil || got != e || !holds(t, e.Path, renewed) {
		t.Errorf("%+v, %v", got, err)
	}
}

func holds(t *testing.T, path string, want []byte) bool {
	t.Helper()
	got, err := os.ReadFile(path)
	return err == nil && bytes.Equal(got, want)
}

// A copy without a revocation doesn't take the place of one that has it; the other
// way round it does.
func TestRevocationStays(t *testing.T) {
	r, _ := open(t)
	file, err := os.ReadFile("../../test/vectors/openpgp/m-revoked-copy-second.pgp")
	if err != nil {
		t.Fatal(err)
	}
	both, err := signing.ReadRing(file)
	if err != nil || len(both.Certificates) != 2 {
		t.Fatal(err)
	}
	good, revoked := both.Certificates[0], both.Certificates[1]
	for _, step := range []struct {
		c    signing.Certificate
		kept bool
	}{{good, true}, {revoked, true}, {good, false}, {revoked, true}} {
		_, err := r.AddCertificate(step.c, now)
		if (err == nil) != step.kept || err != nil && !errors.Is(err, abi.ErrUntrusted) {
			t.Errorf("%d bytes: %v", len(step.c.Raw), err)
		}
	}
	e, err := r.Find(string(good.Fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	if _, info, err := r.Read(e, now); err != nil || info.Problem != signing.DetailKeyRevoked {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestFind(t *testing.T) {
	r, _ := open(t)
	_, cert := ada(t)
	for _, c := range []signing.Certificate{cert, vector(t, "g-ed25519"), vector(t, "j-v6-curve25519")} {
		if _, err := r.AddCertificate(c, now); err != nil {
			t.Fatal(err)
		}
		fpr := string(c.Fingerprint)
		for _, name := range []string{fpr, strings.ToUpper(fpr), c.Fingerprint.Grouped(), "0x" + fpr, fpr[len(fpr)-16:], fpr[1:]} {
			if e, err := r.Find(name); err != nil || e.Fingerprint != c.Fingerprint || e.Secret {
				t.Errorf("%q: %+v, %v", name, e, err)
			}
		}
		for _, name := range []string{"", fpr[len(fpr)-15:], fpr[:16], fpr + "0", "g" + fpr[1:], "../" + fpr, strings.Repeat("0", 40), fpr[len(fpr)-16:] + ".key"} {
			if e, err := r.Find(name); err == nil {
				t.Errorf("%q finds %s", name, e.Fingerprint)
			}
		}
	}
}

// Two keys whose fingerprints end alike are never taken one for the other.
func TestAmbiguousName(t *testing.T) {
	r, dir := open(t)
	end := strings.Repeat("ab", 10)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"0", "1"} {
		if err := os.WriteFile(filepath.Join(dir, strings.Repeat(first, 20)+end+".asc"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Find(end); !errors.Is(err, abi.ErrInvalidArgs) || !strings.Contains(err.Error(), " or ") {
		t.Errorf("%v", err)
	}
	if e, err := r.Find(strings.Repeat("1", 20) + end); err != nil || e.Secret {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestReadRefuses(t *testing.T) {
	armored, cert := ada(t)
	for name, c := range map[string]struct {
		spoil func(path string) error
		code  abi.Code
	}{
		"others can read it": {func(p string) error { return os.Chmod(p, 0o644) }, abi.ErrForbidden},
		"a link": {func(p string) error {
			return errors.Join(os.WriteFile(p+".x", armored, 0o600), os.Remove(p), os.Symlink(p+".x", p))
		}, abi.ErrForbidden},
		"a directory":       {func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, abi.ErrForbidden},
		"empty":             {func(p string) error { return os.WriteFile(p, nil, 0o600) }, abi.ErrInvalidArgs},
		"another key":       {func(p string) error { return os.WriteFile(p, vector(t, "g-ed25519").Armored(), 0o600) }, abi.ErrUntrusted},
		"the certificate":   {func(p string) error { return os.WriteFile(p, cert.Armored(), 0o600) }, abi.ErrUntrusted},
		"cut off by a byte": {func(p string) error { return os.WriteFile(p, armored[:len(armored)-30], 0o600) }, abi.ErrInvalidArgs},
	} {
		r, _ := open(t)
		e, err := r.AddSecret(armored, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(e.Path); err != nil {
			t.Fatal(name, err)
		}
		if file, _, err := r.Read(e, now); !errors.Is(err, c.code) || file != nil {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// A copy that can't be read may carry a revocation: nothing takes its place.
func TestRevocationIsNotLostByAFileThatCantBeRead(t *testing.T) {
	file, err := os.ReadFile("../../test/vectors/openpgp/m-revoked-copy-second.pgp")
	if err != nil {
		t.Fatal(err)
	}
	both, err := signing.ReadRing(file)
	if err != nil || len(both.Certificates) != 2 {
		t.Fatalf("%d certificates, %v", len(both.Certificates), err)
	}
	good, revoked := both.Certificates[0], both.Certificates[1]
	for name, spoil := range map[string]func(path string) error{
		"others may write it": func(path string) error { return os.Chmod(path, 0o666) },
		"damaged":             func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
	} {
		r, _ := open(t)
		e, err := r.AddCertificate(revoked, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(e.Path); err != nil {
			t.Fatal(err)
		}
		if _, err := r.AddCertificate(good, now); !errors.Is(err, abi.ErrUntrusted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
