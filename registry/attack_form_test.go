package registry

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// What arrives does not have its form.
func TestAttacksOnForm(t *testing.T) {
	t.Parallel()
	runAttacks(t, map[string]attack{
		"file below the deepest folder": {
			func(f *fixture) {
				f.tamper(func(m map[string][]byte) { m["connectors/acme/tracker/more/file.json"] = []byte("{}") })
			},
			abi.ReasonMalformed, nil,
		},
		"unexpected folder": {
			func(f *fixture) { f.tamper(func(m map[string][]byte) { m["hooks/post-checkout"] = []byte("id") }) },
			abi.ReasonMalformed, nil,
		},
		"not canonical": {
			func(f *fixture) {
				f.resign(func(m map[string][]byte) { m[indexFile] = append(m[indexFile], '\n') })
			},
			abi.ReasonMalformed, nil,
		},
		"duplicate keys": {
			func(f *fixture) {
				f.resign(func(m map[string][]byte) {
					m[indexFile] = edited(f.t, m[indexFile], `"format":1`, `"format":2,"format":1`)
				})
			},
			abi.ReasonMalformed, nil,
		},
		"a file without an end": {
			func(f *fixture) {
				f.tamper(func(m map[string][]byte) { m[indexFile] = make([]byte, abi.MaxMetadata+1) })
			},
			abi.ReasonMalformed, nil,
		},
		"a name that is an option": {
			func(f *fixture) {
				f.tamper(func(m map[string][]byte) { m["connectors/--upload-pack=id/tracker/index.json"] = []byte("{}") })
			},
			abi.ReasonMalformed, nil,
		},
	})
}
