package signing

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestRenewKey(t *testing.T) {
	made := time.Unix(1.8e9, 0)
	const day = 24 * time.Hour
	first := newArmoredKeyFor(t, "Ada <ada@example.org>", made, 10*day)
	early, err := newKeyFor(t, "Ada <ada@example.org>", made, 10*day).Sign([]byte("x"), made.Add(day))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at, life time.Duration // the renewal's
		last     time.Duration // of the key
	}{
		"after it expired":    {12 * day, 8 * day, 20*day - time.Second},
		"for ever":            {5 * day, 0, 4000 * day},
		"shorter than it was": {5 * day, day, 6*day - time.Second},
	} {
		file, err := RenewKey(first, made.Add(c.at), c.life, says("a long passphrase"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		k, err := OpenSecretKey(file, says("a long passphrase"))
		if err != nil {
			t.Fatal(name, err)
		}
		if i, err := InspectKey(file, made.Add(c.at)); err != nil || !i.Encrypted || i.Problem != "" {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
		if _, err := k.Sign([]byte("x"), made.Add(c.last)); err != nil {
			t.Errorf("%s: at its last second: %v", name, err)
		}
		if _, err := k.Sign([]byte("x"), made.Add(c.last+time.Second)); (err == nil) != (c.life == 0) {
			t.Errorf("%s: a second later: %v", name, err)
		}
		trust := Trust{Certificates: k.Certificate().Raw, Fingerprints: []Fingerprint{k.Fingerprint()}, Now: made.Add(c.last)}
		if _, err := Verify([]byte("x"), early, trust); err != nil {
			t.Errorf("%s: what it signed before: %v", name, err)
		}
	}
}

func TestRenewKeyRefuses(t *testing.T) {
	made := time.Unix(1.8e9, 0)
	file := newArmoredKey(t, "Ada", made)
	e, _, err := readSecretKey(naked(t, "Bob", made))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AddSigningSubkey(keyConfig(made)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file []byte
		pass string
		life time.Duration
		code abi.Code
	}{
		"wrong passphrase":   {file, "another", time.Hour, abi.ErrInvalidArgs},
		"no passphrase":      {naked(t, "Bob", made), "a long passphrase", time.Hour, abi.ErrInvalidArgs},
		"a life in the past": {file, "a long passphrase", -time.Hour, abi.ErrInvalidArgs},
		"too long a life":    {file, "a long passphrase", 1 << 62, abi.ErrInvalidArgs},
		"subkeys":            {serialized(t, e), "a long passphrase", time.Hour, abi.ErrUnsupportedAction},
		"a certificate":      {newKey(t, "Ada", made).Certificate().Raw, "a long passphrase", time.Hour, abi.ErrInvalidArgs},
	} {
		if out, err := RenewKey(c.file, made, c.life, says(c.pass)); !errors.Is(err, c.code) || out != nil {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// GnuPG takes the renewed key for what it is.
func TestGnuPGReadsRenewed(t *testing.T) {
	gpg := gpgHome(t)
	now := time.Now().Add(-time.Hour).Truncate(time.Second)
	file, err := RenewKey(newArmoredKeyFor(t, "Ada", now, time.Minute), now.Add(30*time.Minute), 24*time.Hour, says("a long passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := OpenSecretKey(file, says("a long passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := k.Sign([]byte("x"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	gpg("--import", writeTemp(t, "key.asc", k.Certificate().Armored()))
	if out := gpg("--status-fd", "1", "--verify", writeTemp(t, "x.asc", sig), writeTemp(t, "x", []byte("x"))); !bytes.Contains(out, []byte("GOODSIG")) {
		t.Errorf("gpg says\n%s", out)
	}
}
