package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// maxReason bounds the text of a yank or a revocation, in bytes.
const maxReason = 500

// Yank keeps a version from being chosen. Who has it keeps it. It needs the
// snapshot keys.
func (m *Maintainer) Yank(ctx context.Context, keys Keys, ref Ref, version, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	return m.yank(ctx, keys, "yank", ref, version, func(v *Version) error {
		v.Yanked = reason
		return nil
	})
}

// Unyank lets a version be chosen again. It needs the snapshot keys.
func (m *Maintainer) Unyank(ctx context.Context, keys Keys, ref Ref, version string) error {
	return m.yank(ctx, keys, "unyank", ref, version, func(v *Version) error {
		if v.Yanked == "" {
			return abi.Errorf(abi.ErrInvalidArgs, "", "version %q of %q isn't yanked", version, ref.Plugin())
		}
		v.Yanked = ""
		return nil
	})
}

func (m *Maintainer) yank(ctx context.Context, keys Keys, what string, ref Ref, version string, change func(*Version) error) error {
	return m.change(ctx, keys, what+" "+ref.Plugin()+" "+version, func(e *edit) error {
		x, v, err := e.version(ref, version)
		if err != nil {
			return err
		}
		if err := change(v); err != nil {
			return err
		}
		_, err = e.put(indexPath(ref.Namespace, ref.Name), x)
		return err
	})
}

// version finds a version of a plugin in its index, which the caller may change.
func (e *edit) version(ref Ref, version string) (*Index, *Version, error) {
	var x Index
	path := indexPath(ref.Namespace, ref.Name)
	if _, ok := e.files[path]; !ok {
		return nil, nil, abi.Errorf(abi.ErrNotFound, "", "the registry has no plugin %q%s", ref.Plugin(), didYouMean(ref.Plugin(), pluginsOf(e.files))).
			WithHint("drawbridge registry log DIR lists what was published")
	}
	if err := e.get(path, &x); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(x.Versions, func(v Version) bool { return v.Version == version })
	if i < 0 {
		return nil, nil, abi.Errorf(abi.ErrNotFound, "", "no version %q of %q", version, ref.Plugin()).WithHint("%s", x.newest())
	}
	return &x, &x.Versions[i], nil
}

// newest names the newest versions, for whoever mistyped one.
func (x *Index) newest() string {
	const most = 5
	names := []string{}
	for _, v := range slices.Backward(x.Versions) {
		if len(names) == most {
			break
		}
		names = append(names, v.Version)
	}
	if len(x.Versions) > most {
		return "the newest versions: " + strings.Join(names, ", ")
	}
	return "the versions there are: " + strings.Join(names, ", ")
}

func checkReason(reason string) error {
	if strings.TrimSpace(reason) == "" || len(reason) > maxReason {
		return abi.Errorf(abi.ErrInvalidArgs, "", "the reason has %d bytes, want one that helps, of at most %d", len(reason), maxReason)
	}
	return nil
}

// A Revocation names what must not be used any more, wherever it is installed.
type Revocation struct {
	Keys      []signing.Fingerprint
	Artifacts []string // sha256 of modules or releases
	Versions  []Ref    // with the version as constraint: its release, and its module if no other version uses it
	Modules   bool     // the modules of Versions in any case, and with them what else uses them
	Reason    string
}

// Revoke adds to the revocation list; there is no way back. It needs the
// revocation and the snapshot keys. A key that the registry itself needs is
// refused: with it revoked, clients would refuse everything.
func (m *Maintainer) Revoke(ctx context.Context, keys Keys, rev Revocation) error {
	if err := checkReason(rev.Reason); err != nil {
		return err
	}
	return m.change(ctx, keys, "revoke", func(e *edit) error {
		var r Revocations
		if err := e.get(revocationsPath, &r); err != nil {
			return err
		}
		p, err := e.plan(rev)
		if err != nil {
			return err
		}
		before := len(r.Keys) + len(r.Artifacts)
		r.addKeys(rev, At(e.now))
		r.addArtifacts(p.hashes, rev.Reason, At(e.now))
		if len(r.Keys)+len(r.Artifacts) == before {
			return abi.Errorf(abi.ErrInvalidArgs, "", "all of it is revoked already")
		}
		r.Version++
		return e.putSigned(revocationsPath, &r, keys.Revocation)
	})
}

func (r *Revocations) addKeys(rev Revocation, since Time) {
	for _, k := range rev.Keys {
		if !slices.ContainsFunc(r.Keys, func(old RevokedKey) bool { return old.Key == k }) {
			r.Keys = append(r.Keys, RevokedKey{k, rev.Reason, since})
		}
	}
	slices.SortFunc(r.Keys, func(a, b RevokedKey) int { return strings.Compare(string(a.Key), string(b.Key)) })
}

func (r *Revocations) addArtifacts(hashes []string, reason string, since Time) {
	for _, h := range hashes {
		if !slices.ContainsFunc(r.Artifacts, func(old RevokedArtifact) bool { return old.SHA256 == h }) {
			r.Artifacts = append(r.Artifacts, RevokedArtifact{h, reason, since})
		}
	}
	slices.SortFunc(r.Artifacts, func(a, b RevokedArtifact) int { return strings.Compare(a.SHA256, b.SHA256) })
}
