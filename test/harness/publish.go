package harness

import (
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Keys are the owner of a world's registry and its one publisher.
type Keys struct{ Owner, Publisher *signing.SecretKey }

// Roles gives the owner every role.
func (k Keys) Roles() registry.Keys {
	all := []registry.Signer{k.Owner}
	return registry.Keys{Owners: all, Snapshot: all, Revocation: all}
}

func (w *World) now() time.Time {
	if w.opts.Clock != nil {
		return w.opts.Clock()
	}
	return time.Now()
}

func (w *World) makeRegistry() {
	w.T.Helper()
	w.RepoDir = filepath.Join(w.T.TempDir(), "registry.git")
	var err error
	w.Maintainer, err = registry.Init(w.T.Context(), w.RepoDir, RegistryID, w.Keys.Roles(), w.opts.Clock)
	w.check(err)
	w.check(w.Maintainer.AddPublisher(w.T.Context(), w.Keys.Roles(), Namespace, w.Keys.Publisher.Certificate()))
}

// Publish builds, signs and publishes the connector whose plugin.yaml is
// manifest, and returns its release.
func (w *World) Publish(manifest []byte, wasm []byte) abi.Release {
	w.T.Helper()
	rel := w.Release(manifest, wasm)
	w.check(w.PublishRelease(rel, wasm, w.Keys.Publisher))
	return rel
}

// Release makes the release of a manifest and a module.
func (w *World) Release(manifest []byte, wasm []byte) abi.Release {
	w.T.Helper()
	m, err := release.ParseManifest(manifest)
	w.check(err)
	info, err := sandbox.Prescan(wasm, sandbox.DefaultLimits())
	w.check(err)
	imports := make([]string, len(info.Capabilities))
	for i, c := range info.Capabilities {
		imports[i] = string(c)
	}
	rel, err := release.Build(m, release.BuildInfo{Registry: RegistryID, Namespace: Namespace, Module: wasm, Imports: imports})
	w.check(err)
	return rel
}

// PublishRelease signs a release with key and publishes it.
func (w *World) PublishRelease(rel abi.Release, wasm []byte, key *signing.SecretKey) error {
	w.T.Helper()
	text, err := release.Canonical(rel)
	w.check(err)
	sig, err := key.Sign(text, w.now())
	w.check(err)
	return w.Maintainer.Publish(w.T.Context(), w.Keys.Roles(), registry.Submission{Release: text, Signature: sig, Wasm: wasm})
}

// Ready publishes the connector in a source folder of the repository, pins the
// registry, and installs it.
func (w *World) Ready(source string) {
	w.T.Helper()
	manifest, err := os.ReadFile(filepath.Join(Root(), source, "plugin.yaml"))
	w.check(err)
	w.ReadyWith(manifest, Module(w.T, source))
}

// ReadyWith is Ready with a manifest and a module of the test's own.
func (w *World) ReadyWith(manifest, wasm []byte) {
	w.T.Helper()
	rel := w.Publish(manifest, wasm)
	if list, err := w.Registry.Registries(); err != nil || len(list) == 0 {
		w.check(w.AddRegistry())
	}
	w.check(w.Install(rel.Name))
}
