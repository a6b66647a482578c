package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A state is what was seen of a registry and must never go back. It is written
// before what it describes is used.
type state struct {
	Type         string                `json:"type"`
	Format       int                   `json:"format"`
	Registry     string                `json:"registry"`
	URL          string                `json:"url"`
	Elsewhere    bool                  `json:"elsewhere,omitempty"` // URL is a path of another machine: nothing is fetched there
	Pinned       signing.Fingerprint   `json:"pinned"`              // what the user typed
	Root         int64                 `json:"root"`                // the newest root's version
	RootHash     string                `json:"root_sha256"`         // and its bytes
	Roots        []string              `json:"roots,omitempty"`     // hashes of all from the first that the pinned key owns
	SnapshotKeys []signing.Fingerprint `json:"snapshot_keys"`       // of that root
	Snapshot     int64                 `json:"snapshot"`            // the newest snapshot's version
	SnapshotHash string                `json:"snapshot_sha256"`
	Expires      Time                  `json:"expires"`    // of the newest snapshot
	Namespaces   map[string]int64      `json:"namespaces"` // the newest version of each that was used
	Revocations  int64                 `json:"revocations"`
	Keys         []RevokedKey          `json:"revoked_keys"`
	Artifacts    []RevokedArtifact     `json:"revoked_artifacts"`
	Indexes      map[string]seenIndex  `json:"indexes,omitempty"` // by plugin
}

const typeState = "drawbridge-registry-state"

// stateFile is a registry's state in its directory.
const stateFile = "state.json"

func newState(url string, pinned signing.Fingerprint) *state {
	return &state{
		Type: typeState, Format: Format, URL: url, Pinned: pinned,
		SnapshotKeys: []signing.Fingerprint{}, Namespaces: map[string]int64{},
		Keys: []RevokedKey{}, Artifacts: []RevokedArtifact{},
	}
}

func (s *state) check() error {
	if err := head(s.Type, typeState, s.Format, s.Registry); err != nil {
		return err
	}
	if !s.Pinned.Valid() || s.URL == "" || s.Root < 1 || s.Snapshot < 1 || s.Namespaces == nil {
		return fmt.Errorf("pinned key %q, root %d, snapshot %d", s.Pinned, s.Root, s.Snapshot)
	}
	for _, hash := range s.Roots {
		if !validHash(hash) {
			return fmt.Errorf("root %q", hash)
		}
	}
	for plugin, x := range s.Indexes {
		for version := range x.Versions {
			if !validVersion(version) {
				return fmt.Errorf("version %q of %q", version, plugin)
			}
		}
	}
	return nil
}

// clone lets a failed verification leave s as it is.
func (s *state) clone() *state {
	c := *s
	c.SnapshotKeys, c.Namespaces = slices.Clone(s.SnapshotKeys), maps.Clone(s.Namespaces)
	c.Keys, c.Artifacts = slices.Clone(s.Keys), slices.Clone(s.Artifacts)
	return &c
}

// revokedKey returns the entry that revokes a key, if there is one.
func (s *state) revokedKey(f signing.Fingerprint) (RevokedKey, bool) {
	i := slices.IndexFunc(s.Keys, func(k RevokedKey) bool { return k.Key == f })
	if i < 0 {
		return RevokedKey{}, false
	}
	return s.Keys[i], true
}

// revokedArtifact returns the entry that revokes one of the hashes.
func (s *state) revokedArtifact(hashes ...string) (RevokedArtifact, bool) {
	i := slices.IndexFunc(s.Artifacts, func(a RevokedArtifact) bool { return slices.Contains(hashes, a.SHA256) })
	if i < 0 {
		return RevokedArtifact{}, false
	}
	return s.Artifacts[i], true
}

// takeRevocations replaces the lists by newer ones, which must hold all that is
// known already.
func (s *state) takeRevocations(r *Revocations) error {
	if r.Version < s.Revocations {
		return fmt.Errorf("revocations version %d, version %d was seen", r.Version, s.Revocations)
	}
	for _, k := range s.Keys {
		if !slices.ContainsFunc(r.Keys, func(n RevokedKey) bool { return n.Key == k.Key }) {
			return fmt.Errorf("the revocation of key %s was taken back", k.Key)
		}
	}
	for _, a := range s.Artifacts {
		if !slices.ContainsFunc(r.Artifacts, func(n RevokedArtifact) bool { return n.SHA256 == a.SHA256 }) {
			return fmt.Errorf("the revocation of artifact %s was taken back", a.SHA256)
		}
	}
	s.Revocations, s.Keys, s.Artifacts = r.Version, r.Keys, r.Artifacts
	return nil
}

// readState reads the state file of a registry. fs.ErrNotExist is in the chain of
// the error if there is none.
func readState(path string) (*state, error) {
	var s state
	if err := readOwn(path, &s, maxStateFile); err != nil {
		return nil, err
	}
	return &s, nil
}

func (s *state) write(path string) error {
	if err := writeOwn(path, s, maxStateFile); err != nil {
		return fmt.Errorf("writing the state of registry %q: %w", s.Registry, err)
	}
	return nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
