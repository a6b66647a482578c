package registry

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Details are all that is known of one plugin.
type Details struct {
	Plugin   string // namespace/name
	Registry Registry
	Version  Version // as the index lists it; zero if the registry could not be read
	Release  abi.Release
	Signer   signing.Signer
	UserIDs  []string // of the signer's certificate: its owner's words
	// Refused says why this version can't be installed; Release is zero then, or
	// what is installed, if it is this one.
	Refused error
	History []Past // newest first, at most maxPast
	Older   int    // how many more there are

	Installed *Entry       // its lock entry; nil if it isn't installed
	Running   *abi.Release // what is installed; nil if nothing is, or it is damaged
	Warning   string       // that the registry's snapshot has expired, or soon will
}

// A Past is one version of a plugin's history, after its signature was checked.
type Past struct {
	Version
	Signer  signing.Fingerprint // empty if it is refused
	Refused error               // *abi.Error: why it can't be installed, such as a revocation
}

// maxPast is how many versions of a plugin are looked at for its history.
const maxPast = 30

// Details tells about the version that ref means, and the plugin's history. What is
// installed is told about even if its registry can't be read; Refused says why.
func (c *Client) Details(ctx context.Context, ref Ref) (Details, error) {
	d := Details{Plugin: ref.Plugin(), History: []Past{}}
	lock, err := readLock(c.lockPath())
	if err != nil {
		return d, err
	}
	if e := lock.find(ref.Plugin()); e != nil {
		kept := *e
		d.Installed = &kept
		if r, err := c.readRelease(kept); err == nil {
			d.Running = &r
		}
	}
	id, _, err := c.registryOf(ctx, ref, lock)
	if err != nil {
		return d, err
	}
	s, _, err := c.registryState(id)
	if err == nil {
		d.Registry = s.registry()
		err = c.withCatalog(ctx, id, func(cat *catalog) error {
			return cat.details(&d, ref.following(d.Installed), lockedVersion(lock, ref))
		})
	}
	if err != nil && d.Installed != nil && d.Running != nil {
		d.Refused, d.Release = err, *d.Running
		return d, nil
	}
	return d, err
}

func (c *catalog) details(d *Details, ref Ref, locked string) error {
	d.Warning = cmp.Or(c.expired, c.ageing)
	x, err := c.index(ref)
	if err != nil {
		return err
	}
	v, err := c.meant(x, ref, locked)
	if err != nil {
		return err
	}
	d.Version = v
	good, err := c.release(ref, v)
	switch {
	case err == nil:
		d.Release, d.Signer, d.UserIDs = good.Release, good.signer, c.userIDs(good.signer.Primary)
	case !errors.Is(err, abi.ErrUntrusted):
		return err
	default:
		d.Refused = err
		if d.Running != nil && d.Installed.Release.SHA256 == v.Release.SHA256 {
			d.Release = *d.Running
		}
	}
	c.history(d, ref, x)
	return nil
}

// meant is the version that a reference means. A plugin that has none that would
// be installed has its newest one.
func (c *catalog) meant(x *Index, ref Ref, locked string) (Version, error) {
	candidate, err := c.resolve(ref, locked)
	if err == nil {
		return candidate.Version, nil
	}
	if ref.Constraint != "" || ref.Channel != "" {
		for _, v := range x.Versions { // a yanked one that is named is told about
			if ref.exact(v.Version) {
				return v, nil
			}
		}
		return Version{}, err
	}
	if v, ok := c.newestOf(x, ref); ok {
		return v, nil
	}
	if len(x.Versions) == 0 || !errors.Is(err, abi.ErrNotFound) {
		return Version{}, err
	}
	return x.Versions[len(x.Versions)-1], nil
}

func (c *catalog) history(d *Details, ref Ref, x *Index) {
	for _, v := range slices.Backward(x.Versions) {
		if len(d.History) == maxPast {
			break
		}
		p := Past{Version: v}
		if good, err := c.release(ref, v); err != nil {
			p.Refused = err
		} else {
			p.Signer = good.signer.Primary
		}
		d.History = append(d.History, p)
	}
	d.Older = len(x.Versions) - len(d.History)
}

// userIDs are what a publisher's certificate says its owner is called.
func (c *catalog) userIDs(f signing.Fingerprint) []string {
	data, err := c.readBeside(keyPath(f))
	if err != nil {
		return nil
	}
	cert, err := signing.ReadCertificate(data, f)
	if err != nil {
		return nil
	}
	info, err := cert.Info(c.now)
	if err != nil {
		return nil
	}
	return info.UserIDs
}
