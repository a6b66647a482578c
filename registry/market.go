package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// An Offer is what a registry has of one plugin: its newest version, verified.
type Offer struct {
	Registry    string              `json:"registry"`
	Namespace   string              `json:"namespace"`
	Name        string              `json:"name"`
	Version     Version             `json:"version"` // as the index lists it
	Signer      signing.Fingerprint `json:"signer"`
	Category    abi.Category        `json:"category"`
	Title       string              `json:"title"`
	Description string              `json:"description"`
	Origins     []string            `json:"origins"` // match patterns; "{setting}/*" where the user gives the address
	Tools       []OfferTool         `json:"tools"`
	Checked     Time                `json:"checked"` // when its signature was
	Vouched     string              `json:"vouched"` // hash of what vouched for it then
}

// An OfferTool is one tool of an Offer.
type OfferTool struct {
	Name        string `json:"name"` // with the connector's id: tracker_list
	Title       string `json:"title"`
	Description string `json:"description"`
	Destructive bool   `json:"destructive,omitempty"`
}

// A Refused is a plugin that a registry has and that can't be offered.
type Refused struct {
	Plugin string     `json:"plugin"` // namespace/name
	Code   abi.Code   `json:"code"`
	Reason abi.Reason `json:"reason,omitempty"`
	Why    string     `json:"why"`
}

// Plugin returns "namespace/name".
func (o Offer) Plugin() string { return o.Namespace + "/" + o.Name }

// recheck is how long a signature that was found good isn't looked at again while
// the snapshot, the keys and the revocations stay the same. A key may expire in
// between; an install looks again.
const recheck = 24 * time.Hour

const typeMarket = "drawbridge-market"

// A market is all that one snapshot of a registry offers.
type market struct {
	Type     string    `json:"type"`
	Format   int       `json:"format"`
	Registry string    `json:"registry"`
	Snapshot string    `json:"snapshot"` // its hash
	Made     Time      `json:"made"`
	Offers   []Offer   `json:"offers"` // by name
	Refused  []Refused `json:"refused"`
}

// good reports whether m can be used for a registry in this state.
func (m *market) good(s *state, now time.Time) bool {
	age := now.Sub(m.Made.Time)
	return m.Registry == s.Registry && m.Snapshot == s.SnapshotHash && age >= 0 && age < recheck
}

// markets are the last market of each registry.
type markets struct {
	mu   sync.Mutex // held while one is made, so that it is made once
	last map[string]*market
}

// Offers lists what a registry has, from the copy that the last refresh left: of
// each plugin the newest version that isn't yanked, stable before beta. Every
// signature was checked against this snapshot. What can't be offered comes second.
func (c *Client) Offers(ctx context.Context, registry string) ([]Offer, []Refused, error) {
	s, dir, err := c.registryState(registry)
	if err != nil {
		return nil, nil, err
	}
	c.markets.mu.Lock()
	defer c.markets.mu.Unlock()
	now := c.cfg.Clock()
	last := c.markets.last[registry]
	if last == nil {
		last = c.readMarket(dir, registry)
	}
	if last == nil || !last.good(s, now) {
		if last, err = c.newMarket(ctx, registry, last); err != nil {
			return nil, nil, err
		}
		c.writeMarket(dir, last)
	}
	if c.markets.last == nil {
		c.markets.last = map[string]*market{}
	}
	c.markets.last[registry] = last
	return slices.Clone(last.Offers), slices.Clone(last.Refused), nil
}

