package registry

import (
	"errors"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// proposal verifies a release that no index lists yet, as Accept will.
func (c *checker) proposal(path string) {
	cat := c.was
	if c.is != nil {
		cat = c.is
	}
	data, err := c.head.ReadFile(path)
	if err != nil {
		c.refuse(path, err)
		return
	}
	r, err := decodeRelease(path, data)
	if err != nil {
		c.refuse(path, err)
		return
	}
	if r.Registry != cat.root.Registry || releasePath(r.Namespace, r.Name, r.Version) != path {
		c.refuse(path, refuse(abi.ReasonWrongName, nil, "%q is a release of %q version %q in registry %q", path, r.Namespace+"/"+r.Name, r.Version, r.Registry))
		return
	}
	proposed := ProposedRelease{Plugin: r.Namespace + "/" + r.Name, Version: r.Version, Module: r.Module.SHA256, Path: path}
	signer, err := c.signer(cat, r, path, data)
	c.refuse(path, err)
	proposed.Signer = signer.Primary
	c.report.Proposed = append(c.report.Proposed, proposed)
	if err != nil {
		return // anybody can write one, and the rest takes its time
	}
	c.place(cat, r, path)
	if a, ok := cat.state.revokedArtifact(hashOf(data), r.Module.SHA256); ok {
		c.refuse(path, refuse(abi.ReasonArtifactRevoked, nil, "%q version %q is revoked: %q", proposed.Plugin, r.Version, a.Reason))
	}
	c.want(path, r, false)
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
