package signing

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func isReason(err error, r abi.Reason) bool {
	var e *abi.Error
	return errors.As(err, &e) && e.Reason == r
}

func says(s string) Passphrase { return func(Fingerprint) ([]byte, error) { return []byte(s), nil } }

// made keeps the keys of the tests, because making and opening one is slow on
// purpose.
var made = struct {
	sync.Mutex
	armored map[string][]byte
	opened  map[string]*SecretKey
}{armored: map[string][]byte{}, opened: map[string]*SecretKey{}}

func newArmoredKey(tb testing.TB, userID string, now time.Time) []byte {
	tb.Helper()
	return newArmoredKeyFor(tb, userID, now, 0)
}

func newArmoredKeyFor(tb testing.TB, userID string, now time.Time, life time.Duration) []byte {
	tb.Helper()
	made.Lock()
	defer made.Unlock()
	id := userID + now.String() + life.String()
	if made.armored[id] == nil {
		armored, err := GenerateKeyFor(userID, now, life, says("a long passphrase"))
		if err != nil {
			tb.Fatal(err)
		}
		made.armored[id] = armored
	}
	return made.armored[id]
}

func newKey(tb testing.TB, userID string, now time.Time) *SecretKey {
	tb.Helper()
	return newKeyFor(tb, userID, now, 0)
}

func newKeyFor(tb testing.TB, userID string, now time.Time, life time.Duration) *SecretKey {
	tb.Helper()
	armored := newArmoredKeyFor(tb, userID, now, life)
	made.Lock()
	defer made.Unlock()
	id := userID + now.String() + life.String()
	if made.opened[id] == nil {
		k, err := OpenSecretKey(armored, says("a long passphrase"))
		if err != nil {
			tb.Fatal(err)
		}
		made.opened[id] = k
	}
	return made.opened[id]
}

