package gpg

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A home is a GnuPG home of its own with a real gpg.
type home struct {
	t   *testing.T
	dir string
	Program
}

func newHome(t *testing.T, files map[string]string) *home {
	t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("not run: gpg isn't installed")
	}
	dir, err := os.MkdirTemp("", "gpg") //nolint:usetesting // the agent's socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "HOME", dir)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Find(func(name string) string {
		return map[string]string{"GNUPGHOME": dir, "PATH": os.Getenv("PATH")}[name]
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t, dir, p}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "all") //nolint:noctx // the test's context has ended here
		kill.Env = p.Env
		_ = kill.Run()
		_ = os.RemoveAll(dir)
	})
	return h
}

// gpg runs gpg as its user would.
func (h *home) gpg(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), h.Path, append([]string{"--no-options", "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback"}, args...)...)
	cmd.Env = h.Env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("gpg %v: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// generate makes a key and returns the fingerprints of primary key and subkeys.
func (h *home) generate(passphrase, algorithm, usage string, more ...string) []signing.Fingerprint {
	h.t.Helper()
	before := h.fingerprints()
	h.gpg(append(append([]string{"--passphrase", passphrase}, more...), "--quick-generate-key", "Eve <eve@example.org>", algorithm, usage)...)
	return slices.DeleteFunc(h.fingerprints(), func(f signing.Fingerprint) bool { return slices.Contains(before, f) })
}

func (h *home) fingerprints() (list []signing.Fingerprint) {
	h.t.Helper()
	for line := range strings.Lines(h.gpg("--with-colons", "--with-subkey-fingerprint", "--list-keys")) {
		if f := strings.Split(line, ":"); f[0] == "fpr" {
			fpr, err := signing.ParseFingerprint(f[9])
			if err != nil {
				h.t.Fatal(err)
			}
			list = append(list, fpr)
		}
	}
	return list
}

// sign opens a key and signs with it.
func (h *home) sign(fpr signing.Fingerprint) ([]byte, error) {
	h.t.Helper()
	k, err := h.Key(h.t.Context(), fpr)
	if err != nil {
		return nil, err
	}
	return k.Sign([]byte("release\r\n"), time.Now())
}

// through makes a program that takes gpg's place: a shell script, in which GPG is
// the real one.
func (h *home) through(script string) {
	h.t.Helper()
	path := filepath.Join(h.dir, "stand-in")
	text := "#!/bin/sh\nGPG='" + h.Path + "'\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		h.t.Fatal(err)
	}
	h.Path = path
}

func wantCode(t *testing.T, what string, err error, code abi.Code, text string) {
	t.Helper()
	if !errors.Is(err, code) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, text)
	}
}

