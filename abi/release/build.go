package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// BuildInfo is what a release says beyond its manifest.
type BuildInfo struct {
	Registry  string           // id of the registry that the release is for
	Namespace string           // the publisher's, in that registry
	Module    []byte           // the WASM bytes; nil for categories that have none
	ModuleURL string           // https URL, where the module is not in the registry; may be empty
	ABI       abi.VersionRange // zero is the current version
	// Imports are the names that the module imports from abi.Namespace. They
	// must equal the capabilities that its tools declare.
	Imports []string
	Commit  string // object id of the source; "" keeps the manifest's
}

// Build makes a release of a manifest that ParseManifest accepted. The result is
// what ParseRelease reads back from its canonical form. Errors are *abi.Error of
// code invalid_args.
func Build(m abi.Manifest, info BuildInfo) (abi.Release, error) {
	r, err := build(m, info)
	if err != nil {
		return abi.Release{}, abi.Errorf(abi.ErrInvalidArgs, "building the release", "%w", err)
	}
	return r, nil
}

func build(m abi.Manifest, info BuildInfo) (abi.Release, error) {
	if err := Validate(m); err != nil {
		return abi.Release{}, err
	}
	r := fromManifest(m)
	r.Registry, r.Namespace = info.Registry, info.Namespace
	r.ABI = info.ABI
	if r.ABI == (abi.VersionRange{}) {
		r.ABI = abi.VersionRange{Min: abi.Version, Max: abi.Version}
	}
	if info.Commit != "" {
		r.Source.Commit = info.Commit
	}
	if len(info.Module) > 0 {
		sum := sha256.Sum256(info.Module)
		r.Module = abi.Module{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(info.Module)), URL: info.ModuleURL}
	}
	if err := checkImports(r.Capabilities, info.Imports); err != nil {
		return abi.Release{}, err
	}
	if err := validateRelease(&r); err != nil {
		return abi.Release{}, err
	}
	text, err := Canonical(r)
	if err != nil {
		return abi.Release{}, err
	}
	return parseRelease(text)
}

func fromManifest(m abi.Manifest) abi.Release {
	r := abi.Release{
		Type: abi.ReleaseType, Format: abi.ReleaseFormat,
		Name: m.Name, Version: m.Version, Category: m.Category, Title: m.Title, Description: m.Description,
		License: m.License, Homepage: m.Homepage, Source: m.Source, Maintainers: m.Maintainers,
		Connectors: spellOut(m.Connectors),
	}
	r.Capabilities = capabilityUnion(r.Connectors)
	return r
}

func toManifest(r abi.Release) abi.Manifest {
	return abi.Manifest{
		Name: r.Name, Version: r.Version, Category: r.Category, Title: r.Title, Description: r.Description,
		License: r.License, Homepage: r.Homepage, Source: r.Source, Maintainers: r.Maintainers, Connectors: r.Connectors,
	}
}

// SpellOut copies connectors with every list and flag that a reviewer looks for
// written down: an absent destructive is true.
func spellOut(connectors []abi.Connector) []abi.Connector {
	out := abi.Manifest{Connectors: slices.Clone(connectors)}
	for i := range out.Connectors {
		c := &out.Connectors[i]
		c.Tools = slices.Clone(c.Tools)
		for j := range c.Tools {
			t := &c.Tools[j]
			destructive := t.IsDestructive()
			t.Destructive = &destructive
			t.Capabilities = slices.Sorted(slices.Values(t.Capabilities))
		}
	}
	fillEmpty(&out)
	return out.Connectors
}

func capabilityUnion(connectors []abi.Connector) []abi.Capability {
	union := []abi.Capability{}
	for _, c := range connectors {
		for _, t := range c.Tools {
			union = append(union, t.Capabilities...)
		}
	}
	slices.Sort(union)
	return slices.Compact(union)
}