func TestConcurrentSign(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	key := newKey(t, "Ada", now)
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := key.Sign([]byte("x"), now)
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestSignAndVerify(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	armored := newArmoredKey(t, "Ada", now)
	sig, err := Sign([]byte("release"), armored, now, says("a long passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	public, fpr, err := PublicKey(armored)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ReadCertificate(public, fpr)
	if err != nil {
		t.Fatal(err)
	}
	trust := Trust{Certificates: cert.Raw, Fingerprints: []Fingerprint{fpr}, Now: now}
	v, err := Verify([]byte("release"), sig, trust)
	if want := (Signer{fpr, fpr, now.UTC()}); err != nil || v.Signer() != want {
		t.Errorf("got %+v, %v, want %+v", v, err, want)
	}
	if _, err := Verify([]byte("release!"), sig, trust); !isReason(err, abi.ReasonBadSignature) {
		t.Errorf("other data: %v, want bad_signature", err)
	}
}

func TestSecretKeyIsEncrypted(t *testing.T) {
	armored := newArmoredKey(t, "Ada", time.Unix(1.8e9, 0))
	for _, wrong := range []string{"", "a long passphrasE"} {
		if _, err := OpenSecretKey(armored, says(wrong)); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("passphrase %q: %v, want invalid_args", wrong, err)
		}
	}
	no := errors.New("no terminal")
	if _, err := OpenSecretKey(armored, func(Fingerprint) ([]byte, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("failing prompt: %v", err)
	}
}

func TestPassphraseIsWiped(t *testing.T) {
	pass := []byte("a long passphrase")
	if _, err := OpenSecretKey(newArmoredKey(t, "Ada", time.Unix(1.8e9, 0)),
		func(Fingerprint) ([]byte, error) { return pass, nil }); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pass, make([]byte, len(pass))) {
		t.Errorf("the passphrase is still there: %q", pass)
	}
}

func TestGenerateKeyRefuses(t *testing.T) {
	for name, c := range map[string]struct{ userID, pass string }{
		"empty passphrase":    {"Ada", ""},
		"empty user id":       {" ", "x"},
		"control character":   {"Ada\x1b[2J", "x"},
		"line break":          {"Ada\nBob", "x"},
		"open bracket":        {"Ada <ada@example.org", "x"},
		"text after brackets": {"Ada <ada@example.org> x", "x"},
		"too long":            {strings.Repeat("a", maxUserID+1), "x"},
	} {
		if _, err := GenerateKey(c.userID, time.Unix(1.8e9, 0), says(c.pass)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestOpenSecretKeyRefuses(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	good := newArmoredKey(t, "Ada", now)
	public, _, err := PublicKey(good)
	if err != nil {
		t.Fatal(err)
	}
	two := append(mustDearmor(t, good), mustDearmor(t, newArmoredKey(t, "Bob", now))...)
	for name, file := range map[string][]byte{
		"empty":      nil,
		"noise":      []byte("noise"),
		"public key": public,
		"truncated":  good[:len(good)/2],
		"two keys":   enarmor(two, armorSecretKey),
		"too large":  bytes.Repeat([]byte("x"), MaxSecretKey+1),
	} {
		if _, err := OpenSecretKey(file, says("a long passphrase")); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%s: %v, want invalid_args", name, err)
		}
	}
}

func mustDearmor(t *testing.T, armored []byte) []byte {
	t.Helper()
	raw, err := dearmor(armored, armorSecretKey)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(raw)
}

func TestJoin(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	a, b := newKey(t, "Ada", now), newKey(t, "Bob", now)
	sa, _ := a.Sign([]byte("root"), now)
	sb, _ := b.Sign([]byte("root"), now)
	both, err := Join(sa, sb)
	if err != nil {
		t.Fatal(err)
	}
	trust := Trust{
		Certificates: append(bytes.Clone(a.Certificate().Raw), b.Certificate().Raw...),
		Fingerprints: []Fingerprint{a.Fingerprint(), b.Fingerprint()}, Threshold: 2, Now: now,
	}
	if v, err := Verify([]byte("root"), both, trust); err != nil || len(v.Signers) != 2 {
		t.Errorf("joined: %+v, %v", v, err)
	}
	if _, err := Verify([]byte("root"), sa, trust); DetailOf(err) != DetailThreshold {
		t.Errorf("one of two: %v, want threshold", err)
	}
	if _, err := Join(); err == nil {
		t.Error("joining nothing is accepted")
	}
	if _, err := Join(sa, []byte("noise")); err == nil {
		t.Error("joining noise is accepted")
	}
}

func TestReadCertificateRefuses(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	armored := newArmoredKey(t, "Ada", now)
	public, fpr, err := PublicKey(armored)
	if err != nil {
		t.Fatal(err)
	}
	other := newKey(t, "Bob", now)
	cert, _ := ReadCertificate(public, fpr)
	revoker := vectorFile(t, "g-desig-revoked.pgp")
	for name, c := range map[string]struct {
		file []byte
		want Fingerprint
	}{
		"another key":        {other.Certificate().Armored(), fpr},
		"two certificates":   {append(bytes.Clone(cert.Raw), other.Certificate().Raw...), fpr},
		"secret key":         {mustDearmor(t, armored), fpr},
		"armored secret key": {armored, fpr},
		"empty":              {nil, fpr},
		"truncated":          {cert.Raw[:len(cert.Raw)-3], fpr},
		"trailing bytes":     {append(bytes.Clone(cert.Raw), 0), fpr},
		"too large":          {bytes.Repeat([]byte{0x99}, MaxCertificate+1), fpr},
		"many packets":       {append(bytes.Clone(cert.Raw), bytes.Repeat([]byte{0xca, 0}, maxCertificatePackets)...), fpr},
		"designated revoker": {revoker, everyone(revoker)[0]},
	} {
		if got, err := ReadCertificate(c.file, c.want); err == nil || got.Fingerprint != "" || got.Raw != nil {
			t.Errorf("%s: %+v, %v", name, got.Fingerprint, err)
		} else if !errors.Is(err, abi.ErrUntrusted) {
			t.Errorf("%s: %v, want untrusted", name, err)
		}
	}
}

func FuzzReadCertificate(f *testing.F) {
	_, vectors := loadVectors(f)
	for _, v := range vectors {
		f.Add(vectorFile(f, v.Keyring))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, fpr := range append(everyone(file), "0123456789abcdef0123456789abcdef01234567") {
			if c, err := ReadCertificate(file, fpr); err == nil && c.Fingerprint != fpr {
				t.Errorf("asked for %s, got %s", fpr, c.Fingerprint)
			}
		}
	})
}

func FuzzOpenSecretKey(f *testing.F) {
	f.Add(newArmoredKey(f, "Ada", time.Unix(1.8e9, 0)))
	f.Fuzz(func(_ *testing.T, file []byte) {
		if _, fpr, err := PublicKey(file); err == nil && !fpr.Valid() {
			panic("BUG: key without a fingerprint")
		}
	})
}

func TestParseFingerprint(t *testing.T) {
	const want = Fingerprint("0123456789abcdef0123456789abcdef01234567")
	for _, s := range []string{string(want), strings.ToUpper(string(want)), "0x" + string(want), want.Grouped(), " " + string(want) + "\n"} {
		if got, err := ParseFingerprint(s); err != nil || got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if f, err := ParseFingerprint(strings.Repeat("aB", 32)); err != nil || len(f) != 64 {
		t.Errorf("64 digits: %q, %v", f, err)
	}
	for _, s := range []string{"", "0123456789abcdef", string(want)[1:], string(want) + "0", "g" + string(want)[1:], "../" + string(want)[3:], strings.Repeat("é", 20)} {
		if got, err := ParseFingerprint(s); err == nil || got != "" {
			t.Errorf("%q is accepted as %q", s, got)
		}
	}
}

// gpgHome returns a gpg command in a home of its own, or skips.
func gpgHome(t *testing.T) func(args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath("gpg")
	if err != nil {
		t.Skip("not run: gpg isn't installed")
	}
	home, err := os.MkdirTemp("", "gpg") //nolint:usetesting // the agent's socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"--batch", "--quiet"}, args...)...)
		cmd.Env = []string{"GNUPGHOME=" + home, "PATH=" + os.Getenv("PATH")}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("gpg %v: %v\n%s", args, err, stderr.Bytes())
		}
		return out
	}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "all") //nolint:noctx // the test's context has ended here
		kill.Env = []string{"GNUPGHOME=" + home, "PATH=" + os.Getenv("PATH")}
		_ = kill.Run()
		_ = os.RemoveAll(home)
	})
	return run
}

