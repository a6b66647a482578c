package abi

// A Release is the canonical signed form of one version of a plugin: the bytes
// are its JSON Canonicalization Scheme form (RFC 8785). Only this is signed, and
// only this is read by a host.
type Release struct {
	Type         string       `json:"type"`   // ReleaseType
	Format       int          `json:"format"` // ReleaseFormat
	Registry     string       `json:"registry"`
	Namespace    string       `json:"namespace"`
	Name         string       `json:"name"`
	Version      string       `json:"version"`
	Category     Category     `json:"category"`
	Title        string       `json:"title"`
	Description  string       `json:"description"`
	License      string       `json:"license,omitempty"`
	Homepage     string       `json:"homepage,omitempty"`
	Source       Source       `json:"source,omitzero"`
	Maintainers  []string     `json:"maintainers,omitempty"`
	ABI          VersionRange `json:"abi"`
	Module       Module       `json:"module,omitzero"` // absent for categories that this host does not run
	Capabilities []Capability `json:"capabilities"`    // sorted union of the tools', equal to the module's imports
	Connectors   []Connector  `json:"connectors,omitempty"`
}

// The constants of a release.
const (
	ReleaseType   = "drawbridge-release"
	ReleaseFormat = 1
)

// VersionRange is the range of ABI versions that a module works with.
type VersionRange struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// A Module names the WASM bytes.
type Module struct {
	SHA256 string `json:"sha256"` // 64 lower-case hex digits
	Size   int64  `json:"size"`   // bytes
	URL    string `json:"url,omitempty"`
}
