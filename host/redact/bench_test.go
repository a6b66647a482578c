package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkResult is a result of 18 kB without a secret, which is what most are.
func BenchmarkResult(b *testing.B) {
	r := New()
	raw := json.RawMessage(`{"rows":["` + strings.Repeat(`value 11 of row 12, ü","`, 750) + `"]}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := r.Result(raw); err != nil {
			b.Fatal(err)
		}
	}
}
