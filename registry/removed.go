package registry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// How many records of removed registries there may be: of those that somebody
// added, and of those that other builds of the program carried.
const (
	maxRemoved = 100
	maxCarried = 8
)

const typeRemoved = "drawbridge-removed-registry"

// A tombstone is what stays of a registry that was removed: its state, from which
// every way of adding it again starts. There is one for each id and pinned key.
type tombstone struct {
	Type    string `json:"type"`
	Format  int    `json:"format"`
	Removed Time   `json:"removed"`
	Carried bool   `json:"carried,omitempty"` // a program brought it, nobody added it
	State   *state `json:"state"`
	// Names are the plugins that it listed, if they are known and fit: whoever installs
	// one of these names from another registry is told.
	Names []string `json:"names,omitempty"`
}

func (t *tombstone) check() error {
	if t.Type != typeRemoved || t.Format != Format || t.State == nil {
		return fmt.Errorf("type %q and format %d, want %q and %d", t.Type, t.Format, typeRemoved, Format)
	}
	return errors.Join(checkNames(t.Names), t.State.check())
}

// Removed tells of a registry that was removed, and what was seen of it.
type Removed struct {
	ID       string
	URL      string
	Pinned   signing.Fingerprint
	Snapshot int64 // the newest version seen
	Revoked  int   // keys and artifacts that were revoked
	Removed  Time
}

func (t *tombstone) told() Removed {
	s := t.State
	return Removed{s.Registry, s.URL, s.Pinned, s.Snapshot, len(s.Keys) + len(s.Artifacts), t.Removed}
}

func (c *Client) removedDir() string { return filepath.Join(c.cfg.Dir, "removed") }

// removedPath names a tombstone by what it is about. No id holds an "@".
func (c *Client) removedPath(id string, pinned signing.Fingerprint) string {
	return filepath.Join(c.removedDir(), id+"@"+hashOf([]byte(pinned))[:16]+".json")
}

// tombstones reads those of an id, or all of them if id is empty, the last removed
// first. One that can't be read comes back as an error beside the others.
func (c *Client) tombstones(id string) ([]*tombstone, error) {
	paths, err := c.recordsOf(id)
	if err != nil {
		return nil, err
	}
	var list []*tombstone
	var bad []error
	for _, path := range paths {
		of, _ := removedID(filepath.Base(path))
		t, err := readTombstone(path)
		if err == nil && t.State.Registry != of {
			err = malformed(path, "it is about registry %q", t.State.Registry)
		}
		if err != nil {
			bad = append(bad, damagedTombstone(of, err))
			continue
		}
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b *tombstone) int { return b.Removed.Compare(a.Removed.Time) })
	return list, errors.Join(bad...)
}

// removedID is the registry's id in the name of a tombstone.
func removedID(file string) (string, bool) {
	id, rest, ok := strings.Cut(file, "@")
	return id, ok && validID(id) && strings.HasSuffix(rest, ".json")
}

func readTombstone(path string) (*tombstone, error) {
	var t tombstone
	if err := readOwn(path, &t, maxRemovedFile); err != nil {
		return nil, err
	}
	return &t, nil
}

func damagedTombstone(id string, err error) error {
	return refuseFor(err, abi.ReasonMalformed, nil, "what is remembered of registry %q since it was removed can't be read: %v", id, err).
		WithHint("drawbridge registry remove %s --forget, at a terminal: an older state of it would count again", id)
}

// Removed lists the registries that were removed and what was seen of them, the
// last one first. The error is about records that can't be read; the others are
// listed.
func (c *Client) Removed() ([]Removed, error) {
	all, err := c.tombstones("")
	there, _ := c.states() // a damaged one is told of elsewhere
	list := []Removed{}
	for _, t := range all {
		if !t.outlived(there) {
			list = append(list, t.told())
		}
	}
	return list, err
}

// outlived reports whether the very registry is added: then a removal or an add was
// interrupted, and its state says no less.
func (t *tombstone) outlived(there map[string]*state) bool {
	for _, s := range there {
		if s.Registry == t.State.Registry && s.Pinned == t.State.Pinned {
			return true
		}
	}
	return false
}

// bury writes down what was seen of a registry, before its state in dir is removed.
func (c *Client) bury(s *state, dir string, carried bool) error {
	path := c.removedPath(s.Registry, s.Pinned)
	if err := os.MkdirAll(c.removedDir(), 0o700); err != nil {
		return fmt.Errorf("remembering what was seen: %w", err)
	}
	if _, err := os.Lstat(path); err != nil {
		if err := c.roomFor(s.Registry, carried); err != nil {
			return err
		}
	}
	t := &tombstone{typeRemoved, Format, At(c.cfg.Clock()), carried, s, nil}
	if k, err := readNames(dir); err == nil && k.Registry == s.Registry {
		t.Names = k.Names
	}
	if err := c.at("bury"); err != nil {
		return err
	}
	err := writeOwn(path, t, maxRemovedFile)
	if errors.Is(err, abi.ErrLimitExceeded) { // the names are what isn't needed
		t.Names = nil
		err = writeOwn(path, t, maxRemovedFile)
	}
	if err != nil {
		return fmt.Errorf("remembering what was seen of registry %q: %w", s.Registry, err)
	}
	return nil
}

