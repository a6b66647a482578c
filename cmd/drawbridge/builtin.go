package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// carriedFiles is what the build put there, which may be nothing but a README.
//
//go:embed builtin
var carriedFiles embed.FS

// A carriedNote says what the bundle beside it is: builtin/registry.json.
type carriedNote struct {
	Registry    string `json:"registry"`
	Fingerprint string `json:"fingerprint"`
	Snapshot    string `json:"snapshot_sha256"`
}

// carried is the registry that this program carries; nil if it was built without.
func carried(files fs.FS) (*registry.Builtin, error) {
	note, err := fs.ReadFile(files, "builtin/registry.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is carried
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the program carries: %w", err)
	}
	var n carriedNote
	if err := strictjson.Decode(note, &n, strictjson.MaxBytes(abi.MaxMetadata)); err != nil {
		return nil, fmt.Errorf("reading what the program carries: %w", err)
	}
	fpr, err := signing.ParseFingerprint(n.Fingerprint)
	if err != nil {
		return nil, fmt.Errorf("reading what the program carries: %w", err)
	}
	bundle, err := fs.ReadFile(files, "builtin/registry.bundle")
	if err != nil {
		return nil, fmt.Errorf("reading what the program carries: %w", err)
	}
	return &registry.Builtin{Bundle: bundle, ID: n.Registry, Pinned: fpr, Snapshot: n.Snapshot}, nil
}

// carries is what this program carries: what was built into it, but in tests.
func (a *app) carries() fs.FS {
	if a.carried != nil {
		return a.carried
	}
	return carriedFiles
}
