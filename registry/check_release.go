package registry

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// listed verifies a version that the new index lists, as a client will, and its
// module.
func (c *checker) listed(ctx context.Context, ref Ref, old *Index, v Version) error {
	path := releasePath(ref.Namespace, ref.Name, v.Version)
	r, err := c.is.release(ref, v)
	e, _ := errors.AsType[*abi.Error](err)
	switch {
	case err == nil:
	case c.whole && e != nil && (e.Reason == abi.ReasonArtifactRevoked || e.Reason == abi.ReasonKeyRevoked):
		c.notice(path, string(e.Reason), "%v", err) // it is listed, and nobody gets it
		return nil
	default:
		c.refuse(path, err)
		return nil
	}
	if !c.whole {
		c.growth(old, r.Release, v.Channel)
	}
	return c.module(ctx, path, r.Release)
}

// proposal verifies a release that no index lists yet, as Accept will.
func (c *checker) proposal(ctx context.Context, path string) error {
	cat := c.was
	if c.is != nil {
		cat = c.is
	}
	data, err := c.head.ReadFile(path)
	if err != nil {
		c.refuse(path, err)
		return nil
	}
	r, err := decodeRelease(path, data)
	if err != nil {
		c.refuse(path, err)
		return nil
	}
	if r.Registry != cat.root.Registry || releasePath(r.Namespace, r.Name, r.Version) != path {
		c.refuse(path, refuse(abi.ReasonWrongName, nil, "%q is a release of %q version %q in registry %q", path, r.Namespace+"/"+r.Name, r.Version, r.Registry))
		return nil
	}
	proposed := ProposedRelease{Plugin: r.Namespace + "/" + r.Name, Version: r.Version, Module: r.Module.SHA256, Path: path}
	signer, err := c.signer(cat, r, path, data)
	c.refuse(path, err)
	proposed.Signer = signer.Primary
	c.report.Proposed = append(c.report.Proposed, proposed)
	c.place(cat, r, path)
	if a, ok := cat.state.revokedArtifact(hashOf(data), r.Module.SHA256); ok {
		c.refuse(path, refuse(abi.ReasonArtifactRevoked, nil, "%q version %q is revoked: %q", proposed.Plugin, r.Version, a.Reason))
	}
	return c.module(ctx, path, r)
}

// signer verifies a proposed release's signature: its publisher's, today.
func (c *checker) signer(cat *catalog, r abi.Release, path string, data []byte) (signing.Signer, error) {
	n, err := cat.namespace(r.Namespace)
	if errors.Is(err, abi.ErrNotFound) {
		return signing.Signer{}, refuse(abi.ReasonUnknownKey, nil, "nobody may publish in %q yet", r.Namespace)
	}
	if err != nil {
		return signing.Signer{}, err
	}
	keys := n.publishersAt(At(c.now))
	read := func(p string) ([]byte, error) {
		if strings.HasPrefix(p, "keys/") {
			return cat.readBeside(p)
		}
		return c.head.ReadFile(p)
	}
	verdict, err := judge{read, c.now}.verify(path, data, Role{Keys: keys, Threshold: 1}, signing.Install)
	if err != nil {
		return signing.Signer{}, err
	}
	signer := verdict.Signer()
	return signer, cat.checkNotRevoked([]signing.Fingerprint{signer.Primary, signer.Key}, path)
}

// place looks at where a proposed release would stand: its name, and its version
// above all others.
func (c *checker) place(cat *catalog, r abi.Release, path string) {
	ref := Ref{Registry: r.Registry, Namespace: r.Namespace, Name: r.Name}
	x, err := cat.index(ref)
	if errors.Is(err, abi.ErrNotFound) {
		c.name(ref.Plugin(), path)
		c.growth(&Index{}, r, c.opts.Channel)
		return
	}
	if err != nil {
		c.refuse(path, err)
		return
	}
	if n := len(x.Versions); n > 0 && compareVersions(x.Versions[n-1].Version, r.Version) >= 0 {
		c.refuse(path, coded(codeNotHigher, "version %q isn't above %q, the newest of %q", r.Version, x.Versions[n-1].Version, r.Name))
	}
	c.growth(x, r, c.opts.Channel)
}

