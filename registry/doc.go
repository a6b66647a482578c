// Package registry finds, verifies, installs and loads signed plugins.
//
// A registry is a Git repository. Its branch "main" holds small metadata files,
// each the canonical JSON (RFC 8785) of one type in metadata.go, and modules are
// refs of their own:
//
//	root/1.json, root/1.json.asc ...           who owns the registry; N is signed by N-1 and N
//	keys/<fingerprint>.asc                     certificates
//	snapshot.json, .asc                        version, expiry and the hash of every file below
//	revocations.json, .asc                     keys and artifacts that must not be used; only grows
//	namespaces/<ns>.json, .asc                 who may publish in a namespace; signed by the owners
//	connectors/<ns>/<name>/index.json          the versions of a plugin, with the hash of each release
//	connectors/<ns>/<name>/<version>.json, .asc  the release; signed by its publisher
//	refs/drawbridge/artifacts/<sha256>         one module, as a blob
//
// The user pins one owner's fingerprint in [Client.AddRegistry]; everything else
// is derived from it, in the order of catalog.go. A snapshot that is older than
// the newest one seen, that equals its version with other bytes, or that takes a
// revocation back is refused. An expired one stops installs and updates, while
// what is installed goes on with a warning. That holds for a registry that was removed
// and is added again, too (removed.go).
//
// Files that Git brings are hostile: the git program runs with a fixed
// configuration and limits (git.go), into a bare repository, objects are read one
// by one through a policy (tree.go), and nothing is ever checked out.
//
// Over https and ssh a fetch uses what the user's own git and ssh know: credential
// helpers, proxy and certificates by a positive list (usersettings.go), keys by the
// ssh agent. Nothing of it is kept, and no address but the one that the user typed
// is ever asked (remote.go).
//
// Installing is never half done. Modules and releases go to a store under their
// hash, and writing the lock file is the one step that makes a version active
// (install.go). [Client.Load] reads a module once, and the bytes that it hashed
// are the bytes that it returns (load.go).
//
// [Maintainer] is the other side: it makes and updates a registry, and builds only
// on a state that the registry's own keys vouch for (vouch.go). [Propose] and
// [Maintainer.Accept] bring a release in by a merge request (propose.go), [Check]
// is what a forge runs on one (check.go), and [Log] follows a registry's history
// along its hash chain (history.go).
//
// The package decides whether bytes are what the user trusts. What a release may
// ask for, and whether a module is fit to run, are the caller's, through the
// hooks in [InstallOptions].
package registry
