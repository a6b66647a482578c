package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// DefaultTimeout bounds one run of gpg. A person may have to find a card and type a
// PIN meanwhile.
const DefaultTimeout = 2 * time.Minute

// maxReport bounds what is kept of what gpg reports.
const maxReport = 64 << 10

// A Program is a gpg and how it is run.
type Program struct {
	Path    string        // of the program
	Env     []string      // its whole environment
	Timeout time.Duration // of one run; 0 is DefaultTimeout
}

// Vars are the environment variables that reach gpg: its home, and what its agent
// needs to ask for a passphrase or a PIN.
func Vars() []string {
	return []string{
		"PATH", "HOME", "GNUPGHOME", "GPG_TTY", "TERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
		"XDG_RUNTIME_DIR", "PINENTRY_USER_DATA", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TMPDIR",
		"SystemRoot", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP",
	}
}

// Find looks for gpg in the PATH. getenv gives the variables of Vars. tty is the
// name of the terminal that a person sits at, or empty; GPG_TTY comes first.
func Find(getenv func(string) string, tty string) (Program, error) {
	path, err := exec.LookPath("gpg")
	if err != nil {
		return Program{}, abi.Errorf(abi.ErrUnsupportedAction, "", "gpg is not installed: %w", err).WithHint("sudo apt-get install gnupg, or sign with --key")
	}
	p := Program{Path: path}
	for _, name := range Vars() {
		value := getenv(name)
		if name == "GPG_TTY" && value == "" {
			value = tty
		}
		if value != "" {
			p.Env = append(p.Env, name+"="+value)
		}
	}
	return p, nil
}

// A Key signs with a key of GnuPG's. It is safe for concurrent use.
type Key struct {
	certificate signing.Certificate
	sign        func(data []byte) (signature []byte, err error)
}

// Key returns the key with that primary fingerprint. ctx bounds its signatures,
// too. Errors are *abi.Error: not_found for one that gpg has no certificate of.
func (p Program) Key(ctx context.Context, fpr signing.Fingerprint) (*Key, error) {
	if !fpr.Valid() {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "fingerprint %q, want the whole one", fpr)
	}
	out, _, err := p.run(ctx, nil, signing.MaxCertificate,
		"--export-options", "export-minimal,no-export-attributes", "--export", string(fpr))
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, abi.Errorf(abi.ErrNotFound, "", "gpg has no key %s", fpr).WithHint("gpg --list-secret-keys --with-subkey-fingerprint")
	}
	cert, err := signing.ReadCertificate(out, fpr)
	if signing.DetailOf(err) == signing.DetailWrongCertificate {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "%s is a subkey: %w", fpr, err).WithHint("give the fingerprint of its primary key; gpg chooses among the subkeys that may sign")
	}
	if err != nil {
		return nil, fmt.Errorf("reading gpg's certificate: %w", err)
	}
	if err := usable(cert); err != nil {
		return nil, err
	}
	k := &Key{certificate: cert}
	k.sign = func(data []byte) ([]byte, error) { return p.sign(ctx, cert.Fingerprint, data) }
	return k, nil
}

// Certificate returns the public part of the key, as gpg has it.
func (k *Key) Certificate() signing.Certificate { return k.certificate }

// Sign has gpg make an armored detached signature over data. gpg dates it by its
// own clock. It is verified before it is returned, as of now: one that package
// signing would refuse later is an *abi.Error now.
func (k *Key) Sign(data []byte, now time.Time) ([]byte, error) {
	sig, err := k.sign(data)
	if err != nil {
		return nil, err
	}
	_, err = signing.Verify(data, sig, signing.Trust{
		Certificates: k.certificate.Raw, Fingerprints: []signing.Fingerprint{k.certificate.Fingerprint}, Now: now,
	})
	if err != nil {
		return nil, unusable(err, k.certificate.Fingerprint)
	}
	return sig, nil
}

// sign runs gpg and wants it to report exactly one signature.
func (p Program) sign(ctx context.Context, fpr signing.Fingerprint, data []byte) ([]byte, error) {
	sig, report, err := p.run(ctx, data, signing.MaxSignatureFile,
		"--digest-algo", "SHA512", "--armor", "--detach-sign", "--local-user", string(fpr), "--output", "-")
	if err != nil {
		return nil, err
	}
	s, err := parseStatus(report)
	if err != nil {
		return nil, err
	}
	if s.created != 1 || len(sig) == 0 {
		return nil, abi.Errorf(abi.ErrInvalidResult, "", "gpg reports %d signatures and wrote %d bytes, want one", s.created, len(sig))
	}
	return sig, nil
}

