package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/signing"
)

// At a terminal passphrases are asked for and never shown, and a secret key goes
// when its last digits are typed.
func TestKeyPrompts(t *testing.T) {
	const secret = "correct horse battery staple"
	h := newHome(t)
	const ask, again = ": ", "the same again: "
	seen := h.want(1, []keystroke{{ask, secret}, {again, "another " + secret}}, "key", "new", "--user-id", "Ada")
	if !strings.Contains(seen, "the two passphrases differ") {
		t.Errorf("two passphrases:\n%s", seen)
	}
	seen = h.want(0, []keystroke{{ask, secret}, {again, secret}}, "key", "new", "--user-id", "Ada")
	if strings.Contains(seen, "horse") || !strings.Contains(seen, "keep a copy of ") {
		t.Errorf("a new key:\n%s", seen)
	}
	var got keysResult
	if err := json.Unmarshal([]byte(h.run("key", "list", "--json")), &got); err != nil || len(got.Keys) != 1 {
		t.Fatal(got, err)
	}
	fpr := signing.Fingerprint(got.Keys[0].Fingerprint)
	if !strings.Contains(seen, fpr.Grouped()) {
		t.Errorf("the prompt does not name the key:\n%s", seen)
	}
	end := string(fpr[len(fpr)-8:])
	seen = h.want(3, []keystroke{{"type " + strings.ToUpper(end) + ": ", "yes"}}, "key", "remove", string(fpr))
	if !strings.Contains(seen, "stays") || !strings.Contains(h.run("key", "list"), string(fpr)) {
		t.Errorf("another answer than asked for:\n%s", seen)
	}
	h.want(0, []keystroke{{"type " + strings.ToUpper(end) + ": ", end}}, "key", "remove", string(fpr))
	if list := h.run("key", "list", "--json"); !isEmpty(list) {
		t.Errorf("removed, and the keyring holds %s", list)
	}
}
