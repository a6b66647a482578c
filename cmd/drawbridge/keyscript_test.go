package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// onlyKey sets a variable to the fingerprint of the one key in the keyring, and
// HOME_KEYS to where it stands.
func onlyKey(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("drawbridge", "key", "list", "--json"))
	var got keysResult
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &got))
	keys := got.Keys
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

// gpgHome makes a GnuPG home with one key, sets a variable to its fingerprint, and
// ends its agent with the script. BIN_WITHOUT_GPG is a PATH that has only our command.
func gpgHome(ts *testscript.TestScript, _ bool, args []string) {
	dir, err := os.MkdirTemp("", "gpg") // the agent's socket path must be short
	ts.Check(err)
	ts.Setenv("GNUPGHOME", dir)
	ts.Defer(func() {
		_ = ts.Exec("gpgconf", "--kill", "all")
		_ = os.RemoveAll(dir)
	})
	ts.Check(ts.Exec("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "Eve <eve@example.org>", "ed25519", "sign", "1y"))
	ts.Check(ts.Exec("gpg", "--batch", "--with-colons", "--list-keys"))
	_, after, _ := strings.Cut(ts.ReadFile("stdout"), "\nfpr:::::::::")
	ts.Setenv(args[0], strings.ToLower(after[:40]))
	drawbridge, err := exec.LookPath("drawbridge")
	ts.Check(err)
	ts.Setenv("BIN_WITHOUT_GPG", filepath.Dir(drawbridge))
}
