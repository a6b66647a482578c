package registry

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// publishSame publishes a version with the module of another one.
func (f *fixture) publishSame(version, module string) error {
	return f.m.Publish(f.t.Context(), f.keys, f.same(version, module))
}

func (f *fixture) same(version, module string) Submission {
	f.t.Helper()
	r := f.releaseOf(version)
	r.Module = f.releaseOf(module).Module
	s := f.submission(r, f.publisher)
	s.Wasm = wasmOf(module)
	return s
}

func versions(list ...string) (refs []Ref) {
	for _, v := range list {
		refs = append(refs, Ref{Namespace: "acme", Name: "tracker", Constraint: v})
	}
	return refs
}

func TestARevocationLeavesASharedModule(t *testing.T) {
	t.Parallel()
	f := newFixture(t) // has 1.0.0
	ctx := t.Context()
	f.must(f.publishSame("1.1.0", "1.0.0"))
	f.must(f.publishSame("1.2.0", "1.0.0"))
	for name, tt := range map[string]struct {
		rev           Revocation
		shared, stops []string
	}{
		"one":            {Revocation{Versions: versions("1.1.0")}, []string{"acme/tracker@1.0.0", "acme/tracker@1.2.0"}, nil},
		"two":            {Revocation{Versions: versions("1.1.0", "1.2.0")}, []string{"acme/tracker@1.0.0"}, nil},
		"all":            {Revocation{Versions: versions("1.0.0", "1.1.0", "1.2.0")}, nil, nil},
		"with module":    {Revocation{Versions: versions("1.1.0"), Modules: true}, nil, []string{"acme/tracker@1.0.0", "acme/tracker@1.2.0"}},
		"module by hash": {Revocation{Artifacts: []string{hashOf(wasmOf("1.0.0"))}}, nil, []string{"acme/tracker@1.0.0", "acme/tracker@1.1.0", "acme/tracker@1.2.0"}},
	} {
		p, err := f.m.PlanRevocation(ctx, tt.rev)
		f.must(err)
		if !slices.Equal(p.Shared, tt.shared) || !slices.Equal(p.Stops, tt.stops) {
			t.Errorf("%s: plan %+v", name, p)
		}
	}
	f.must(f.m.Revoke(ctx, f.keys, Revocation{Versions: versions("1.2.0"), Reason: "evil"}))
	if e := f.mustInstall(versions("1.1.0")[0]); e.Version != "1.1.0" {
		t.Errorf("%s is installed", e.Version)
	}
	f.must(f.m.Revoke(ctx, f.keys, Revocation{Versions: versions("1.1.0"), Modules: true, Reason: "evil"}))
	_, err := f.client.Refresh(ctx, "main")
	f.must(err)
	_, err = f.client.Load("acme/tracker")
	wantRefused(t, err, abi.ReasonArtifactRevoked, f.publisher)
}

// With the others revoked already, nothing keeps the module.
func TestARevocationTakesAModuleOfRevokedVersions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.publishSame("1.1.0", "1.0.0"))
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Versions: versions("1.0.0"), Reason: "evil"}))
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Versions: versions("1.1.0"), Reason: "evil"}))
	var r Revocations
	f.must(decode(revocationsPath, f.files()[revocationsPath], &r))
	if _, ok := r.artifact(hashOf(wasmOf("1.0.0"))); !ok || len(r.Artifacts) != 3 {
		t.Errorf("revoked %+v", r.Artifacts)
	}
}

func TestWhatIsRevokedIsNotPublished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	next := f.submission(f.releaseOf("1.2.0"), f.publisher)
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{
		Artifacts: []string{hashOf(wasmOf("1.1.0")), hashOf(next.Release)}, Reason: "evil",
	}))
	for name, s := range map[string]Submission{
		"its module":      f.submission(f.releaseOf("1.1.0"), f.publisher),
		"another release": f.same("1.3.0", "1.1.0"),
		"its release":     next,
	} {
		r, err := release.ParseRelease(s.Release)
		f.must(err)
		err = f.m.Publish(t.Context(), f.keys, s)
		wantRefused(t, err, abi.ReasonArtifactRevoked)
		if _, ok := f.files()[releasePath(r.Namespace, r.Name, r.Version)]; ok {
			t.Errorf("%s: it is there", name)
		}
	}
}

// A version that is revoked comes back under no number, and its publisher's key
// publishes nothing more, in either way.
func TestWhatARevokedPublisherSignsIsNotPublished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Versions: versions("1.0.0"), Reason: "evil"}))
	for name, s := range map[string]Submission{
		"the version":                   f.submission(f.releaseOf("1.0.0"), f.publisher),
		"its module under a higher one": f.same("1.1.0", "1.0.0"),
	} {
		t.Log(name)
		wantRefused(t, f.m.Publish(t.Context(), f.keys, s), abi.ReasonArtifactRevoked)
		wantRefused(t, f.m.PublishAll(t.Context(), f.keys, []Submission{s}), abi.ReasonArtifactRevoked)
	}
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen"}))
	next := f.submission(f.releaseOf("1.1.0"), f.publisher)
	before := f.files()
	wantRefused(t, f.m.Publish(t.Context(), f.keys, next), abi.ReasonKeyRevoked, f.publisher)
	wantRefused(t, f.m.PublishAll(t.Context(), f.keys, []Submission{next}), abi.ReasonKeyRevoked, f.publisher)
	if after := f.files(); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("the registry has changed")
	}
}