// name compares a new plugin's name with those that there are.
func (c *checker) name(plugin, path string) {
	if slices.Contains(c.opts.Allow, plugin) {
		return
	}
	told := map[string]bool{}
	for _, cat := range []*catalog{c.was, c.is} {
		if cat == nil {
			continue
		}
		for _, ref := range cat.plugins() {
			why, ok := LooksLike(plugin, ref.Plugin())
			if !ok || told[ref.Plugin()] {
				continue
			}
			told[ref.Plugin()] = true
			if ns, _, _ := strings.Cut(plugin, "/"); ns == ref.Namespace {
				c.notice(path, codeName, "%q looks like %q, of the same namespace: they %s", plugin, ref.Plugin(), why)
				continue
			}
			c.refuse(path, coded(codeName, "%q looks like %q: %s; --allow %s says that somebody looked at it", plugin, ref.Plugin(), why, plugin))
		}
	}
}

// growth compares a release with the newest one below it that users of its channel
// have: a beta that widened is none of those who follow stable versions.
func (c *checker) growth(x *Index, r abi.Release, channel Channel) {
	g := Growth{Plugin: r.Namespace + "/" + r.Name, To: r.Version, Added: []string{}, Removed: []string{}, Told: []string{}}
	before, ok := c.offeredBelow(x, r.Version, channel)
	if ok {
		g.From = before.Version
	}
	if g.From == "" {
		g.Added = release.Explain(r, nil)
	} else {
		g.compare(before, r)
	}
	c.report.Growth = append(c.report.Growth, g)
}

// compare fills in what a person is asked about when they update, and what not.
func (g *Growth) compare(before, after abi.Release) {
	for _, c := range release.Compare(before, after, nil) {
		switch c.Kind {
		case release.Wider:
			g.Added = append(g.Added, c.String())
		case release.Narrower:
			g.Removed = append(g.Removed, c.String())
		case release.Told, release.Noted:
			g.Told = append(g.Told, c.String())
		}
	}
}

// offeredBelow is the newest release below a version that a channel offers: neither
// yanked nor revoked, and for any channel but beta a stable one.
func (c *checker) offeredBelow(x *Index, version string, channel Channel) (abi.Release, bool) {
	for _, v := range slices.Backward(x.Versions) {
		if compareVersions(v.Version, version) >= 0 || v.Yanked != "" || (channel != Beta && v.Channel != Stable) {
			continue
		}
		path := releasePath(x.Namespace, x.Name, v.Version)
		data, err := c.was.files.ReadFile(path)
		if err != nil || !v.Release.matches(data) {
			return abi.Release{}, false
		}
		r, err := decodeRelease(path, data)
		if err != nil {
			return abi.Release{}, false
		}
		if _, revoked := c.was.state.revokedArtifact(v.Release.SHA256, r.Module.SHA256); !revoked {
			return r, true
		}
	}
	return abi.Release{}, false
}

// module finds a release's module and has it looked at.
func (c *checker) module(ctx context.Context, path string, r abi.Release) error {
	if r.Module == (abi.Module{}) {
		return nil // a kind that this host doesn't run
	}
	if r.Module.Size > abi.MaxModule {
		c.refuse(path, abi.Errorf(abi.ErrLimitExceeded, "", "the module has %d bytes, the limit is %d", r.Module.Size, abi.MaxModule))
		return nil
	}
	for _, from := range c.modules {
		var wasm []byte
		err := inScratch(func(dir string) (err error) {
			wasm, err = fetchArtifact(ctx, dir, from, r.Module)
			return err
		})
		if noSuchRef(err) {
			continue
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && (int64(len(wasm)) != r.Module.Size || hashOf(wasm) != r.Module.SHA256):
			err = refuse(abi.ReasonTampered, nil, "the module at %q isn't the one that the release names", artifactRef(r.Module.SHA256))
		case err == nil && c.opts.Admit != nil:
			err = c.opts.Admit(ctx, r, wasm)
		}
		c.refuse(path, err)
		return nil
	}
	c.refuse(path, coded(codeModule, "its module is nowhere: push it as the tag drawbridge/artifacts/%s, and name the fork with --modules", r.Module.SHA256))
	return nil
}
