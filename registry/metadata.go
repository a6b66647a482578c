package registry

import (
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Format is the version of every metadata format in this file.
const Format = 1

// The types of metadata files, in their "type" field, so that a signature over
// one kind of file is never good for another.
const (
	typeRoot        = "drawbridge-root"
	typeSnapshot    = "drawbridge-snapshot"
	typeRevocations = "drawbridge-revocations"
	typeNamespace   = "drawbridge-namespace"
	typeIndex       = "drawbridge-index"
)

// Limits on metadata, beside abi.MaxMetadata per file.
const (
	maxSnapshotLife = 14 * 24 * time.Hour // from issue to expiry
	maxIssueSkew    = 10 * time.Minute    // how far ahead of our clock a snapshot may be issued
	maxRoots        = 1000                // length of the root chain
	maxRoleKeys     = 8
	maxPublishers   = 64
	maxVersions     = 2000
)

// Root says who owns a registry: root/N.json. It is signed by a threshold of its
// own owners and, from version 2 on, of the previous root's owners.
type Root struct {
	Type     string `json:"type"`
	Format   int    `json:"format"`
	Registry string `json:"registry"` // the registry's id, bound into every other file
	Version  int64  `json:"version"`  // N
	Issued   Time   `json:"issued"`
	Expires  Time   `json:"expires"`
	Roles    Roles  `json:"roles"`
}

// Roles are the keys that act for a registry.
type Roles struct {
	Owner      Role `json:"owner"`      // signs roots and namespaces
	Snapshot   Role `json:"snapshot"`   // signs snapshots; can't add a publisher or code
	Revocation Role `json:"revocation"` // signs revocations
}

// A Role is a set of keys, and how many of them have to sign.
type Role struct {
	Keys      []signing.Fingerprint `json:"keys"` // sorted
	Threshold int                   `json:"threshold"`
}

// Snapshot fixes one state of a registry: snapshot.json.
type Snapshot struct {
	Type     string              `json:"type"`
	Format   int                 `json:"format"`
	Registry string              `json:"registry"`
	Version  int64               `json:"version"` // grows by at least one with every change
	Root     int64               `json:"root"`    // the version of the root in force
	Issued   Time                `json:"issued"`
	Expires  Time                `json:"expires"`            // at most 14 days after Issued
	Previous string              `json:"previous,omitempty"` // sha256 of the snapshot before
	Files    map[string]FileHash `json:"files"`              // every metadata file but roots, releases and signatures
}

// A FileHash is what a file's bytes must be.
type FileHash struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Revocations lists what must not be used any more: revocations.json. It is
// required, may be empty, and only grows.
type Revocations struct {
	Type      string            `json:"type"`
	Format    int               `json:"format"`
	Registry  string            `json:"registry"`
	Version   int64             `json:"version"`
	Keys      []RevokedKey      `json:"keys"`      // sorted
	Artifacts []RevokedArtifact `json:"artifacts"` // sorted
}

// A RevokedKey may no longer sign anything, whatever the date of its signatures.
type RevokedKey struct {
	Key    signing.Fingerprint `json:"key"`
	Reason string              `json:"reason"`
	Since  Time                `json:"since"`
}

// A RevokedArtifact is the sha256 of a module or of a release.
type RevokedArtifact struct {
	SHA256 string `json:"sha256"`
	Reason string `json:"reason"`
	Since  Time   `json:"since"`
}

// Namespace says who may publish in it: namespaces/<ns>.json, signed by the owners.
type Namespace struct {
	Type       string      `json:"type"`
	Format     int         `json:"format"`
	Registry   string      `json:"registry"`
	Namespace  string      `json:"namespace"`
	Version    int64       `json:"version"` // grows with every change
	Publishers []Publisher `json:"publishers"`
}

// A Publisher may sign, with this key, the releases that the registry lists from
// From until Until.
type Publisher struct {
	Key   signing.Fingerprint `json:"key"`
	From  Time                `json:"from"`
	Until *Time               `json:"until,omitempty"`
}

// Index lists the versions of a plugin: connectors/<ns>/<name>/index.json.
type Index struct {
	Type      string    `json:"type"`
	Format    int       `json:"format"`
	Registry  string    `json:"registry"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Versions  []Version `json:"versions"` // ascending
}

// A Version is one entry of an index.
type Version struct {
	Version   string   `json:"version"`
	Channel   Channel  `json:"channel"`
	Published Time     `json:"published"` // by the registry's clock
	Yanked    string   `json:"yanked,omitempty"`
	Release   FileHash `json:"release"`
}

// A Channel says who a version is for.
type Channel string

// The channels. Only stable versions are chosen without being asked for.
const (
	Stable Channel = "stable"
	Beta   Channel = "beta"
)

// Paths of metadata files.
const (
	snapshotPath    = "snapshot.json"
	revocationsPath = "revocations.json"
)

func rootPath(version int64) string        { return "root/" + strconv.FormatInt(version, 10) + ".json" }
func keyPath(f signing.Fingerprint) string { return "keys/" + string(f) + ".asc" }
func namespacePath(ns string) string       { return "namespaces/" + ns + ".json" }
func indexPath(ns, name string) string     { return "connectors/" + ns + "/" + name + "/index.json" }

func releasePath(ns, name, version string) string {
	return "connectors/" + ns + "/" + name + "/" + version + ".json"
}
func signaturePath(path string) string { return path + ".asc" }
func artifactRef(sha256 string) string { return "refs/drawbridge/artifacts/" + sha256 }
func artifactTag(sha256 string) string { return "refs/tags/drawbridge/artifacts/" + sha256 }
