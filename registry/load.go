package registry

import (
	"context"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Loaded is a plugin whose bytes were checked just now.
type Loaded struct {
	Entry   Entry
	Release abi.Release
	Wasm    []byte // what was hashed; nothing is read again
	// Warnings say what works today and needs somebody's attention, such as an
	// expired snapshot.
	Warnings []string
}

// Load reads an installed plugin ("namespace/name"). It reads the module once,
// and refuses it unless it is what the lock pins and nothing about it is revoked.
// It needs no network.
//
//nolint:contextcheck // what is installed is loaded as a whole
func (c *Client) Load(plugin string) (Loaded, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return Loaded{}, err
	}
	e := lock.find(plugin)
	if e == nil {
		return Loaded{}, lock.missing(plugin)
	}
	l, err := c.load(*e)
	if err != nil {
		return Loaded{}, c.mended(context.Background(), *e, err) // Git has deadlines of its own
	}
	return l, nil
}

func (c *Client) load(e Entry) (Loaded, error) {
	s, _, err := c.registryState(e.Registry)
	if err != nil {
		return Loaded{}, err
	}
	if err := e.checkRevoked(s); err != nil {
		return Loaded{}, err
	}
	release, err := c.readRelease(e)
	if err != nil {
		return Loaded{}, err
	}
	wasm, ok, err := c.store().get(e.Module, extModule)
	if err != nil || !ok {
		return Loaded{}, e.tampered("module", err)
	}
	l := Loaded{Entry: e, Release: release, Wasm: wasm}
	if !c.cfg.Clock().Before(s.Expires.Time) && !c.carries(s) {
		l.Warnings = append(l.Warnings, fmt.Sprintf(
			"snapshot version %d of registry %q expired at %s: nothing new is installed until it is renewed",
			s.Snapshot, s.Registry, s.Expires))
	}
	return l, nil
}

// checkRevoked looks a version up in the revocations.
func (e Entry) checkRevoked(s *state) error {
	if a, ok := s.revokedArtifact(e.Release.SHA256, e.Module.SHA256); ok {
		return refuse(abi.ReasonArtifactRevoked, e.keys(), "%q version %q is revoked: %q", e.Plugin(), e.Version, a.Reason).
			WithHint("drawbridge update %s", e.Plugin())
	}
	for _, f := range e.keys() {
		if k, ok := s.revokedKey(f); ok {
			return refuse(abi.ReasonKeyRevoked, e.keys(), "%q version %q is signed by a key that is revoked: %q",
				e.Plugin(), e.Version, k.Reason).WithHint("drawbridge update %s", e.Plugin())
		}
	}
	return nil
}

// readRelease reads the release that the lock pins.
func (c *Client) readRelease(e Entry) (abi.Release, error) {
	data, ok, err := c.store().get(e.Release, extRelease)
	if err != nil || !ok {
		return abi.Release{}, e.tampered("release", err)
	}
	r, err := decodeRelease("the installed release of "+e.Plugin(), data)
	if err != nil {
		return abi.Release{}, err
	}
	pinned := FileHash{r.Module.SHA256, r.Module.Size}
	if r.Registry != e.Registry || r.Namespace != e.Namespace || r.Name != e.Name || r.Version != e.Version || pinned != e.Module {
		return abi.Release{}, refuse(abi.ReasonWrongName, e.keys(), "the release of %q is of %q version %q",
			e.Plugin(), r.Namespace+"/"+r.Name, r.Version).
			WithHint("restore the lock file from a copy, or drawbridge remove %s --keep-data and install it again", e.Plugin())
	}
	return r, nil
}

func (e Entry) tampered(what string, cause error) error {
	return refuseFor(cause, abi.ReasonTampered, e.keys(),
		"the installed %s of %q version %q isn't the one that was verified", what, e.Plugin(), e.Version).
		WithHint("drawbridge install %s@%s", e.Plugin(), e.Version)
}
