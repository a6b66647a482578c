// Command gen writes the types of the host calls for the SDKs that are not in Go.
//
// What crosses the boundary is declared once, in package abi. This program
// type-checks that package from source and writes, with abi's own comments, its
// documents, error codes and limits as TypeScript, AssemblyScript and Rust, and
// as one JSON Schema. A Go connector imports abi itself. It writes no host call
// and no helper: those are the SDKs' own, by hand.
//
// Read model.go first; each of the others writes one language.
//
//	go generate ./abi/sdk/gen
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
)

//go:generate go run .

func main() {
	if err := write("../..", ".."); err != nil {
		fmt.Fprintln(os.Stderr, "gen: error:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// write reads the package abi in source and writes the files below sdk.
func write(source, sdk string) error {
	m, err := load(source)
	if err != nil {
		return err
	}
	files, err := m.files()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := atomicfile.Write(filepath.Join(sdk, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files are the generated files by their paths below abi/sdk.
func (m *model) files() (map[string][]byte, error) {
	schema, err := m.schema()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"abi.schema.json":        schema,
		"ts/abi.gen.ts":          m.typeScript(),
		"as/assembly/abi.gen.ts": m.assemblyScript(),
		"rust/src/abi.gen.rs":    m.rust(),
	}, nil
}