// CheckImports compares both ways: a surplus import is a capability that nobody
// reviewed, a missing one a declaration that frightens for nothing.
func checkImports(declared []abi.Capability, imports []string) error {
	for _, name := range imports {
		if !slices.Contains(declared, abi.Capability(name)) {
			return fmt.Errorf("the module imports %q and no tool has that capability", shorten(name))
		}
	}
	for _, name := range declared {
		if !slices.Contains(imports, string(name)) {
			return fmt.Errorf("a tool has the capability %q and the module does not import it", name)
		}
	}
	return nil
}

// Canonical gives the bytes of a release that are signed: RFC 8785.
func Canonical(r abi.Release) ([]byte, error) { return canonical(r) }

// CanonicalTool gives the bytes of one tool's whole definition in the same form:
// what an approval's digest covers.
func CanonicalTool(t abi.Tool) ([]byte, error) { return canonical(t) }

func canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return CanonicalJSON(text)
}

// CanonicalJSON gives the RFC 8785 form of a document that package strictjson
// accepted. Numbers become doubles, as they do for every reader of that form.
func CanonicalJSON(doc []byte) ([]byte, error) {
	out, err := jcs.Transform(doc)
	if err != nil {
		return nil, fmt.Errorf("canonicalizing: %w", err)
	}
	return out, nil
}

// ParseRelease reads a canonical release and holds it against every rule. Bytes
// that are not exactly the canonical form of what they say are refused. Every
// error is an *abi.Error of code untrusted and reason malformed. Whose release
// it is, and whether its signature holds, is not looked at here.
func ParseRelease(text []byte) (abi.Release, error) {
	r, err := parseRelease(text)
	if err != nil {
		e := abi.Errorf(abi.ErrUntrusted, "reading the release", "%w", err)
		e.Reason = abi.ReasonMalformed
		return abi.Release{}, e
	}
	return r, nil
}

func parseRelease(text []byte) (abi.Release, error) {
	var r abi.Release
	if err := strictjson.Decode(text, &r); err != nil {
		return r, err
	}
	if err := validateRelease(&r); err != nil {
		return r, err
	}
	again := r
	again.Connectors = spellOut(r.Connectors)
	want, err := Canonical(again)
	if err != nil {
		return r, err
	}
	if !bytes.Equal(want, text) {
		return r, errors.New("not in canonical form")
	}
	return r, nil
}

// ValidateRelease checks what a manifest does not have, then the rest.
func validateRelease(r *abi.Release) error {
	c := &checker{}
	if r.Type != abi.ReleaseType {
		c.addf("$.type", "%q is not %q", shorten(r.Type), abi.ReleaseType)
	}
	if r.Format != abi.ReleaseFormat {
		c.addf("$.format", "%d is not a format that this version reads", r.Format)
	}
	c.match("$.registry", r.Registry, `[a-z0-9][a-z0-9.-]{0,62}`)
	c.match("$.namespace", r.Namespace, `[a-z][a-z0-9-]{0,40}`)
	if r.ABI.Min < 1 || r.ABI.Max < r.ABI.Min || r.ABI.Max > 1000 {
		c.addf("$.abi", "%d to %d is not a range of versions", r.ABI.Min, r.ABI.Max)
	}
	c.module(r)
	if union := capabilityUnion(r.Connectors); !slices.Equal(union, r.Capabilities) {
		c.addf("$.capabilities", "%q is not the sorted union of the tools' capabilities, %q", r.Capabilities, union)
	}
	if err := c.err(); err != nil {
		return err
	}
	return Validate(toManifest(*r))
}

func (c *checker) module(r *abi.Release) {
	if r.Module == (abi.Module{}) {
		if r.Category == abi.CategoryConnector {
			c.addf("$.module", "missing: a connector has a module")
		}
		return
	}
	c.match("$.module.sha256", r.Module.SHA256, `[0-9a-f]{64}`)
	if r.Module.Size < 1 || r.Module.Size > 4*abi.MaxModule {
		c.addf("$.module.size", "%d is not between 1 and %d bytes", r.Module.Size, 4*abi.MaxModule)
	}
	c.httpsURL("$.module.url", r.Module.URL)
}