// roomFor refuses a removal that would need one record too many. What programs
// carried makes room itself: the oldest of it goes.
func (c *Client) roomFor(id string, carried bool) error {
	records, err := c.recordsOf("")
	if err != nil {
		return err
	}
	if !carried && len(records) >= maxRemoved {
		return abi.Errorf(abi.ErrLimitExceeded, "", "%d removed registries are remembered, and no more fit", len(records)).
			WithHint("drawbridge registry list --removed, then drawbridge registry remove REGISTRY --forget for one that nobody needs, or %s itself", id)
	}
	if !carried {
		return nil
	}
	all, _ := c.tombstones("") // a damaged one stays
	all = slices.DeleteFunc(all, func(t *tombstone) bool { return !t.Carried })
	for len(all) >= maxCarried {
		oldest := all[len(all)-1].State
		if err := os.Remove(c.removedPath(oldest.Registry, oldest.Pinned)); err != nil {
			return fmt.Errorf("remembering what was seen: %w", err)
		}
		all = all[:len(all)-1]
	}
	return nil
}

// An arrival is a registry that is added, and what was seen of it before.
type arrival struct {
	client     *Client
	unattended bool         // by a lock file, or by the program
	before     []*tombstone // of the very registry; settled once it is there again
}

// hold judges a registry that is new here, which was verified against its pin
// alone, by what was seen of it before it was removed.
func (a *arrival) hold(cat *catalog) (*catalog, error) {
	id, pinned, url := cat.state.Registry, cat.state.Pinned, cat.state.URL
	if err := a.client.refuseSecond(id); err != nil {
		return nil, err
	}
	all, err := a.client.tombstones(id)
	if err != nil {
		return nil, err
	}
	if a.unattended && len(all) > 0 && !all[0].same(cat) {
		return nil, refuse(abi.ReasonUnknownKey, []signing.Fingerprint{all[0].State.Pinned, pinned},
			"registry %q belonged to another owner until it was removed here at %s", id, all[0].Removed).
			WithHint("drawbridge registry add %s %s, at a terminal", url, pinned)
	}
	for _, t := range slices.Backward(all) { // the last word is the newest one's
		if !t.same(cat) {
			continue
		}
		floor := t.State.clone()
		floor.Pinned, floor.URL, floor.Elsewhere = pinned, url, cat.state.Elsewhere
		if cat, err = verifyCatalog(cat.files, floor, cat.now); err != nil {
			return nil, t.explain(err)
		}
		a.before = append(a.before, t)
	}
	return cat, nil
}

// same reports whether a registry is the one that was removed: one of the roots that
// followed from the key that was pinned then is one of those that follow from the key
// that is pinned now, or such roots end in the same one. Those before are nobody's word.
func (t *tombstone) same(cat *catalog) bool {
	shared := func(hash string) bool { return slices.Contains(cat.state.Roots, hash) }
	if t.State.Pinned == cat.state.Pinned || slices.ContainsFunc(t.State.Roots, shared) {
		return true
	}
	roots, err := followRoots(cat.files.ReadFile, t.State.Pinned, cat.now)
	return err == nil && roots.newest.Registry == t.State.Registry
}

// explain says in a refusal when the newer state was seen, and what helps.
func (t *tombstone) explain(err error) error {
	refused, ok := errors.AsType[*abi.Error](err)
	if !ok || refused.Code != abi.ErrUntrusted {
		return err
	}
	said := *refused
	said.Msg += fmt.Sprintf("; snapshot version %d was seen before registry %q was removed at %s", t.State.Snapshot, t.State.Registry, t.Removed)
	return said.WithHint("fetch it from where its owner serves it now; if the owner started it anew: drawbridge registry remove %s --forget, at a terminal", t.State.Registry)
}

// settle removes the records of a registry whose state is there again.
func (a *arrival) settle() error {
	for _, t := range a.before {
		if err := a.client.at("settle"); err != nil {
			return err
		}
		err := os.Remove(a.client.removedPath(t.State.Registry, t.State.Pinned))
		if err != nil && !isMissing(err) {
			return fmt.Errorf("tidying what was remembered of registry %q: %w", t.State.Registry, err)
		}
	}
	return nil
}
