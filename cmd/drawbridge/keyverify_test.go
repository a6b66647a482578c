package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

const vectorDir = "../../test/vectors/openpgp"

// keyVector is one entry of the vectors' index.
type keyVector struct {
	ID, Desc, Keyring, Sig, Data, Expect, Archive string
	Reason                                        signing.Detail
}

func keyVectors(t *testing.T) (now string, list []keyVector) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(vectorDir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Now     string
		Vectors []keyVector
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Vectors) < 100 {
		t.Fatalf("only %d vectors", len(index.Vectors))
	}
	return index.Now, index.Vectors
}

// judged runs key verify and returns its exit code and what it printed, read with
// no help of the command's own types.
func judged(t *testing.T, args ...string) (code int, said map[string]any, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
	code = a.run(append([]string{"key", "verify"}, args...))
	if code == exitOK || code == exitUntrusted {
		if err := json.Unmarshal(out.Bytes(), &said); err != nil {
			t.Fatalf("exit code %d with %q: %v", code, out.String(), err)
		}
		if errs.Len() > 0 {
			t.Errorf("a verdict with %q on standard error", errs.String())
		}
	}
	return code, said, errs.String()
}

// Every vector, through the command, in both modes.
func TestKeyVerifyVectors(t *testing.T) {
	now, vectors := keyVectors(t)
	for _, v := range vectors {
		for _, mode := range []string{"install", "archive"} {
			want, reason := v.Expect, string(v.Reason)
			if mode == "archive" && v.Archive != "" {
				want = v.Archive
			}
			if want == "accept" {
				reason = ""
			}
			t.Run(v.ID+"/"+mode+"/"+want+"/"+reason, func(t *testing.T) {
				code, said, _ := judged(t, "--keyring", filepath.Join(vectorDir, v.Keyring),
					"--signature", filepath.Join(vectorDir, v.Sig), "--at", now, "--mode", mode, filepath.Join(vectorDir, v.Data))
				checkVerdict(t, v, code, said, want, reason)
				if said["mode"] != mode || said["at"] != now {
					t.Errorf("judged in mode %v at %v", said["mode"], said["at"])
				}
			})
		}
	}
}

func checkVerdict(t *testing.T, v keyVector, code int, said map[string]any, want, reason string) {
	t.Helper()
	if said["verdict"] != want || said["reason"] != reason {
		t.Fatalf("%s: %v, want %s %s", v.Desc, said, want, reason)
	}
	if want == "accept" {
		_, err := time.Parse(time.RFC3339, said["time"].(string))
		if code != exitOK || err != nil || !signing.Fingerprint(said["key"].(string)).Valid() || said["message"] != "" {
			t.Errorf("%s: exit code %d, %v", v.Desc, code, said)
		}
		return
	}
	if code != exitUntrusted || said["key"] != "" || said["time"] != "" || len(said["signers"].([]any)) > 0 || said["message"] == "" {
		t.Errorf("%s: exit code %d, %v", v.Desc, code, said)
	}
	if got := abi.Reason(said["class"].(string)); got != v.Reason.Reason() {
		t.Errorf("%s: class %q, want %q", v.Desc, got, v.Reason.Reason())
	}
}

