package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// The names of the files, after the fingerprint.
const (
	secretExt      = ".key" // armored, encrypted
	certificateExt = ".asc" // armored; only without a secret key
)

// MinName is how many of a fingerprint's last digits name a key.
const MinName = 16

// A Ring is the keyring in one directory. It holds nothing in memory; methods can
// be called concurrently, and the last of two changes to one key counts.
type Ring struct{ dir string }

// Open returns the keyring in dir, which is made when the first key comes.
func Open(dir string) *Ring { return &Ring{dir} }

// An Entry is one key of the ring.
type Entry struct {
	Fingerprint signing.Fingerprint
	Path        string
	Secret      bool
}

// Entries lists the keys by fingerprint.
func (r *Ring) Entries() ([]Entry, error) {
	files, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading keyring: %w", err)
	}
	var list []Entry
	for _, f := range files {
		ext := filepath.Ext(f.Name())
		fpr := signing.Fingerprint(strings.TrimSuffix(f.Name(), ext))
		if fpr.Valid() && (ext == secretExt || ext == certificateExt) {
			list = append(list, r.entry(fpr, ext == secretExt))
		}
	}
	slices.SortFunc(list, func(a, b Entry) int {
		if c := strings.Compare(string(a.Fingerprint), string(b.Fingerprint)); c != 0 || a.Secret == b.Secret {
			return c
		}
		if a.Secret {
			return -1 // and the certificate beside it is left out
		}
		return 1
	})
	return slices.CompactFunc(list, func(a, b Entry) bool { return a.Fingerprint == b.Fingerprint }), nil
}

func (r *Ring) entry(fpr signing.Fingerprint, secret bool) Entry {
	ext := certificateExt
	if secret {
		ext = secretExt
	}
	return Entry{fpr, filepath.Join(r.dir, string(fpr)+ext), secret}
}

// IsName reports whether text can name a key of a ring: hexadecimal digits, at
// least MinName of them, as people paste them.
func IsName(text string) bool { return len(clean(text)) >= MinName }

// LooksLikeName reports whether text is made of hexadecimal digits alone, as a part
// of a fingerprint that may be too short to name a key.
func LooksLikeName(text string) bool { return len(clean(text)) >= 4 }

// clean returns the digits of a name, or "" for what is none.
func clean(text string) string {
	s := strings.ToLower(strings.NewReplacer(" ", "", ":", "").Replace(strings.TrimSpace(text)))
	s = strings.TrimPrefix(s, "0x")
	if len(s) > 64 || strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') }) {
		return ""
	}
	return s
}

// Find returns the key that name is the fingerprint of, or the end of it.
func (r *Ring) Find(name string) (Entry, error) {
	digits := clean(name)
	if len(digits) < MinName {
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "key %q, want a fingerprint or at least its last %d hexadecimal digits", name, MinName)
	}
	all, err := r.Entries()
	if err != nil {
		return Entry{}, err
	}
	var found []Entry
	for _, e := range all {
		if strings.HasSuffix(string(e.Fingerprint), digits) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, abi.Errorf(abi.ErrNotFound, "", "no key %q in the keyring", name).WithHint("drawbridge key list")
	case 1:
		return found[0], nil
	}
	return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "key %q is %s or %s", name, found[0].Fingerprint, found[1].Fingerprint).WithHint("give the whole fingerprint")
}

// Read returns the file of an entry. It refuses one that others can read or write,
// and one that holds another key than its name says.
func (r *Ring) Read(e Entry, now time.Time) (file []byte, info signing.KeyInfo, err error) {
	none := signing.KeyInfo{}
	if err := platform.CheckFile(e.Path); err != nil {
		return nil, none, err
	}
	file, err = os.ReadFile(e.Path)
	if err != nil {
		return nil, none, fmt.Errorf("reading key: %w", err)
	}
	info, err = signing.InspectKey(file, now)
	if err != nil {
		return nil, none, fmt.Errorf("reading key %s: %w", e.Fingerprint, err)
	}
	if info.Certificate.Fingerprint != e.Fingerprint || info.Secret != e.Secret {
		return nil, none, abi.Errorf(abi.ErrUntrusted, "", "%q holds another key, %s", e.Path, info.Certificate.Fingerprint)
	}
	return file, info, nil
}

