package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// canonical returns the one form of v: RFC 8785.
func canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return release.CanonicalJSON(raw)
}

// A document checks itself after decoding.
type document interface{ check() error }

// decode reads a metadata file strictly into v and checks it. A file that
// differs from what v is written as is malformed: nothing can hide in spelling.
func decode(path string, data []byte, v document) error {
	return decodeUpTo(path, data, v, abi.MaxMetadata)
}

func decodeUpTo(path string, data []byte, v document, limit int) error {
	if err := strictjson.Decode(data, v, strictjson.MaxBytes(limit)); err != nil {
		return malformed(path, "%w", err)
	}
	again, err := canonical(v)
	if err != nil {
		return malformed(path, "%w", err)
	}
	if !bytes.Equal(again, data) {
		return malformed(path, "it isn't in canonical form (RFC 8785)")
	}
	if err := v.check(); err != nil {
		return malformed(path, "%w", err)
	}
	return nil
}

// head checks what every document begins with.
func head(gotType, wantType string, format int, registry string) error {
	switch {
	case gotType != wantType:
		return fmt.Errorf("type %q, want %q", gotType, wantType)
	case format != Format:
		return fmt.Errorf("format %d, this version reads %d", format, Format)
	case !validID(registry):
		return fmt.Errorf("registry id %q isn't a name", registry)
	}
	return nil
}

func (r *Root) check() error {
	if err := head(r.Type, typeRoot, r.Format, r.Registry); err != nil {
		return err
	}
	if r.Version < 1 || r.Version > maxRoots || !r.Expires.After(r.Issued.Time) {
		return fmt.Errorf("version %d, issued %s, expires %s", r.Version, r.Issued, r.Expires)
	}
	return errors.Join(r.Roles.Owner.check(), r.Roles.Snapshot.check(), r.Roles.Revocation.check())
}

func (r Role) check() error {
	if len(r.Keys) == 0 || len(r.Keys) > maxRoleKeys || r.Threshold < 1 || r.Threshold > len(r.Keys) {
		return fmt.Errorf("role with %d keys and threshold %d", len(r.Keys), r.Threshold)
	}
	for i, k := range r.Keys {
		if !k.Valid() {
			return fmt.Errorf("role with fingerprint %q", k)
		}
		if i > 0 && r.Keys[i-1] >= k {
			return errors.New("role whose keys aren't sorted and different")
		}
	}
	return nil
}

func (s *Snapshot) check() error {
	if err := head(s.Type, typeSnapshot, s.Format, s.Registry); err != nil {
		return err
	}
	if s.Version < 1 || s.Root < 1 || s.Files == nil || (s.Previous != "" && !validHash(s.Previous)) {
		return fmt.Errorf("version %d, root %d, previous %q", s.Version, s.Root, s.Previous)
	}
	if life := s.Expires.Sub(s.Issued.Time); life <= 0 || life > maxSnapshotLife {
		return fmt.Errorf("issued %s, expires %s: want at most %s between", s.Issued, s.Expires, maxSnapshotLife)
	}
	for path, f := range s.Files {
		if err := f.check(); err != nil {
			return fmt.Errorf("file %q: %w", path, err)
		}
	}
	return nil
}

func (f FileHash) check() error {
	if !validHash(f.SHA256) || f.Size < 0 || f.Size > abi.MaxMetadata {
		return fmt.Errorf("sha256 %q, size %d", f.SHA256, f.Size)
	}
	return nil
}

// matches reports whether data are the bytes that f means.
func (f FileHash) matches(data []byte) bool {
	return int64(len(data)) == f.Size && hashOf(data) == f.SHA256
}

func fileHash(data []byte) FileHash { return FileHash{hashOf(data), int64(len(data))} }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (r *Revocations) check() error {
	if err := head(r.Type, typeRevocations, r.Format, r.Registry); err != nil {
		return err
	}
	if r.Version < 1 || r.Keys == nil || r.Artifacts == nil {
		return fmt.Errorf("version %d, or a list is missing", r.Version)
	}
	for _, k := range r.Keys {
		if !k.Key.Valid() {
			return fmt.Errorf("revoked key %q", k.Key)
		}
	}
	for _, a := range r.Artifacts {
		if !validHash(a.SHA256) {
			return fmt.Errorf("revoked artifact %q", a.SHA256)
		}
	}
	sorted := slices.IsSortedFunc(r.Keys, func(a, b RevokedKey) int { return strings.Compare(string(a.Key), string(b.Key)) }) &&
		slices.IsSortedFunc(r.Artifacts, func(a, b RevokedArtifact) int { return strings.Compare(a.SHA256, b.SHA256) })
	if !sorted {
		return errors.New("a list isn't sorted")
	}
	return nil
}

func (n *Namespace) check() error {
	if err := head(n.Type, typeNamespace, n.Format, n.Registry); err != nil {
		return err
	}
	if !validName(n.Namespace) || n.Version < 1 || n.Publishers == nil || len(n.Publishers) > maxPublishers {
		return fmt.Errorf("namespace %q, version %d, %d publishers", n.Namespace, n.Version, len(n.Publishers))
	}
	for _, p := range n.Publishers {
		if !p.Key.Valid() || (p.Until != nil && !p.Until.After(p.From.Time)) {
			return fmt.Errorf("publisher %q", p.Key)
		}
	}
	return nil
}

// publishersAt returns the keys that may sign a release published at t.
func (n *Namespace) publishersAt(t Time) (keys []signing.Fingerprint) {
	for _, p := range n.Publishers {
		if !t.Before(p.From.Time) && (p.Until == nil || t.Before(p.Until.Time)) {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// since returns from when on a key that may sign at t may do so.
func (n *Namespace) since(key signing.Fingerprint, t Time) (first Time) {
	for _, p := range n.Publishers {
		if p.Key == key && !t.Before(p.From.Time) {
			first = p.From
		}
	}
	return first
}

func (x *Index) check() error {
	if err := head(x.Type, typeIndex, x.Format, x.Registry); err != nil {
		return err
	}
	if !validName(x.Namespace) || !validName(x.Name) || x.Versions == nil || len(x.Versions) > maxVersions {
		return fmt.Errorf("plugin %q in %q with %d versions", x.Name, x.Namespace, len(x.Versions))
	}
	for i, v := range x.Versions {
		if !validVersion(v.Version) || (v.Channel != Stable && v.Channel != Beta) || !utf8.ValidString(v.Yanked) {
			return fmt.Errorf("version %q on channel %q", v.Version, v.Channel)
		}
		if err := v.Release.check(); err != nil {
			return fmt.Errorf("version %q: %w", v.Version, err)
		}
		if i > 0 && compareVersions(x.Versions[i-1].Version, v.Version) >= 0 {
			return fmt.Errorf("version %q isn't above the one before it", v.Version)
		}
	}
	return nil
}

// decodeRelease reads the canonical bytes of a release, with every rule that
// package release has for them, and checks what becomes a file name here.
func decodeRelease(path string, data []byte) (abi.Release, error) {
	r, err := release.ParseRelease(data)
	if err != nil {
		return abi.Release{}, malformed(path, "%w", err)
	}
	if !validID(r.Registry) || !validName(r.Namespace) || !validName(r.Name) || !validVersion(r.Version) {
		return abi.Release{}, malformed(path, "%q of %q in %q, version %q", r.Name, r.Namespace, r.Registry, r.Version)
	}
	return r, nil
}