// newMarket verifies the newest version of every plugin. What was verified for
// the snapshot before, and is vouched for by the same files, isn't verified again.
func (c *Client) newMarket(ctx context.Context, registry string, before *market) (*market, error) {
	known := map[string]Offer{}
	if before != nil {
		for _, o := range before.Offers {
			known[o.Plugin()] = o
		}
	}
	var m *market
	err := c.withCatalog(ctx, registry, func(cat *catalog) error {
		m = &market{
			Type: typeMarket, Format: Format, Registry: registry, Snapshot: cat.state.SnapshotHash,
			Made: At(cat.now), Offers: []Offer{}, Refused: []Refused{},
		}
		keys := cat.vouchingKeys()
		for _, ref := range cat.plugins() {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("reading what registry %q has: %w", registry, err)
			}
			o, err := cat.offer(ref, known[ref.Plugin()], keys)
			switch e, ok := errors.AsType[*abi.Error](err); {
			case err == nil:
				m.Offers = append(m.Offers, o)
			case errors.Is(err, abi.ErrNotFound): // every version is yanked
			case ok && e.Code == abi.ErrUntrusted:
				m.Refused = append(m.Refused, Refused{ref.Plugin(), e.Code, e.Reason, e.Msg})
			default:
				return err
			}
		}
		return nil
	})
	return m, err
}

// offer verifies the newest version of a plugin, unless before is it.
func (c *catalog) offer(ref Ref, before Offer, keys string) (Offer, error) {
	x, err := c.index(ref)
	if err != nil {
		return Offer{}, err
	}
	v, ok := c.newestOf(x, ref)
	if !ok {
		return Offer{}, abi.Errorf(abi.ErrNotFound, "", "every version of %q is yanked", ref.Plugin())
	}
	vouched := c.vouched(ref.Namespace, keys)
	age := c.now.Sub(before.Checked.Time)
	if before.Version.same(v) && before.Vouched == vouched && age >= 0 && age < recheck {
		before.Version = v
		return before, nil
	}
	good, err := c.release(ref, v)
	if err != nil {
		return Offer{}, err
	}
	o := offerOf(good)
	o.Checked, o.Vouched = At(c.now), vouched
	return o, nil
}

// same reports whether two index entries mean the same bytes, listed at the same
// time: what is verified of a release depends on nothing else of them.
func (v Version) same(o Version) bool {
	return v.Version == o.Version && v.Release == o.Release && v.Published.Equal(o.Published.Time)
}

// newestOf is the newest version that is neither yanked nor revoked, or, if there is
// none, the newest that isn't yanked: the newest stable one if there is any.
func (c *catalog) newestOf(x *Index, ref Ref) (Version, bool) {
	var beta, revoked *Version
	for _, v := range slices.Backward(x.Versions) {
		stable := v.Channel == Stable && !strings.Contains(v.Version, "-")
		switch {
		case v.Yanked != "", !stable && beta != nil:
		case c.revoked(ref, v):
			if revoked == nil || stable && revoked.Channel != Stable {
				revoked = &v
			}
		case stable:
			return v, true
		default:
			beta = &v
		}
	}
	best := cmp.Or(beta, revoked)
	if best == nil {
		return Version{}, false
	}
	return *best, true
}

func offerOf(v *verified) Offer {
	o := Offer{
		Registry: v.Registry, Namespace: v.Namespace, Name: v.Name, Version: v.entry, Signer: v.signer.Primary,
		Category: v.Category, Title: v.Title, Description: v.Description, Origins: []string{}, Tools: []OfferTool{},
	}
	for _, c := range v.Connectors {
		o.Origins = append(o.Origins, c.Origins...)
		for i := range c.Tools {
			t := &c.Tools[i]
			o.Tools = append(o.Tools, OfferTool{c.ID + "_" + t.Name, t.Title, t.Description, t.IsDestructive()})
		}
	}
	return o
}

// vouchingKeys is a hash of everything in the snapshot that says which keys count.
func (c *catalog) vouchingKeys() string {
	h := sha256.New()
	fmt.Fprintf(h, "root %d\n", c.root.Version)
	for _, path := range slices.Sorted(maps.Keys(c.snapshot.Files)) {
		if strings.HasPrefix(path, "keys/") || path == revocationsPath {
			fmt.Fprintf(h, "%s %s\n", path, c.snapshot.Files[path].SHA256)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// vouched is a hash of what a release of a namespace rests on, but for its index.
func (c *catalog) vouched(namespace, keys string) string {
	return hashOf([]byte(keys + " " + namespace + " " + c.snapshot.Files[namespacePath(namespace)].SHA256))
}