// What else may stand in a keyring, a signature or a file.
func TestKeyVerifyFiles(t *testing.T) {
	now, _ := keyVectors(t)
	dir := t.TempDir()
	vector := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(vectorDir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	file := func(name string, parts ...[]byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, slices.Concat(parts...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ed, sub, v6 := vector("g-ed25519.pgp"), vector("g-sub-ok.pgp"), vector("j-v6-curve25519.pgp")
	good := []string{"--signature", filepath.Join(vectorDir, "g-ed25519.sig"), filepath.Join(vectorDir, "data.json")}
	data, sig := filepath.Join(vectorDir, "data.json"), filepath.Join(vectorDir, "g-ed25519.sig")
	edFile := file("ed.pgp", ed)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	huge := file("huge")
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Log("no file of a tebibyte here:", err)
		huge = file("large", make([]byte, signing.MaxKeyringFile+1))
	}
	for name, c := range map[string]struct {
		args   []string
		code   int
		reason string // of a verdict, or what standard error says
	}{
		"ring":                       {append([]string{"--keyring", file("ring", sub, v6, ed)}, good...), 0, ""},
		"two keyrings":               {append([]string{"--keyring", file("v6", v6), "--keyring", edFile}, good...), 0, ""},
		"signer not in the ring":     {append([]string{"--keyring", file("others", sub, v6)}, good...), 5, "unknown-signer"},
		"empty ring":                 {append([]string{"--keyring", file("empty")}, good...), 5, "unknown-signer"},
		"ring with garbage":          {append([]string{"--keyring", file("garbage", ed, []byte("garbage"))}, good...), 5, "malformed"},
		"ring of text":               {append([]string{"--keyring", file("text", []byte("hello"))}, good...), 5, "malformed"},
		"huge ring":                  {append([]string{"--keyring", huge}, good...), 5, "too-large"},
		"huge signature":             {[]string{"--keyring", edFile, "--signature", huge, data}, 5, "too-large"},
		"huge file":                  {[]string{"--keyring", edFile, "--signature", sig, huge}, 5, "too-large"},
		"signature as the ring":      {append([]string{"--keyring", sig}, good...), 5, "no-self-signature"},
		"ring as the signature":      {[]string{"--keyring", edFile, "--signature", edFile, data}, 5, "not-a-detached-signature"},
		"empty signature":            {[]string{"--keyring", edFile, "--signature", file("none"), data}, 5, "malformed"},
		"name with a dash":           {[]string{"--keyring", file("-ring", ed), "--signature", sig, "--", file("--mode", vector("data.json"))}, 0, ""},
		"same user id":               {[]string{"--keyring", file("same", vector("m-same-uid.pgp")), "--signature", filepath.Join(vectorDir, "m-same-uid.sig"), data}, 5, "unknown-signer"},
		"no ring":                    {append([]string{"--keyring", filepath.Join(dir, "nothing")}, good...), 1, "is not there"},
		"no signature":               {[]string{"--keyring", edFile, "--signature", filepath.Join(dir, "nothing"), data}, 1, `signature "`},
		"no file":                    {[]string{"--keyring", edFile, "--signature", sig, filepath.Join(dir, "nothing")}, 1, `file "`},
		"directory":                  {append([]string{"--keyring", dir}, good...), 1, "is a directory"},
		"pipe":                       {append([]string{"--keyring", filepath.Join(dir, "pipe")}, good...), 1, "is a pipe or a device"},
		"device":                     {[]string{"--keyring", edFile, "--signature", sig, "/dev/zero"}, 1, "is a pipe or a device"},
		"path through a file":        {append([]string{"--keyring", edFile + "/x"}, good...), 1, "not a directory"},
		"unknown mode":               {append([]string{"--keyring", edFile, "--mode", "strict"}, good...), 2, `--mode "strict"`},
		"moment of another form":     {append([]string{"--keyring", edFile, "--at", "yesterday"}, good...), 2, `--at "yesterday"`},
		"moment without a time zone": {append([]string{"--keyring", edFile, "--at", "2026-11-30T12:00:00"}, good...), 2, "--at"},
		"no keyring flag":            {good, 2, "--keyring is needed"},
		"no signature flag":          {[]string{"--keyring", edFile, data}, 2, "--signature is needed"},
		"no argument":                {[]string{"--keyring", edFile, "--signature", sig}, 2, "key verify takes FILE"},
		"two arguments":              {append(good, "--keyring", edFile, data), 2, "key verify takes FILE"},
		"before the signature":       {append([]string{"--keyring", edFile, "--at", "2001-01-01"}, good...), 5, "signature-from-the-future"},
		"a day":                      {append([]string{"--keyring", edFile, "--at", "2026-11-30"}, good...), 0, ""},
		"a time zone":                {append([]string{"--keyring", edFile, "--at", "2026-11-30T14:00:00+02:00"}, good...), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if c.code != exitUsage && !slices.Contains(args, "--at") {
				args = append([]string{"--at", now}, args...)
			}
			code, said, stderr := judged(t, args...)
			if code != c.code {
				t.Fatalf("exit code %d, want %d: %v %s", code, c.code, said, stderr)
			}
			if said != nil && said["reason"] != c.reason || said == nil && !strings.Contains(stderr, c.reason) {
				t.Errorf("%v %s, want %q", said, stderr, c.reason)
			}
		})
	}
}

// A refusal of a keyring says which file, and what to give in place of a secret key.
func TestKeyVerifyNamesTheKeyring(t *testing.T) {
	good := []string{"--signature", filepath.Join(vectorDir, "g-ed25519.sig"), filepath.Join(vectorDir, "data.json")}
	dir := t.TempDir()
	for name, text := range map[string]string{"text.asc": "hello", "lone.key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", "owner.key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", "owner.asc": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, hint := range map[string]string{"text.asc": "", "owner.key": "owner.asc", "lone.key": "drawbridge key show "} {
		code, said, _ := judged(t, append([]string{"--keyring", filepath.Join(vectorDir, "g-ed25519.pgp"), "--keyring", filepath.Join(dir, name)}, good...)...)
		if code != exitUntrusted || said["reason"] != "malformed" || !strings.HasPrefix(said["message"].(string), `keyring "`+filepath.Join(dir, name)+`": `) {
			t.Errorf("%s: exit code %d, %v", name, code, said)
		}
		if got := said["hint"].(string); (hint == "") != (got == "") || !strings.Contains(got, hint) {
			t.Errorf("%s: hint %q, want %q", name, got, hint)
		}
	}
}

// A refusal names the file that is at fault, whichever that is, what it is instead,
// and where two were given for each other how they belong.
func TestKeyVerifyNamesTheFile(t *testing.T) {
	now, _ := keyVectors(t)
	dir := t.TempDir()
	vector := func(name string) string {
		data, err := os.ReadFile(filepath.Join(vectorDir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	sig, cert, data := vector("g-ed25519.sig"), vector("g-ed25519.pgp"), vector("data.json")
	signed := "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nx\n-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n"
	for name, text := range map[string]string{
		"sig": sig, "ring": cert, "file": data, "empty": "", "blank": "\n", "text": "hello\n", "half.sig": sig[:40], "half.asc": "-----BEGIN PGP SIGNATURE-----\n\nwn", "half.ring": cert[:20],
		"clear": signed, "big": strings.Repeat("x", signing.MaxSignatureFile+9), "key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n-----END PGP PRIVATE KEY BLOCK-----\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ ring, sig, file, reason, message, hint string }{
		{"ring", "empty", "file", "malformed", `signature "empty": it is empty`, ""},
		{"ring", "blank", "file", "malformed", `signature "blank": it is empty`, ""},
		{"ring", "text", "file", "malformed", `signature "text": it is no OpenPGP file`, ""},
		{"ring", "half.sig", "file", "malformed", `signature "half.sig": it is cut off`, ""},
		{"ring", "half.asc", "file", "malformed", `signature "half.asc": it is cut off`, ""},
		{"ring", "clear", "file", "not-a-detached-signature", `signature "clear": it is a clearsigned document`, "gpg --armor --detach-sign file"},
		{"ring", "big", "file", "too-large", `signature "big": signature file of more than 131072 bytes`, ""},
		{"ring", "ring", "file", "not-a-detached-signature", `signature "ring": it is a certificate`, ""},
		{"ring", "key", "file", "malformed", `signature "key": it is a secret key`, ""},
		{"ring", "file", "sig", "malformed", `signature "file": it is no OpenPGP file`, "drawbridge key verify --keyring ring --signature sig file"},
		{"sig", "ring", "file", "not-a-detached-signature", `signature "ring": it is a certificate`, "drawbridge key verify --keyring ring --signature sig file"},
		{"empty", "sig", "file", "unknown-signer", `keyring "empty": it is empty`, ""},
		{"text", "sig", "file", "malformed", `keyring "text": it is no OpenPGP file`, ""},
		{"half.ring", "sig", "file", "malformed", `keyring "half.ring": it is cut off`, ""},
		{"sig", "sig", "file", "no-self-signature", `keyring "sig": it is a signature`, ""},
		{"clear", "sig", "file", "not-a-detached-signature", `keyring "clear": it is a clearsigned document`, ""},
		{"file", "sig", "ring", "malformed", `keyring "file": it is no OpenPGP file`, "drawbridge key verify --keyring ring --signature sig file"},
		{"text", "empty", "file", "malformed", `keyring "text": it is no OpenPGP file`, ""},
		{"empty", "text", "file", "malformed", `signature "text": it is no OpenPGP file`, ""},
		{"ring", "sig", "text", "bad-signature", "bad signature by 53e186bf5914bd2cd0fdf536c511333a31fcd82c", ""},
	} {
		t.Chdir(dir)
		code, said, _ := judged(t, "--at", now, "--keyring", c.ring, "--signature", c.sig, c.file)
		message, _ := said["message"].(string)
		if code != exitUntrusted || said["reason"] != c.reason || !strings.Contains(message, c.message) || said["hint"] != c.hint {
			t.Errorf("%s, %s, %s: exit code %d, %v, want %s, %s, %s", c.ring, c.sig, c.file, code, said, c.reason, c.message, c.hint)
		}
	}
}
