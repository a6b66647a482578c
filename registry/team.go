package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

const typeTeamLock = "drawbridge-team-lock"

// CarriedURL is the URL, in a team's lock file, of a registry that drawbridge itself
// carries: it has no address that another machine could fetch.
const CarriedURL = "carried by drawbridge"

// Limits on a team's lock file, beside abi.MaxMetadata for all of it.
const (
	maxTeamPlugins  = 1000
	maxTeamSettings = 100
	maxTeamSetting  = 4 << 10 // bytes of one value
)

// A TeamLock says exactly what the machines of a team install. It counts with the
// detached signature of a key that a person pinned for its name on each of them
// ([Client.TrustTeam]). It is written in canonical form and holds no secrets.
type TeamLock struct {
	Type       string         `json:"type"`
	Format     int            `json:"format"`
	Name       string         `json:"name"`    // what a key is pinned for
	Version    int64          `json:"version"` // grows; an older one than was seen is refused
	Issued     Time           `json:"issued"`
	Registries []TeamRegistry `json:"registries"` // sorted by id
	Plugins    []TeamPlugin   `json:"plugins"`    // sorted by namespace and name
}

// A TeamRegistry is where plugins of a team come from.
type TeamRegistry struct {
	ID     string              `json:"registry"`
	URL    string              `json:"url"`    // or CarriedURL
	Pinned signing.Fingerprint `json:"pinned"` // an owner's key
}

// A TeamPlugin is one version, to the byte, and what it is set up with.
type TeamPlugin struct {
	Registry  string              `json:"registry"`
	Namespace string              `json:"namespace"`
	Name      string              `json:"name"`
	Version   string              `json:"version"`
	Release   FileHash            `json:"release"`
	Module    FileHash            `json:"module"`
	Signer    signing.Fingerprint `json:"signer"` // the publisher
	Settings  map[string]string   `json:"settings"`
}

// Plugin returns "namespace/name".
func (p TeamPlugin) Plugin() string { return p.Namespace + "/" + p.Name }

// Ref asks for exactly this version from this registry.
func (p TeamPlugin) Ref() Ref {
	return Ref{Registry: p.Registry, Namespace: p.Namespace, Name: p.Name, Constraint: "=" + p.Version}
}

// Check refuses a version that isn't the one that p pins, byte for byte.
func (p TeamPlugin) Check(r Review) error {
	module := FileHash{r.Release.Module.SHA256, r.Release.Module.Size}
	if r.Registry.ID != p.Registry || r.Hash != p.Release.SHA256 || module != p.Module || r.Signer.Primary != p.Signer {
		return refuse(abi.ReasonTampered, []signing.Fingerprint{p.Signer},
			"%q version %q in registry %q isn't the one that the team's lock file pins", p.Plugin(), p.Version, r.Registry.ID)
	}
	return nil
}

// Pins reports whether an installed version is the one that p pins.
func (p TeamPlugin) Pins(e Entry) bool {
	return e.Registry == p.Registry && e.Plugin() == p.Plugin() && e.Version == p.Version &&
		e.Release == p.Release && e.Module == p.Module && e.Signer == p.Signer
}

// ValidTeamName reports whether a lock file may have this name: like a registry's
// id, lower-case letters, digits, dots and dashes.
func ValidTeamName(s string) bool { return validID(s) }

// ParseTeamLock reads a lock file's bytes. Nothing is verified by it.
func ParseTeamLock(data []byte) (*TeamLock, error) {
	if len(data) > abi.MaxMetadata {
		return nil, malformed("the team's lock file", "%d bytes, the limit is %d", len(data), abi.MaxMetadata)
	}
	var l TeamLock
	if err := decode("the team's lock file", data, &l); err != nil {
		return nil, err
	}
	return &l, nil
}

// Canonical returns the bytes that are signed.
func (l *TeamLock) Canonical() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "lock export", "the lock file would be malformed: %w", err)
	}
	data, err := canonical(l)
	if err == nil && len(data) > abi.MaxMetadata {
		err = abi.Errorf(abi.ErrLimitExceeded, "lock export", "the lock file would have %d bytes, the limit is %d", len(data), abi.MaxMetadata)
	}
	return data, err
}

// Registry returns the registry with an id.
func (l *TeamLock) Registry(id string) (TeamRegistry, bool) {
	i := slices.IndexFunc(l.Registries, func(r TeamRegistry) bool { return r.ID == id })
	if i < 0 {
		return TeamRegistry{}, false
	}
	return l.Registries[i], true
}