// run runs gpg to its end and returns its output, which may have max bytes, and
// what it reported.
func (p Program) run(ctx context.Context, stdin []byte, most int, args ...string) (out, report []byte, err error) {
	timeout := p.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	fixed := []string{"--no-options", "--batch", "--no-tty", "--status-fd", "2", "--disable-dirmngr", "--no-auto-check-trustdb"}
	cmd := exec.CommandContext(ctx, p.Path, append(fixed, args...)...)
	cmd.Env = p.Env
	cmd.WaitDelay = 2 * time.Second
	inOwnGroup(cmd)
	stdout, stderr := &capped{most: most + 1}, &capped{most: maxReport}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), stdout, stderr
	err = cmd.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // gpg itself ended well; what it left behind holds the output open
		_ = cmd.Cancel()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, nil, abi.Errorf(abi.ErrTimeout, "", "gpg gave no answer within %s", timeout).
			WithHint("gpgconf --kill gpg-agent; and in a terminal without a display, export GPG_TTY=$(tty)")
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, failure(stderr.Bytes(), err)
	}
	if stdout.Len() > most {
		return nil, nil, abi.Errorf(abi.ErrLimitExceeded, "", "gpg wrote more than %d bytes", most)
	}
	return stdout.Bytes(), stderr.Bytes(), nil
}

// capped keeps the first bytes and drops the rest.
type capped struct {
	bytes.Buffer
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.most - c.Len(); room > 0 {
		_, _ = c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// usable refuses a certificate of which no signature would count, before a person
// is asked for a passphrase.
func usable(c signing.Certificate) error {
	info, err := c.Info(time.Now())
	if err != nil {
		return err
	}
	if info.Problem != "" {
		return abi.Errorf(abi.ErrInvalidArgs, "", "no signature of key %s would count: %s", c.Fingerprint, info.Problem).WithHint("%s", remedy(info.Problem, c.Fingerprint))
	}
	return nil
}

// unusable says what to do about a signature of gpg's that verification refuses.
func unusable(err error, fpr signing.Fingerprint) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok {
		return err
	}
	told := abi.Errorf(abi.ErrUntrusted, "", "nobody would accept the signature that gpg made with %s: %w", fpr, err)
	told.Reason = e.Reason
	return told.WithHint("%s", remedy(signing.DetailOf(err), fpr))
}

// remedy is the command to run next about a refusal.
func remedy(d signing.Detail, fpr signing.Fingerprint) string {
	switch d {
	case signing.DetailWeakHash:
		return fmt.Sprintf("gpg --cert-digest-algo SHA512 --quick-set-expire %s never renews weak self signatures; a card has to sign over SHA-256 or better", fpr)
	case signing.DetailKeyExpired:
		return fmt.Sprintf("gpg --quick-set-expire %s 2y", fpr)
	case signing.DetailWrongUsage, signing.DetailAlgorithm, signing.DetailWeakKey:
		return fmt.Sprintf("gpg --quick-add-key %s ed25519 sign", fpr)
	case signing.DetailUnknownSigner, signing.DetailNoCrossSignature, signing.DetailNoSelfSignature:
		return fmt.Sprintf("gpg --check-signatures %s", fpr)
	case signing.DetailSignatureFuture, signing.DetailOlderThanKey:
		return "date"
	case signing.DetailMalformed, signing.DetailTooLarge, signing.DetailTooManySignatures, signing.DetailNotDetached,
		signing.DetailNotBinary, signing.DetailUnsupported, signing.DetailCriticalUnknown, signing.DetailNoIssuer,
		signing.DetailBadSignature, signing.DetailSignatureExpired, signing.DetailKeyRevoked, signing.DetailThreshold,
		signing.DetailWrongCertificate, signing.DetailDesignatedRevoker:
	}
	return "gpg --list-secret-keys, for another key; or drawbridge key new"
}

// lastWords is the last thing that gpg said to a person, without its prefix.
func lastWords(report []byte) string {
	said := ""
	for line := range strings.Lines(string(report)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "gpg: "); ok {
			said = text
		}
	}
	return said
}
