package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// onlyKey sets a variable to the fingerprint of the one key in the keyring, and
// HOME_KEYS to where it stands.
func onlyKey(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("drawbridge", "key", "list", "--json"))
	var keys []struct{ Fingerprint, File string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &keys))
	if len(keys) != 1 {
		ts.Fatalf("%d keys", len(keys))
	}
	ts.Setenv(args[0], keys[0].Fingerprint)
	dir, err := filepath.Rel(ts.MkAbs("."), filepath.Dir(keys[0].File))
	ts.Check(err)
	ts.Setenv("HOME_KEYS", dir)
	dirs, err := platform.NewDirs(ts.Getenv)
	ts.Check(err)
	if filepath.Dir(keys[0].File) != dirs.Keys() {
		ts.Fatalf("%s is not in %s", keys[0].File, dirs.Keys())
	}
}

// tail16 sets a variable to the last 16 digits of a fingerprint.
func tail16(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], args[1][len(args[1])-16:])
}

// nakedKey writes a secret key without a passphrase.
func nakedKey(ts *testscript.TestScript, _ bool, args []string) {
	e, err := openpgp.NewEntity("Bob", "", "", nil)
	ts.Check(err)
	var raw bytes.Buffer
	ts.Check(e.SerializePrivate(&raw, nil))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw.Bytes(), 0o600))
}
