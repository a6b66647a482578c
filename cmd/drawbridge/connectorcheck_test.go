package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// Modules that an install takes, and that do harm when they are called: each ends with
// its typed error, and the command with 5.
func TestConnectorCheckOfHostileModules(t *testing.T) {
	h := newHome(t)
	for name, tt := range map[string]struct {
		call []byte
		code abi.Code
	}{
		"an endless loop":    {wasmtest.Loop(), abi.ErrLimitExceeded},
		"memory without end": {wasmtest.Loop(wasmtest.Grow(16), wasmtest.Fill(1<<16)), abi.ErrLimitExceeded},
		"a trap":             {wasmtest.Trap(), abi.ErrGuestTrap},
		"no JSON":            {wasmtest.Output("{"), abi.ErrInvalidResult},
		"host calls for ever": {
			wasmtest.Loop(wasmtest.Ask(0, `{"v":1,"steps":[]}`)), abi.ErrLimitExceeded,
		},
	} {
		m := wasmtest.Guest([]string{"read"}, tt.call)
		m.Funcs[1].Body = [][]byte{wasmtest.Output(`{"v":1,"tools":["a.b"]}`), wasmtest.I32(0)}
		if err := os.WriteFile(filepath.Join(h.work, "m.wasm"), m.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		out, msg, code := h.try("connector", "check", "m.wasm", "--call", "a.b", "--json")
		var got moduleResult
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %v: %s%s", name, err, out, msg)
		}
		if code != exitUntrusted || got.Verdict != moduleRejected || got.Step != "call" || got.Code != tt.code || got.Peak == 0 || got.CPU == 0 {
			t.Errorf("%s: exit code %d, %+v, want %s", name, code, got, tt.code)
		}
	}
}
