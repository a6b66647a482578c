package registry

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/go-version"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// index returns the verified index of a plugin.
func (c *catalog) index(ref Ref) (*Index, error) {
	path := indexPath(ref.Namespace, ref.Name)
	data, err := c.read(path)
	if errors.Is(err, abi.ErrNotFound) {
		return nil, abi.Errorf(abi.ErrNotFound, "", "registry %q has no plugin %q%s", c.root.Registry, ref.Plugin(),
			didYouMean(ref.Plugin(), pluginsOf(c.snapshot.Files))).WithHint("drawbridge search %s", ref.Name)
	}
	if err != nil {
		return nil, err
	}
	var x Index
	if err := decode(path, data, &x); err != nil {
		return nil, err
	}
	if x.Registry != c.root.Registry || x.Namespace != ref.Namespace || x.Name != ref.Name {
		return nil, refuse(abi.ReasonWrongName, c.signers, "%q is the index of %q in registry %q",
			path, x.Namespace+"/"+x.Name, x.Registry)
	}
	if err := c.compareIndex(ref.Plugin(), &x); err != nil {
		return nil, err
	}
	return &x, nil
}

// choose returns the newest version that ref asks for, past those that are revoked
// unless they are named. If all of them are, it is the newest, to say why. There is
// none if ok is false.
func (c *catalog) choose(x *Index, ref Ref, locked string) (v Version, ok bool, err error) {
	list, err := eligible(x, ref, locked)
	if err != nil || len(list) == 0 {
		return Version{}, false, err
	}
	for _, v := range list {
		if ref.exact(v.Version) || !c.revoked(ref, v) {
			return v, true, nil
		}
	}
	return list[0], true, nil
}

// passedOver tells of the newest version that ref asks for if another one was chosen.
func (c *catalog) passedOver(ref Ref, chosen Version) []Notice {
	x, err := c.index(ref)
	if err != nil {
		return nil // then none was chosen
	}
	list, err := eligible(x, ref, "")
	if err != nil || len(list) == 0 || compareVersions(list[0].Version, chosen.Version) <= 0 {
		return nil
	}
	if _, err = c.release(ref, list[0]); err == nil {
		return nil
	}
	return []Notice{{NoticePassedOver, fmt.Sprintf("version %q is newer and was passed over: %v", list[0].Version, err)}}
}

// revoked reports whether a version's release, its module by what the release says,
// or the key that signed it is on the list of revocations. A release that can't be
// read is not: whoever verifies it says what is wrong.
func (c *catalog) revoked(ref Ref, v Version) bool {
	return len(c.state.Artifacts) > 0 && c.artifactRevoked(ref, v) || len(c.state.Keys) > 0 && c.signerRevoked(ref, v)
}

func (c *catalog) signerRevoked(ref Ref, v Version) bool {
	_, err := c.release(ref, v)
	refused, ok := errors.AsType[*abi.Error](err)
	return ok && refused.Reason == abi.ReasonKeyRevoked
}

func (c *catalog) artifactRevoked(ref Ref, v Version) bool {
	if _, yes := c.state.revokedArtifact(v.Release.SHA256); yes {
		return true
	}
	path := releasePath(ref.Namespace, ref.Name, v.Version)
	data, err := c.files.ReadFile(path)
	if err != nil || !v.Release.matches(data) {
		return false
	}
	r, err := decodeRelease(path, data)
	if err != nil {
		return false
	}
	_, yes := c.state.revokedArtifact(r.Module.SHA256)
	return yes
}

// eligible lists the versions that ref asks for, the newest first. Beta versions are
// among them only when they or their channel are named, yanked ones when they are;
// locked is the installed version, which may be yanked.
func eligible(x *Index, ref Ref, locked string) (list []Version, err error) {
	constraints, err := ref.constraints()
	if err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "version constraint %q: %w", ref.Constraint, err)
	}
	for _, v := range slices.Backward(x.Versions) {
		parsed := version.Must(version.NewSemver(v.Version))
		named := ref.exact(v.Version)
		switch {
		case constraints != nil && !constraints.Check(parsed):
		case v.Yanked != "" && v.Version != locked:
		case !named && ref.Channel != Beta && (v.Channel != Stable || parsed.Prerelease() != "" && constraints == nil):
		default:
			list = append(list, v)
		}
	}
	return list, nil
}