func TestSign(t *testing.T) {
	h := newHome(t, map[string]string{"gpg.conf": "textmode\ndigest-algo SHA1\nallow-weak-digest-algos\ncomment hello\ndefault-key 0123456789ABCDEF\n"})
	fpr := h.generate("", "ed25519", "sign")[0]
	k, err := h.Key(t.Context(), fpr)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := k.Sign([]byte("release\r\n"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	trust := signing.Trust{Certificates: k.Certificate().Raw, Fingerprints: []signing.Fingerprint{fpr}, Now: time.Now()}
	if v, err := signing.Verify([]byte("release\r\n"), sig, trust); err != nil || v.Signer().Primary != fpr {
		t.Errorf("%+v, %v", v, err)
	}
	if strings.Contains(string(sig), "Comment") {
		t.Errorf("gpg.conf was read:\n%s", sig)
	}
	_, err = k.Sign([]byte("x"), time.Now().Add(-time.Hour))
	wantCode(t, "gpg's clock runs ahead", err, abi.ErrUntrusted, "in the future")
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := h.Key(ended, fpr); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestSubkey(t *testing.T) {
	h := newHome(t, nil)
	h.gpg("--passphrase", "", "--quick-generate-key", "Eve <eve@example.org>", "ed25519", "cert")
	primary := h.fingerprints()[0]
	_, err := h.sign(primary)
	wantCode(t, "nothing that signs", err, abi.ErrInvalidArgs, "wrong-usage")
	h.gpg("--passphrase", "", "--quick-add-key", string(primary), "ed25519", "sign")
	sub := h.fingerprints()[1]
	if _, err := h.sign(primary); err != nil {
		t.Error(err)
	}
	_, err = h.sign(sub)
	wantCode(t, "by the subkey's fingerprint", err, abi.ErrInvalidArgs, "is a subkey")
}

// pinentry answers as a person at one would; HOME is the directory of the test.
const pinentry = `#!/bin/sh
echo OK
while read -r line; do
	case "$line" in
	GETPIN) if [ "$(cat HOME/pin)" = cancel ]; then echo "ERR 83886179 Operation cancelled"; else echo "D $(cat HOME/pin)"; echo OK; fi ;;
	BYE) echo OK; exit ;;
	*) echo OK ;;
	esac
done
`

func TestPassphraseThroughTheAgent(t *testing.T) {
	h := newHome(t, map[string]string{"gpg-agent.conf": "pinentry-program HOME/pinentry\ns2k-count 65536\n", "pinentry": pinentry, "pin": "four words"})
	fpr := h.generate("four words", "ed25519", "sign")[0]
	kill := exec.CommandContext(t.Context(), "gpgconf", "--kill", "gpg-agent") // it has the passphrase
	kill.Env = h.Env
	if err := kill.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pin  string
		code abi.Code
		text string
	}{
		{"cancel", abi.ErrConfirmationDenied, "no passphrase or PIN was given"},
		{"four words", "", ""},
	} {
		if err := os.WriteFile(filepath.Join(h.dir, "pin"), []byte(c.pin), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := h.sign(fpr)
		if c.code != "" {
			wantCode(t, c.pin, err, c.code, c.text)
		} else if err != nil {
			t.Errorf("the right one: %v", err)
		}
	}
}

func TestKeyRefuses(t *testing.T) {
	h := newHome(t, nil)
	other := newHome(t, nil)
	mine := h.generate("", "ed25519", "sign")[0]
	theirs := other.generate("", "ed25519", "sign")[0]
	path := filepath.Join(h.dir, "theirs")
	if err := os.WriteFile(path, []byte(other.gpg("--armor", "--export")), 0o600); err != nil {
		t.Fatal(err)
	}
	h.gpg("--import", path)
	_, err := h.sign(theirs)
	wantCode(t, "only the certificate", err, abi.ErrNotFound, "no secret key")
	_, err = h.sign("0123456789abcdef0123456789abcdef01234567")
	wantCode(t, "unknown key", err, abi.ErrNotFound, "gpg has no key")
	for _, name := range []signing.Fingerprint{"", "--version", mine[24:], "eve@example.org", mine + "!"} {
		_, err = h.sign(name)
		wantCode(t, string(name), err, abi.ErrInvalidArgs, "want the whole one")
	}
	expired := h.generate("", "ed25519", "sign", "--faked-system-time", "20200101T000000")
	h.gpg("--passphrase", "", "--faked-system-time", "20200101T000000", "--quick-set-expire", string(expired[0]), "1d")
	_, err = h.sign(expired[0])
	wantCode(t, "expired key", err, abi.ErrInvalidArgs, "key-expired")
}

// What takes gpg's place, or a gpg that does something else, gets no signature past
// the verification.
func TestUntrustedProgram(t *testing.T) {
	h := newHome(t, nil)
	fpr := h.generate("", "rsa2048", "sign")[0]
	other := h.generate("", "ed25519", "sign")[0]
	sigCreated := `echo "[GNUPG:] SIG_CREATED D 22 10 00 1800000000 0123" >&2`
	exporting := `for a; do [ "$a" = --export ] && exec "$GPG" "$@"; done` + "\n"
	real := h.Path
	for name, c := range map[string]struct {
		script string
		code   abi.Code
		text   string
	}{
		"signs over SHA-1":        {`for a; do shift; [ "$a" = SHA512 ] && a=SHA1; set -- "$@" "$a"; done; exec "$GPG" "$@"`, abi.ErrUntrusted, "too weak"},
		"signs with another key":  {`for a; do shift; [ "$a" = ` + string(fpr) + ` ] && a=` + string(other) + `; set -- "$@" "$a"; done; exec "$GPG" "$@"`, abi.ErrUntrusted, "signed by " + string(other)},
		"signs something else":    {`echo more >"$GNUPGHOME/x"; exec "$GPG" "$@" <"$GNUPGHOME/x"`, abi.ErrUntrusted, "bad signature"},
		"signs in text mode":      {`exec "$GPG" --textmode "$@"`, abi.ErrInvalidResult, "status report"},
		"writes garbage":          {sigCreated + `; echo garbage`, abi.ErrUntrusted, "not one block"},
		"writes nothing":          {sigCreated, abi.ErrInvalidResult, "wrote 0 bytes"},
		"reports nothing":         {`exec "$GPG" "$@" 2>/dev/null`, abi.ErrInvalidResult, "0 signatures"},
		"reports two":             {sigCreated + `; exec "$GPG" "$@"`, abi.ErrInvalidResult, "2 signatures"},
		"reports a clear one":     {`echo "[GNUPG:] SIG_CREATED C 22 10 01 1800000000 0123" >&2`, abi.ErrInvalidResult, "status report"},
		"reports without an end":  {`while :; do ` + sigCreated + ` || exit; done`, abi.ErrTimeout, "no answer within 1s"},
		"writes without an end":   {sigCreated + `; head -c 300000 /dev/zero`, abi.ErrLimitExceeded, "more than 131072"},
		"fails":                   {`echo "gpg: no such thing" >&2; exit 2`, abi.ErrInvalidArgs, "no such thing"},
		"fails and says why":      {`echo "[GNUPG:] FAILURE sign 67108949" >&2; exit 2`, abi.ErrUnsupportedAction, "no way to ask"},
		"got a wrong passphrase":  {`echo "[GNUPG:] FAILURE sign 67108875" >&2; exit 2`, abi.ErrInvalidArgs, "wrong passphrase or PIN"},
		"hangs":                   {`sleep 60 & wait`, abi.ErrTimeout, "no answer within 1s"},
		"leaves a child behind":   {`sleep 60 & exit 0`, abi.ErrInvalidResult, "0 signatures"},
		"cuts its report off":     {`printf '[GNUPG:] SIG_CREATED D 22' >&2`, abi.ErrInvalidResult, "status report"},
		"reports a stupid number": {`echo "[GNUPG:] FAILURE sign -1" >&2; exit 2`, abi.ErrInvalidResult, `"-1"`},
	} {
		t.Run(name, func(t *testing.T) {
			h.Path = real
			h.through(exporting + c.script)
			k, err := h.Key(t.Context(), fpr)
			if err != nil {
				t.Fatal(err)
			}
			if c.code == abi.ErrTimeout { // nothing else here is short of time
				p := h.Program
				p.Timeout = time.Second
				k.sign = func(data []byte) ([]byte, error) { return p.sign(t.Context(), fpr, data) }
			}
			sig, err := k.Sign([]byte("release"), time.Now())
			wantCode(t, name, err, c.code, c.text)
			if sig != nil {
				t.Errorf("and there is a signature of %d bytes", len(sig))
			}
		})
	}
	h.Path = real
	h.through("exec \"$GPG\" --armor --export " + string(other))
	_, err := h.Key(t.Context(), fpr)
	wantCode(t, "gives another certificate", err, abi.ErrInvalidArgs, string(other))
}

// Nothing of the caller's environment reaches gpg but what its agent needs.
func TestEnvironment(t *testing.T) {
	p, err := Find(func(name string) string {
		return map[string]string{"HOME": "/h", "SECRET": "s", "LD_PRELOAD": "x", "PATH": "/bin"}[name]
	}, "/dev/pts/7")
	if err != nil {
		t.Skip("not run: gpg isn't installed")
	}
	slices.Sort(p.Env)
	if want := []string{"GPG_TTY=/dev/pts/7", "HOME=/h", "PATH=/bin"}; !slices.Equal(p.Env, want) {
		t.Errorf("%q, want %q", p.Env, want)
	}
	if p, _ := Find(func(name string) string { return map[string]string{"GPG_TTY": "/dev/pts/1"}[name] }, "/dev/pts/7"); !slices.Equal(p.Env, []string{"GPG_TTY=/dev/pts/1"}) {
		t.Errorf("%q", p.Env)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = Find(os.Getenv, "")
	wantCode(t, "no gpg", err, abi.ErrUnsupportedAction, "not installed")
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("[GNUPG:] KEY_CONSIDERED 0123 2\n[GNUPG:] BEGIN_SIGNING H10\n[GNUPG:] SIG_CREATED D 22 10 00 1800000000 0123\n"))
	f.Add([]byte("gpg: signing failed: No pinentry\n[GNUPG:] FAILURE sign 67108949\n"))
	f.Add([]byte("[GNUPG:] INV_SGNR 9 0123\r\n[GNUPG:] FAILURE sign 17\r\n"))
	f.Add([]byte("[GNUPG:] SIG_CREATED D"))
	f.Fuzz(func(t *testing.T, report []byte) {
		s, err := parseStatus(report)
		if err != nil && s != (status{}) {
			t.Errorf("%+v with %v", s, err)
		}
		if s.created > strings.Count(string(report), "SIG_CREATED D ") || s.failed < 0 || s.failed > 0xffff {
			t.Errorf("%+v", s)
		}
	})
}
