package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// indexes reads every index of a catalog, by plugin.
func indexes(cat *catalog, refused func(path string, err error)) map[string]*Index {
	all := map[string]*Index{}
	for _, ref := range cat.plugins() {
		x, err := cat.index(ref)
		if err != nil {
			refused(indexPath(ref.Namespace, ref.Name), err)
			continue
		}
		all[ref.Plugin()] = x
	}
	return all
}

// isRelease reports whether a path is that of a release.
func isRelease(path string) bool {
	return strings.HasPrefix(path, "connectors/") && strings.HasSuffix(path, ".json") && !strings.HasSuffix(path, "/index.json") && knownFile(path)
}

// lists reports whether one of the indexes lists the release at path.
func lists(all map[string]*Index, path string) bool {
	parts := strings.Split(strings.TrimSuffix(path, ".json"), "/")
	if len(parts) != 4 {
		return false
	}
	x, ok := all[parts[1]+"/"+parts[2]]
	return ok && slices.ContainsFunc(x.Versions, func(v Version) bool { return v.Version == parts[3] })
}

// releases verifies every version that the new index lists, and every release that
// none lists yet.
func (c *checker) releases(ctx context.Context) error {
	if c.is != nil {
		for _, ref := range c.is.plugins() {
			if x, ok := c.isIndex[ref.Plugin()]; ok {
				c.plugin(ref, x)
			}
		}
	}
	var waiting []string
	for _, path := range slices.Sorted(maps.Keys(c.head.files)) {
		release, isSig := strings.CutSuffix(path, ".asc")
		if _, signed := c.head.files[release]; isSig && !signed && isRelease(release) {
			c.refuse(path, coded(codeUnknown, "%q is a signature of nothing", path))
		}
		switch {
		case !isRelease(path) || lists(c.wasIndex, path) || lists(c.isIndex, path):
		case !c.whole && c.same(path) && c.head.files[signaturePath(path)] == c.base.files[signaturePath(path)]:
			waiting = append(waiting, path)
		default:
			c.say("checking %s", path)
			c.proposal(path)
		}
	}
	if len(waiting) > 0 {
		c.notice(waiting[0], codeWaiting, "%d releases that no index lists wait in the base already, and are no part of this change", len(waiting))
	}
	return ctx.Err()
}

// plugin compares an index with the base's, and verifies what it lists.
func (c *checker) plugin(ref Ref, x *Index) {
	path := indexPath(ref.Namespace, ref.Name)
	old, ok := c.wasIndex[ref.Plugin()]
	if _, there := c.was.snapshot.Files[path]; there && !ok {
		c.refuse(path, errors.New("the base's can't be read, so there is nothing to compare it with"))
		return
	}
	if !ok {
		old = &Index{Namespace: ref.Namespace, Name: ref.Name}
		c.name(ref.Plugin(), path)
	}
	c.compare(old, x)
	if _, err := c.is.namespace(ref.Namespace); err != nil {
		c.refuse(namespacePath(ref.Namespace), err)
		return
	}
	for _, v := range x.Versions {
		c.listed(ref, old, v)
	}
}

// listed verifies a version that the new index lists, as a client will. One that the
// base lists too, with all that its signature is judged by, has only to be there.
func (c *checker) listed(ref Ref, old *Index, v Version) {
	before, known := old.find(v.Version)
	if known && !c.whole && c.untouched(ref, v) {
		c.there(ref, v)
		if before.Channel == v.Channel || v.Channel != Stable {
			return
		}
	}
	path := releasePath(ref.Namespace, ref.Name, v.Version)
	c.say("checking %s@%s", ref.Plugin(), v.Version)
	r, err := c.is.release(ref, v)
	e, _ := errors.AsType[*abi.Error](err)
	switch {
	case err == nil:
	case known && e != nil && (e.Reason == abi.ReasonArtifactRevoked || e.Reason == abi.ReasonKeyRevoked):
		if c.whole { // else the changes tell
			c.notice(path, string(e.Reason), "%v", err) // it is listed, and nobody gets it
		}
		return
	default:
		c.refuse(path, err)
		return
	}
	if !known || before.Channel != v.Channel && v.Channel == Stable {
		c.growth(old, r.Release, v.Channel)
	}
	c.want(path, r.Release, known && !c.whole)
}

func (x *Index) find(version string) (Version, bool) {
	i := slices.IndexFunc(x.Versions, func(v Version) bool { return v.Version == version })
	if i < 0 {
		return Version{}, false
	}
	return x.Versions[i], true
}

// untouched reports whether everything that a release's signature is judged by is
// the very object that it is in the base: release and signature, the namespace, and
// its publishers' certificates. What the roots say of the namespace is looked at
// once for each.
func (c *checker) untouched(ref Ref, v Version) bool {
	path := releasePath(ref.Namespace, ref.Name, v.Version)
	if !c.same(path) || !c.same(signaturePath(path)) {
		return false
	}
	same, known := c.sameSpaces[ref.Namespace]
	if !known {
		same = c.sameSpace(ref.Namespace)
		c.sameSpaces[ref.Namespace] = same
	}
	return same
}

func (c *checker) sameSpace(namespace string) bool {
	path := namespacePath(namespace)
	n, err := c.is.namespace(namespace)
	if err != nil || !c.same(path) || !c.same(signaturePath(path)) {
		return false
	}
	return !slices.ContainsFunc(n.Publishers, func(p Publisher) bool {
		if _, revoked := c.is.state.revokedKey(p.Key); revoked {
			return true
		}
		_, is := c.head.files[keyPath(p.Key)]
		_, was := c.base.files[keyPath(p.Key)]
		return (is || was) && !c.same(keyPath(p.Key))
	})
}

// same reports whether a file is the object that it is in the base.
func (c *checker) same(path string) bool {
	is, ok := c.head.files[path]
	return ok && is == c.base.files[path]
}

// there looks whether an untouched release is what the index lists and is signed, and
// notes its module. Its rules were looked at when it was new; its signature may have
// been broken in the base since.
func (c *checker) there(ref Ref, v Version) {
	path := releasePath(ref.Namespace, ref.Name, v.Version)
	data, err := c.head.ReadFile(path)
	if err == nil && !v.Release.matches(data) {
		err = refuse(abi.ReasonTampered, c.is.signers, "%q isn't what the index lists", path)
	}
	if err == nil {
		err = c.stillSigned(ref, v, path, data)
	}
	var r abi.Release
	if err == nil {
		err = strictjson.Decode(data, &r)
	}
	if err != nil {
		c.refuse(path, err)
		return
	}
	if _, revoked := c.is.state.revokedArtifact(v.Release.SHA256, r.Module.SHA256); !revoked {
		c.want(path, r, true)
	}
}

// stillSigned verifies the signature of a release that the base lists too. A key that
// its owner has revoked is told where it is new.
func (c *checker) stillSigned(ref Ref, v Version, path string, data []byte) error {
	n, err := c.is.namespace(ref.Namespace)
	if err != nil {
		return err
	}
	_, err = c.is.publisher(path, data, n, v)
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Reason == abi.ReasonKeyRevoked {
		return nil
	}
	return err
}
