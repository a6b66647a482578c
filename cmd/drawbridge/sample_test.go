package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// sampleManifest is the plugin of the tests: one tool that looks at a page, and
// one that would write.
const sampleManifest = `
name: sample
version: 1.0.0
category: connector
title: Sample
description: For tests.
connectors:
  - id: sample
    title: Sample
    settings: [{name: base_url, type: url, title: Address, required: true}]
    base_url: "{base_url}"
    origins: ["{base_url}/*"]
    pages:
      signed_in: [{selector: "#user"}]
      signed_out: [{selector: "#login"}]
    health: {path: /page}
    tools:
      - name: look
        title: Look
        description: Looks at a page.
        destructive: false
        capabilities: [read]
        input: {type: object, additionalProperties: false}
        output: {type: object}
        reads: [{method: GET, path: /page}]
      - name: touch
        title: Touch
        description: Writes nothing, but might.
        destructive: true
        capabilities: [fetch]
        input: {type: object, properties: {text: {type: string}}, additionalProperties: false}
        output: {type: object}
        reads: [{method: GET, path: /page}]
        writes: [{method: POST, path: /write}]
`

// sampleModule looks at /page and then answers, whatever it was called for.
func sampleModule() []byte { return sampleAnswering(`{"done":true}`) }

func sampleAnswering(result string) []byte {
	m := wasmtest.Guest([]string{"read", "fetch"},
		wasmtest.Ask(0, `{"v":1,"steps":[{"op":"navigate","path":"/page"}]}`),
		wasmtest.Output(`{"ok":true,"result":`+result+`}`))
	m.Funcs[1].Body = [][]byte{wasmtest.Output(`{"v":1,"tools":["sample.look","sample.touch"]}`), wasmtest.I32(0)}
	return m.Bytes()
}

// writeSample puts the plugin's source into dir.
func writeSample(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "sample.wasm"), sampleModule(), 0o600); err != nil {
		return err
	}
	for name, version := range map[string]string{"src": "1.0.0", "src11": "1.1.0", "src12": "1.2.0"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
		text := strings.Replace(sampleManifest, "1.0.0", version, 1)
		if err := os.WriteFile(filepath.Join(dir, name, "plugin.yaml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