// AddSecret keeps an armored secret key. One that isn't encrypted throughout is
// refused, and so is another copy of one that is there.
func (r *Ring) AddSecret(armored []byte, now time.Time) (Entry, error) {
	info, err := signing.InspectKey(armored, now)
	switch {
	case err != nil:
		return Entry{}, err
	case !info.Secret:
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "%s is a certificate, and no secret key", info.Certificate.Fingerprint)
	case !info.Encrypted:
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "secret key %s has no passphrase", info.Certificate.Fingerprint)
	}
	e := r.entry(info.Certificate.Fingerprint, true)
	switch old, err := os.ReadFile(e.Path); {
	case err == nil && bytes.Equal(old, armored):
		return e, nil
	case !errors.Is(err, fs.ErrNotExist): // one that can't be read may be the only copy
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "another copy of secret key %s is in the keyring", e.Fingerprint).
			WithHint("drawbridge key export --secret %s, to keep it; then drawbridge key remove %s", e.Fingerprint, e.Fingerprint)
	}
	if err := r.loses(r.entry(e.Fingerprint, false), info.Certificate, now); err != nil {
		return Entry{}, err
	}
	if err := r.write(e, armored); err != nil {
		return Entry{}, err
	}
	return e, r.drop(r.entry(e.Fingerprint, false)) // the secret key holds it
}

// Replace puts a renewed secret key in the place of the one that is there.
func (r *Ring) Replace(armored []byte, now time.Time) (Entry, error) {
	info, err := signing.InspectKey(armored, now)
	if err != nil {
		return Entry{}, err
	}
	e := r.entry(info.Certificate.Fingerprint, true)
	_, old, err := r.Read(e, now)
	switch {
	case err != nil:
		return Entry{}, err
	case !info.Secret || !info.Encrypted:
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "%s is no encrypted secret key", e.Fingerprint)
	case !info.Certificate.KeepsRevocationsOf(old.Certificate):
		return Entry{}, lost(e.Fingerprint)
	}
	return e, r.write(e, armored)
}

// AddCertificate keeps a certificate in place of an older copy, unless that one
// carries a revocation that the new one lacks.
func (r *Ring) AddCertificate(c signing.Certificate, now time.Time) (Entry, error) {
	e := r.entry(c.Fingerprint, false)
	secret := r.entry(c.Fingerprint, true)
	if _, err := os.Lstat(secret.Path); err == nil {
		_, info, err := r.Read(secret, now)
		if err == nil && bytes.Equal(info.Certificate.Raw, c.Raw) {
			return secret, nil
		}
		return Entry{}, abi.Errorf(abi.ErrInvalidArgs, "", "the secret key of %s is in the keyring, with a certificate of its own", c.Fingerprint).
			WithHint("import a secret key file that holds the new certificate, after drawbridge key remove %s", c.Fingerprint)
	}
	if err := r.loses(e, c, now); err != nil {
		return Entry{}, err
	}
	return e, r.write(e, c.Armored())
}

// loses refuses c if an entry carries a revocation that c lacks, or if the entry
// can't be read, so that nobody knows.
func (r *Ring) loses(old Entry, c signing.Certificate, now time.Time) error {
	_, info, err := r.Read(old, now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return abi.Errorf(abi.ErrUntrusted, "", "the copy of %s in the keyring can't be read, and may carry a revocation: %w", old.Fingerprint, err).
			WithHint("drawbridge key show %s; then drawbridge key remove %s", old.Fingerprint, old.Fingerprint)
	case !c.KeepsRevocationsOf(info.Certificate):
		return lost(c.Fingerprint)
	}
	return nil
}

func lost(fpr signing.Fingerprint) error {
	return abi.Errorf(abi.ErrUntrusted, "", "the copy of %s in the keyring is revoked, and this one lacks the revocation", fpr).
		WithHint("drawbridge key show %s", fpr)
}

// Remove takes a key out of the ring. A secret key that stands nowhere else is lost.
func (r *Ring) Remove(fpr signing.Fingerprint) error {
	if err := r.drop(r.entry(fpr, true)); err != nil {
		return err
	}
	return r.drop(r.entry(fpr, false))
}

func (r *Ring) drop(e Entry) error {
	if err := os.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing key: %w", err)
	}
	return nil
}

func (r *Ring) write(e Entry, file []byte) error {
	if err := platform.CreateDir(r.dir); err != nil {
		return err
	}
	if err := atomicfile.Write(e.Path, file, platform.FileMode); err != nil {
		return fmt.Errorf("writing key: %w", err)
	}
	return nil
}
