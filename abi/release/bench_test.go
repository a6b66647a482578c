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
