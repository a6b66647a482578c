// Package release turns what an author writes into what is signed, and reads
// what is signed.
//
// plugin.yaml goes in at [ParseManifest], which accepts a small part of YAML:
// one document, no anchors, aliases, tags, merge keys or nulls, and only values
// that mean the same in JSON. [Validate] holds it against every rule of package
// abi and names each problem with its path. [Build] adds the module's hash and
// where the release belongs, and [Canonical] gives the bytes to sign. A host
// reads them back with [ParseRelease], which accepts nothing but the canonical
// bytes of a valid release: whatever has two spellings has one here.
//
// Definitions of tools come from strangers and reach models and people. So
// [CompileSchema] admits only schemas whose evaluation costs little and touches
// nothing else, and no text may hold characters that a reader can't see,
// markup that poses as an instruction, or orders to the model that reads it.
// [Notices] points at texts that may be such orders and may be honest.
//
// [Explain] says in plain words what a release may do, and [Compare] what
// changes with an update; both are shown to a person who decides.
//
// The package reads no files and knows no registry, signature or setting of an
// installation. Read manifest.go first, then validate.go.
package release

//go:generate go test -run ^TestJSONSchemasAreCurrent$ -update .