// namespace returns who may publish in a namespace, verified once.
func (c *catalog) namespace(name string) (*Namespace, error) {
	if n, ok := c.spaces[name]; ok {
		return n, nil
	}
	n, err := c.readNamespace(name)
	if err != nil {
		return nil, err
	}
	c.spaces[name] = n
	return n, nil
}

func (c *catalog) readNamespace(name string) (*Namespace, error) {
	path := namespacePath(name)
	data, err := c.read(path)
	if err != nil {
		return nil, err
	}
	verdict, err := c.judge().verify(path, data, c.root.Roles.Owner, signing.Install)
	if err != nil {
		return nil, err
	}
	var n Namespace
	if err := decode(path, data, &n); err != nil {
		return nil, err
	}
	if n.Registry != c.root.Registry || n.Namespace != name {
		return nil, refuse(abi.ReasonWrongName, keysOf(verdict), "%q is of namespace %q in registry %q",
			path, n.Namespace, n.Registry)
	}
	if seen := c.state.Namespaces[name]; n.Version < seen {
		return nil, refuse(abi.ReasonSnapshotOlder, keysOf(verdict), "namespace %q version %d, version %d was seen",
			name, n.Version, seen)
	}
	c.state.Namespaces[name] = n.Version
	return &n, nil
}

// A verified is a release that passed every check, and what vouches for it.
type verified struct {
	abi.Release
	bytes  []byte
	sha256 string
	signer signing.Signer
	since  Time // from when on that key may publish here
	entry  Version
}

// release verifies one version of a plugin: the namespace's publisher signed
// exactly the bytes that the index lists, and they are what was asked for.
func (c *catalog) release(ref Ref, v Version) (*verified, error) {
	n, err := c.namespace(ref.Namespace)
	if err != nil {
		return nil, err
	}
	path := releasePath(ref.Namespace, ref.Name, v.Version)
	data, err := c.files.ReadFile(path)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	if err != nil || !v.Release.matches(data) {
		return nil, refuse(abi.ReasonTampered, c.signers, "%q isn't what the index lists", path)
	}
	signer, err := c.publisher(path, data, n, v)
	if err != nil {
		return nil, err
	}
	r, err := decodeRelease(path, data)
	if err != nil {
		return nil, err
	}
	if r.Registry != c.root.Registry || r.Namespace != ref.Namespace || r.Name != ref.Name || r.Version != v.Version {
		return nil, refuse(abi.ReasonWrongName, []signing.Fingerprint{signer.Primary},
			"%q is a release of %q version %q in registry %q", path, r.Namespace+"/"+r.Name, r.Version, r.Registry)
	}
	if a, ok := c.state.revokedArtifact(v.Release.SHA256, r.Module.SHA256); ok {
		return nil, refuse(abi.ReasonArtifactRevoked, []signing.Fingerprint{signer.Primary},
			"%q version %q is revoked: %q", ref.Plugin(), v.Version, a.Reason)
	}
	return &verified{r, data, v.Release.SHA256, signer, n.since(signer.Primary, v.Published), v}, nil
}

// publisher verifies who signed a release. Everything is judged at the date on which
// the registry first listed the release, which its snapshot key attests: the
// publisher's right, and whether the key was good. A signature can be backdated, so
// its own date says nothing; and a key that expires later takes nothing back. A key
// that was stolen is in the list of revocations, which counts at any date.
func (c *catalog) publisher(path string, data []byte, n *Namespace, v Version) (signing.Signer, error) {
	keys := n.publishersAt(v.Published)
	if len(keys) == 0 {
		return signing.Signer{}, refuse(abi.ReasonUnknownKey, nil,
			"namespace %q has no publisher at %s", n.Namespace, v.Published)
	}
	if v.Published.After(c.snapshot.Issued.Time) {
		return signing.Signer{}, refuse(abi.ReasonMalformed, c.signers,
			"%q is listed as published at %s, after its snapshot of %s", path, v.Published, c.snapshot.Issued)
	}
	verdict, err := judge{c.readBeside, v.Published.Time}.verify(path, data, Role{Keys: keys, Threshold: 1}, signing.Install)
	if err != nil {
		return signing.Signer{}, err
	}
	signer := verdict.Signer()
	return signer, c.checkNotRevoked([]signing.Fingerprint{signer.Primary, signer.Key}, path)
}