func writeTemp(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGnuPGVerifiesOurs(t *testing.T) {
	gpg := gpgHome(t)
	now := time.Now().Add(-time.Minute).Truncate(time.Second)
	key := newKey(t, "Ada <ada@example.org>", now)
	sig, err := key.Sign([]byte("release"), now)
	if err != nil {
		t.Fatal(err)
	}
	gpg("--import", writeTemp(t, "key.asc", key.Certificate().Armored()))
	out := gpg("--status-fd", "1", "--verify", writeTemp(t, "release.asc", sig), writeTemp(t, "release", []byte("release")))
	if want := "VALIDSIG " + strings.ToUpper(string(key.Fingerprint())); !bytes.Contains(out, []byte(want)) || !bytes.Contains(out, []byte("GOODSIG")) {
		t.Errorf("gpg says\n%s\nwant %s", out, want)
	}
}

func TestWeVerifyGnuPGs(t *testing.T) {
	gpg := gpgHome(t)
	gpg("--passphrase", "", "--quick-generate-key", "Eve <eve@example.org>", "ed25519", "sign", "never")
	certs := gpg("--armor", "--export")
	secret := gpg("--armor", "--pinentry-mode", "loopback", "--passphrase", "", "--export-secret-keys")
	path := writeTemp(t, "release", []byte("release"))
	gpg("--armor", "--detach-sign", path)
	sig, err := os.ReadFile(path + ".asc")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := dearmor(certs, armorPublicKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ReadCertificate(certs, everyone(raw)[0])
	if err != nil {
		t.Fatal(err)
	}
	trust := Trust{Certificates: cert.Raw, Fingerprints: []Fingerprint{cert.Fingerprint}, Now: time.Now()}
	if _, err := Verify([]byte("release"), sig, trust); err != nil {
		t.Errorf("gpg's signature: %v", err)
	}
	ours, err := Sign([]byte("more"), secret, time.Now(), func(Fingerprint) ([]byte, error) {
		return nil, errors.New("asked for a passphrase that there isn't")
	})
	if err != nil {
		t.Fatalf("signing with gpg's key: %v", err)
	}
	if _, err := Verify([]byte("more"), ours, trust); err != nil {
		t.Errorf("our signature with gpg's key: %v", err)
	}
}

// gpg replaces the self signatures when it extends an expiry. What was signed
// before must stay good, for a subkey too.
func TestRefreshedSubkey(t *testing.T) {
	gpg := gpgHome(t)
	at := func(date string, args ...string) []byte {
		return gpg(append([]string{"--faked-system-time", date + "T000000", "--passphrase", ""}, args...)...)
	}
	at("20200101", "--quick-generate-key", "Eve <eve@example.org>", "ed25519", "cert", "never")
	listing := string(at("20200101", "--with-colons", "--list-keys"))
	_, after, _ := strings.Cut(listing, "\nfpr:::::::::")
	fpr, err := ParseFingerprint(after[:40])
	if err != nil {
		t.Fatal(err)
	}
	at("20200101", "--quick-add-key", string(fpr), "ed25519", "sign", "2y")
	path := writeTemp(t, "release", []byte("release"))
	at("20200201", "--detach-sign", path)
	at("20210101", "--quick-set-expire", string(fpr), "seconds=315360000", "*")
	cert, err := ReadCertificate(at("20210101", "--export"), fpr)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := os.ReadFile(path + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	trust := Trust{Certificates: cert.Raw, Fingerprints: []Fingerprint{fpr}}
	for date, want := range map[string]Detail{"2025-01-01": "", "2032-01-01": DetailKeyExpired} {
		trust.Now, _ = time.Parse(time.DateOnly, date)
		v, err := Verify([]byte("release"), sig, trust)
		if DetailOf(err) != want {
			t.Errorf("at %s: %v (%v), want detail %q", date, err, errors.Unwrap(err), want)
		}
		if err == nil && v.Signer().Key == v.Signer().Primary {
			t.Error("the subkey didn't sign")
		}
	}
	trust.Now, _ = time.Parse(time.DateOnly, "2025-01-01")
	if _, err := Verify([]byte("Release"), sig, trust); DetailOf(err) != DetailBadSignature {
		t.Errorf("other data: %v, want bad-signature", err)
	}
}
