package release_test

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

func BenchmarkParseManifest(b *testing.B) {
	text := read(b, "plugin.yaml")
	for b.Loop() {
		if _, err := release.ParseManifest(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseRelease(b *testing.B) {
	text := read(b, "release.json")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := release.ParseRelease(text); err != nil {
			b.Fatal(err)
		}
	}
}