// Has reports whether the lock file names a plugin ("namespace/name").
func (l *TeamLock) Has(plugin string) bool {
	return slices.ContainsFunc(l.Plugins, func(p TeamPlugin) bool { return p.Plugin() == plugin })
}

func (l *TeamLock) check() error {
	if err := head(l.Type, typeTeamLock, l.Format, l.Name); err != nil {
		return err
	}
	if l.Version < 1 || l.Registries == nil || l.Plugins == nil || len(l.Plugins) > maxTeamPlugins {
		return fmt.Errorf("version %d, %d plugins", l.Version, len(l.Plugins))
	}
	for i, r := range l.Registries {
		if err := r.check(); err != nil {
			return err
		}
		if i > 0 && l.Registries[i-1].ID >= r.ID {
			return errors.New("registries that aren't sorted and different")
		}
	}
	for i, p := range l.Plugins {
		if err := p.check(); err != nil {
			return err
		}
		if _, ok := l.Registry(p.Registry); !ok {
			return fmt.Errorf("plugin %q from registry %q, which isn't listed", p.Plugin(), p.Registry)
		}
		if i > 0 && l.Plugins[i-1].Plugin() >= p.Plugin() {
			return errors.New("plugins that aren't sorted and different")
		}
	}
	return nil
}

func (r TeamRegistry) check() error {
	var from address
	var err error
	if r.URL != CarriedURL {
		from, err = parseAddress(r.URL)
	}
	if err != nil {
		return err
	}
	if !validID(r.ID) || !r.Pinned.Valid() || from.via == fromFile && !filepath.IsAbs(r.URL) {
		return fmt.Errorf("registry %q at %q with key %q", r.ID, r.URL, r.Pinned)
	}
	return nil
}

func (p TeamPlugin) check() error {
	e := Entry{
		Registry: p.Registry, Namespace: p.Namespace, Name: p.Name, Version: p.Version,
		Release: p.Release, Module: p.Module, Signer: p.Signer, Key: p.Signer,
	}
	if err := e.check(); err != nil {
		return err
	}
	if p.Settings == nil || len(p.Settings) > maxTeamSettings {
		return fmt.Errorf("plugin %q with %d settings", p.Plugin(), len(p.Settings))
	}
	for name, value := range p.Settings {
		unfit := func(r rune) bool { return unicode.IsControl(r) }
		if name == "" || len(name) > 100 || len(value) > maxTeamSetting || !utf8.ValidString(value) ||
			strings.ContainsFunc(name+value, unfit) {
			return fmt.Errorf("plugin %q with the setting %q", p.Plugin(), name)
		}
	}
	return nil
}

// DraftTeamLock makes a lock file of what is installed here. settings says what a
// plugin ("namespace/name") is set up with. What is revoked is refused: every machine
// would refuse it.
func (c *Client) DraftTeamLock(ctx context.Context, name string, version int64, settings func(plugin string) (map[string]string, error)) (*TeamLock, error) {
	lock, err := readLock(c.lockPath())
	if err != nil {
		return nil, err
	}
	team := &TeamLock{typeTeamLock, Format, name, version, At(c.cfg.Clock()), []TeamRegistry{}, []TeamPlugin{}}
	for _, e := range lock.Plugins {
		s, _, err := c.registryState(e.Registry)
		if err != nil {
			return nil, err
		}
		if err := c.mended(ctx, e, e.checkRevoked(s)); err != nil {
			return nil, err
		}
		if _, ok := team.Registry(e.Registry); !ok {
			url := s.URL
			if c.isCarried(s) {
				url = CarriedURL
			}
			team.Registries = append(team.Registries, TeamRegistry{s.Registry, url, s.Pinned})
		}
		set, err := settings(e.Plugin())
		if err != nil {
			return nil, err
		}
		all := map[string]string{}
		maps.Copy(all, set)
		team.Plugins = append(team.Plugins, TeamPlugin{e.Registry, e.Namespace, e.Name, e.Version, e.Release, e.Module, e.Signer, all})
	}
	slices.SortFunc(team.Registries, func(a, b TeamRegistry) int { return strings.Compare(a.ID, b.ID) })
	if err := team.check(); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "lock export", "the lock file would be malformed: %w", err)
	}
	return team, nil
}
